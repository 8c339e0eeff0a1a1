import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import {
  begin,
  merge,
  type Origin,
  type Answer as PlainAnswer,
  type CallOptions as PlainOptions,
  send,
} from "../testkit/http.ts";
import { parseAnswer } from "../testkit/raw-answers.ts";
import { type OpenStream, readStream } from "./open-stream.ts";
import { hideSecrets, shorten } from "./shown-text.ts";

/** An answer, with its request as a report shows it. */
export interface Answer extends Omit<PlainAnswer, "bytes"> {
  readonly request: string;
  readonly method: string;
  readonly path: string;
  /** The body of the request, unless it was raw bytes. */
  readonly sent?: unknown;
}

export interface CallOptions extends Pick<PlainOptions, "token" | "body" | "headers"> {
  readonly query?: Readonly<Record<string, string>>;
  /** Returns a 429 instead of waiting and retrying. */
  readonly isImpatient?: boolean;
}

/** A client for one deployment. Every request has a separate connection and a timeout. */
export interface Client {
  /** Sends one request, such as `"POST /users"`; the path is sent unchanged. */
  call(operation: string, options?: CallOptions): Promise<Answer>;
  /** Sends raw bytes, and reads until the server closes the connection or, after an answer, is silent for `quietMs`. */
  sendBytes(bytes: string | Buffer, options?: { quietMs?: number; end?: boolean }): Promise<Answer[]>;
  /** Sends one request whose answer is a stream of events. The caller closes it. */
  openStream(path: string, options?: CallOptions): Promise<OpenStream>;
  /** An open connection for unfinished requests. The caller destroys it. */
  connect(): Socket;
  /** All answers until now. */
  readonly answers: readonly Answer[];
}

const answerMsMax = 20_000;
const connectMsMax = 10_000;
const waitsMax = 5;
const waitSecondsMax = 15;

/** @param secrets texts that reports must not contain */
export function createClient(url: URL, secrets: readonly string[]): Client {
  const isTls = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const origin: Origin = { host, port, isSecure: isTls, basePath: url.pathname.replace(/\/+$/, "") };
  const answers: Answer[] = [];

  function keep(answer: Answer): Answer {
    answers.push(answer);
    return answer;
  }

  async function call(operation: string, options: CallOptions = {}): Promise<Answer> {
    for (let waits = 0; ; waits += 1) {
      const answer = await callOnce(operation, options);
      const waitSeconds = Number(answer.headers["retry-after"]);
      // The suite sends more than an ordinary client, so it retries where requests are rate-limited.
      const isWorthWaiting = waits < waitsMax && waitSeconds <= waitSecondsMax && !options.isImpatient;
      if (answer.status !== 429 || !isWorthWaiting) return answer;
      await setTimeout(waitSeconds * 1_000);
    }
  }

  function describe(operation: string, { token, body, query, headers }: CallOptions) {
    const [method = "GET", operationPath = "/"] = operation.split(/ (.*)/s);
    const path = `${operationPath}${query === undefined ? "" : `?${new URLSearchParams(query)}`}`;
    const options = { token, body, headers: { ...usualHeaders, ...headers }, timeoutMs: answerMsMax };
    const authorization = token !== undefined && { Authorization: `Service ${token}` };
    const shown = describeRequest(method, path, merge({ ...authorization }, headers), body);
    return { method, path, options, request: hideSecrets(shown, secrets) };
  }

  async function callOnce(operation: string, given: CallOptions): Promise<Answer> {
    const { method, path, options, request } = describe(operation, given);
    try {
      const { bytes: _, ...answer } = await send(origin, method, path, options);
      return keep({ request, method, path, sent: given.body, ...answer });
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}\n${request}`, { cause: error });
    }
  }

  async function openStream(path: string, given: CallOptions = {}): Promise<OpenStream> {
    const { request, options, ...described } = describe(`GET ${path}`, given);
    const outgoing = begin(origin, "GET", described.path, options);
    const [incoming] = (await once(outgoing, "response", {
      signal: AbortSignal.timeout(answerMsMax),
    })) as [IncomingMessage];
    outgoing.on("error", () => {}); // the response reports it as well
    return readStream(request, outgoing, incoming);
  }

  function connect(): Socket {
    const socket = isTls
      ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }) })
      : connectTcp({ host, port });
    return socket.on("error", () => {}); // a reset is a valid answer
  }

  function sendBytes(bytes: string | Buffer, { quietMs = 150, end = false } = {}): Promise<Answer[]> {
    const request = hideSecrets(shorten(bytes.toString("latin1")).trimEnd(), secrets);
    return new Promise((resolve) => {
      const socket = connect();
      const chunks: Buffer[] = [];
      socket.setTimeout(connectMsMax, () => socket.destroy());
      socket.on(isTls ? "secureConnect" : "connect", () => {
        socket.setTimeout(answerMsMax);
        if (end) socket.end(bytes);
        else socket.write(bytes);
      });
      socket.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        socket.setTimeout(quietMs); // the rest of an answer follows without delay
      });
      socket.on("end", () => socket.destroy());
      socket.on("close", () => {
        resolve(parseAll(Buffer.concat(chunks)).map((answer) => keep({ request, method: "", path: "", ...answer })));
      });
    });
  }

  return { call, sendBytes, openStream, connect, answers };
}

/** The answers in the bytes of a connection that is closed; an incomplete one has the status 0. */
function parseAll(bytes: Buffer): Omit<PlainAnswer, "bytes">[] {
  const answers: Omit<PlainAnswer, "bytes">[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const parsed = parseAnswer(rest, { isOver: true });
    if (parsed === undefined || parsed.status === 0) {
      const isInterim = /^HTTP\/1\.[01] 1/.test(rest.toString("latin1", 0, 12));
      return isInterim ? answers : [...answers, { status: 0, headers: {}, text: rest.toString(), body: undefined }];
    }
    const { length, bytes: _, ...answer } = parsed;
    answers.push(answer);
    rest = rest.subarray(length);
  }
  return answers;
}

/** spec/transport#headers */
const usualHeaders = { "Content-Type": "application/json", Accept: "application/json" };

function describeRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string | string[]>>,
  body: unknown,
): string {
  const payload = typeof body === "string" || Buffer.isBuffer(body) ? String(body) : JSON.stringify(body);
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${shorten(value)}`),
  );
  return [shorten(`${method} ${path}`), ...lines, ...(payload === undefined ? [] : [shorten(payload)])].join("\n");
}
