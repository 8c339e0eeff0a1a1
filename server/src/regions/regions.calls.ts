import type { Agent, IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { Config } from "../config.ts";
import { ApiError, type ErrorCondition, errorCatalogue } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { fieldsOf } from "../lib/fields.ts";
import { writeJson } from "../lib/json.ts";
import * as nodeHttp from "../lib/node-http.ts";
import { takeRandomBytes } from "../lib/random.ts";
import type { Log } from "../log.ts";
import {
  answerHeader,
  type CallHead,
  callHeader,
  createCallSignatures,
  digestOf,
  streamed,
} from "./regions.signatures.ts";

/** The path of calls, below the root of a region. */
export const callsPath = "/_/regions";
/** Larger than any message between regions. */
export const messageBytesMax = 16_777_216;

/** Calls other regions. An unreachable region, or one without a valid signature, results in ServiceUnavailable. */
export interface RegionCalls {
  /**
   * @param message is sent as JSON
   * @returns the answer of the other region
   * @throws ApiError as thrown by the other region; ServiceUnavailable, RequestTooLarge
   */
  call(region: string, name: string, message: unknown): Promise<unknown>;
  /**
   * Like `call`, with a stream in place of a message, which may take any time while bytes flow. The bytes are not
   * signed, so the answer must identify what arrived.
   *
   * @param subject the application that the bytes belong to
   * @throws errors of the stream, too
   */
  send(region: string, name: string, subject: string, bytes: AsyncIterable<Uint8Array>): Promise<unknown>;
  close(): void;
}

type Settings = Pick<Config, "region" | "regions" | "regionSecrets" | "regionTimeoutMs">;

/** Limits how long a stream may stall, and how long its answer may take. */
const silentMsMax = 600_000;
const socketsMax = 64;
/** Per region. */
const waitingMax = 1_000;
/** A region is not called again for this time after a failure. */
const backoffMs = 1_000;

/**
 * Calls go over HTTP to the roots of REGIONS; redirects are not followed. Calls and answers are signed
 * (`regions.signatures.ts`); an answer without a valid signature is treated as a failure.
 */
export function createRegionCalls(
  settings: Settings,
  services: { readonly clock: Clock; readonly log: Log },
): RegionCalls {
  const { region: own, regions, regionTimeoutMs } = settings;
  const { clock, log } = services;
  const signatures = regions.size === 0 ? undefined : createCallSignatures(settings);
  /** By protocol, made at the first call. */
  const agents = new Map<string, Agent>();
  /** The end of the backoff of each region that was unreachable. */
  const backoffs = new Map<string, number>();
  /** The number of pending calls of each region. */
  const waiting = new Map<string, number>();

  function newHead(name: string, region: string, digest: string): CallHead {
    return { name, from: own, to: region, at: clock.now(), nonce: takeRandomBytes(18).toString("base64url"), digest };
  }

  /** One exchange over HTTP. @returns the verified answer */
  async function exchange(head: CallHead, body: Buffer | Readable, signal: AbortSignal): Promise<unknown> {
    const root = regions.get(head.to);
    if (root === undefined || signatures === undefined) throw new Error(`REGIONS does not name ${head.to}`);
    const { protocol } = new URL(root);
    const { Agent, request } = protocol === "https:" ? nodeHttp.nodeHttps() : nodeHttp;
    const agent = agents.getOrInsertComputed(protocol, () => new Agent({ keepAlive: true, maxSockets: socketsMax }));
    const outgoing = request(`${root}${callsPath}/${head.name}`, {
      method: "POST",
      agent,
      signal,
      headers: {
        "content-type": "application/octet-stream",
        [callHeader]: signatures.sign(head),
        ...(Buffer.isBuffer(body) && { "content-length": body.length }),
      },
    });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
    if (Buffer.isBuffer(body)) outgoing.end(body);
    else {
      body.on("error", (error) => outgoing.destroy(error));
      body.pipe(outgoing);
    }
    const incoming = await promise.catch((error) => {
      const isClosed = outgoing.reusedSocket && Buffer.isBuffer(body) && error.code === "ECONNRESET";
      throw isClosed ? new SocketClosed({ cause: error }) : error;
    });
    const answer = await readAnswer(incoming);
    const signature = incoming.headers[answerHeader];
    if (typeof signature !== "string" || !signatures.isAnswer(head, answer, signature)) {
      throw new Error(
        `${root} answered ${incoming.statusCode}, unsigned: are REGION_SECRET and the clocks the same there?`,
      );
    }
    return JSON.parse(answer.toString("utf8"));
  }

  /** @throws ApiError ServiceUnavailable if the region is unreachable, or cannot prove its identity */
  async function ask(region: string, work: () => Promise<unknown>): Promise<unknown> {
    const count = waiting.get(region) ?? 0;
    if ((backoffs.get(region) ?? 0) > performance.now() || count >= waitingMax) throw unavailable(region);
    waiting.set(region, count + 1);
    try {
      return await work();
    } catch (err) {
      log.warn({ err, region }, "a region is out of reach");
      backoffs.set(region, performance.now() + backoffMs);
      throw unavailable(region, err);
    } finally {
      waiting.set(region, (waiting.get(region) ?? 1) - 1);
    }
  }

  return {
    async call(region, name, message) {
      const body = bodyOf(message);
      const once = () => exchange(newHead(name, region, digestOf(body)), body, AbortSignal.timeout(regionTimeoutMs));
      // The other region may have closed a kept-alive connection.
      const answer = await ask(region, () =>
        once().catch((error) => {
          if (error instanceof SocketClosed) return once();
          throw error;
        }),
      );
      return resultOf(answer);
    },

    async send(region, name, subject, bytes) {
      const stalled = new AbortController();
      const timer = setTimeout(() => stalled.abort(new Error("The transfer has stalled")), silentMsMax);
      let failure: { readonly error: unknown } | undefined;
      async function* watched() {
        try {
          for await (const chunk of bytes) {
            timer.refresh();
            yield chunk;
          }
        } catch (error) {
          failure = { error };
          throw error;
        }
      }
      const body = Readable.from(watched(), { objectMode: false });
      try {
        const head = newHead(name, region, `${streamed}${subject}`);
        return resultOf(await ask(region, () => exchange(head, body, stalled.signal)));
      } catch (error) {
        throw failure === undefined ? error : failure.error;
      } finally {
        clearTimeout(timer);
        body.destroy();
      }
    },

    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

/** A reused connection was closed. */
class SocketClosed extends Error {
  constructor(options: ErrorOptions) {
    super("The connection was closed", options);
  }
}

function unavailable(region: string, cause?: unknown): ApiError {
  return new ApiError("ServiceUnavailable", `The region ${region} cannot be reached. Try again.`, { cause });
}

function bodyOf(message: unknown): Buffer {
  const written = writeJson(message);
  if ("problem" in written) throw new ApiError("ParameterOutOfRange");
  const body = Buffer.from(written.value, "utf8");
  if (body.length > messageBytesMax) throw new ApiError("RequestTooLarge");
  return body;
}

/** @throws Error if the answer exceeds the limit or breaks off */
async function readAnswer(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    length += chunk.length;
    if (length > messageBytesMax) throw new Error("The answer is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The answer of a region: a result, or a refusal. */
export type RegionAnswer =
  | { readonly result: unknown }
  | { readonly refused: { readonly condition: string; readonly message: string; readonly retryAfterSeconds?: number } };

function resultOf(answer: unknown): unknown {
  // Signed by a region, at worst of another version.
  const { result, refused } = answer as Record<"result" | "refused", unknown>;
  if (refused === undefined) return result;
  const { condition, message, retryAfterSeconds } = fieldsOf(refused); // as `answer`
  throw new ApiError(
    isCondition(condition) ? condition : "ServiceUnavailable",
    typeof message === "string" ? message : undefined,
    { retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined },
  );
}

function isCondition(text: unknown): text is ErrorCondition {
  return typeof text === "string" && Object.hasOwn(errorCatalogue, text);
}
