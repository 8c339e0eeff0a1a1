import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, type CallOptions as PlainOptions, send } from "../testkit/http.ts";
import type { Tally } from "./tally.ts";

export type { Answer };

export interface CallOptions extends Pick<PlainOptions, "token" | "body" | "headers"> {
  /** Error statuses that are an acceptable outcome of this call. */
  readonly expected?: readonly number[];
}

/** The outcome of the call is unknown: its connection broke, or the response was ServiceUnavailable. */
export class Unanswered extends Error {}

const preparationsMax = 60;

/**
 * Repeats the preparation of a run, which tests nothing, until it is answered, because a busy machine may refuse it
 * with 503.
 */
export async function untilAnswered<T>(prepare: () => Promise<T>): Promise<T> {
  for (let preparation = 1; ; preparation += 1) {
    try {
      return await prepare();
    } catch (error) {
      if (!(error instanceof Unanswered) || preparation === preparationsMax) throw error;
      await sleep(1_000);
    }
  }
}

/** The response is one that the server must not send here. */
export class WrongAnswer extends Error {}

/** Calls one server over keep-alive connections. */
export interface Api {
  readonly port: number;
  /** @returns a success, or an expected error↵@throws Unanswered, WrongAnswer */
  call(operation: string, options?: CallOptions): Promise<Answer>;
  close(): void;
}

const patienceMs = 15_000;

export interface ApiOptions {
  readonly isSecure?: boolean;
  /** Whether the tally counts its calls; calls that only verify stored data are not counted. */
  readonly isCounted?: boolean;
  /** Whether the server may break connections, as it does when it is killed. */
  readonly mayBreak?: boolean;
  readonly connectionsMax?: number;
}

export function createApi(
  port: number,
  tally: Tally,
  { isSecure = false, isCounted = true, mayBreak = true, connectionsMax = 64 }: ApiOptions = {},
): Api {
  const agent = isSecure
    ? new SecureAgent({ keepAlive: true, maxSockets: connectionsMax, rejectUnauthorized: false })
    : new Agent({ keepAlive: true, maxSockets: connectionsMax });

  async function ask(method: string, path: string, { token, body, headers }: CallOptions): Promise<Answer> {
    try {
      return await send({ port, isSecure }, method, path, { token, body, headers, agent, timeoutMs: patienceMs });
    } catch (error) {
      const { message } = error as Error; // send rejects with nothing else
      if (!mayBreak || message.startsWith("no answer")) tally.wrong.push(`${method} ${path}: ${message}`);
      throw new Unanswered(message, { cause: error });
    }
  }

  return {
    port,
    async call(operation, options = {}) {
      const [method = "", path = ""] = operation.split(/ (.*)/);
      if (isCounted) tally.sent += 1;
      const answer = await ask(method, path, options);
      const { status, body, headers } = answer;
      if (status === 503) {
        if (isCounted) tally.unavailable += 1;
        if (!isUnavailability(answer)) {
          throw new WrongAnswer(`${operation}: a malformed 503: ${JSON.stringify({ body, headers })}`);
        }
        throw new Unanswered(body?.message ?? "ServiceUnavailable");
      }
      if (status >= 300 && options.expected?.includes(status) !== true) {
        throw new WrongAnswer(`${operation}: ${status} ${JSON.stringify(body)}`);
      }
      if (isCounted) tally.answered += 1;
      return answer;
    },
    close: () => agent.destroy(),
  };
}

/** A 503 is valid in the envelope, or without a body (HEAD), and always with Retry-After. */
function isUnavailability({ body, headers, bytes }: Answer): boolean {
  const isEnveloped =
    body?.status === 503 &&
    body.error === "ServiceUnavailable" &&
    body.errorNumber === 1284 &&
    body.success === false &&
    typeof body.request_id === "string";
  return (isEnveloped || bytes.length === 0) && /^\d+$/.test(`${headers["retry-after"]}`);
}
