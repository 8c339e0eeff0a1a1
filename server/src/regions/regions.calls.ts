import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import type { Config } from "../config.ts";
import { ApiError, type ErrorCondition, errorCatalogue } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { writeJson } from "../lib/json.ts";
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

/** Where calls arrive, below the root of a region. */
export const callsPath = "/_/regions";
/** More than any message between regions has. */
export const messageBytesMax = 16_777_216;

/** Calls other regions. What cannot be reached, or does not prove who it is, is ServiceUnavailable. */
export interface RegionCalls {
  /**
   * @param message what is sent, as JSON
   * @returns what the other region answers
   * @throws ApiError as the other region threw it; ServiceUnavailable, RequestTooLarge
   */
  call(region: string, name: string, message: unknown): Promise<unknown>;
  /**
   * The same with bytes in place of a message, which may take as long as they go on. They are not signed: what the other
   * region answers has to tell what arrived.
   *
   * @param subject what they are about
   * @throws whatever the bytes throw, too
   */
  send(region: string, name: string, subject: string, bytes: AsyncIterable<Uint8Array>): Promise<unknown>;
  close(): void;
}

type Settings = Pick<Config, "region" | "regions" | "regionSecrets" | "regionTimeoutMs">;

/** Bytes that are sent may stand still for so long, and what they came to may take so long. */
const silentMsMax = 600_000;
const socketsMax = 64;
/** Of one region. */
const waitingMax = 1_000;
/** After a region could not be reached, it is not tried again for so long. */
const pauseMs = 1_000;

/**
 * Calls go over HTTP to the roots of REGIONS and nowhere else: redirects are not followed. Each is signed, and so is its
 * answer (`regions.signatures.ts`); an answer that is not is no answer.
 */
export function createRegionCalls(
  settings: Settings,
  services: { readonly clock: Clock; readonly log: Log },
): RegionCalls {
  const { region: own, regions, regionTimeoutMs } = settings;
  const { clock, log } = services;
  const signatures = regions.size === 0 ? undefined : createCallSignatures(settings.regionSecrets);
  const agents = { http: agentOf(HttpAgent), https: agentOf(HttpsAgent) };
  /** Of each region that was out of reach: until when it is left alone. */
  const pauses = new Map<string, number>();
  /** How many calls of each are under way. */
  const waiting = new Map<string, number>();

  function newHead(name: string, region: string, digest: string): CallHead {
    return { name, from: own, to: region, at: clock.now(), nonce: takeRandomBytes(18).toString("base64url"), digest };
  }

  /** One exchange over HTTP. @returns the answer, when it is one */
  async function exchange(head: CallHead, body: Buffer | Readable, signal: AbortSignal): Promise<unknown> {
    const root = regions.get(head.to);
    if (root === undefined || signatures === undefined) throw new Error(`REGIONS does not name ${head.to}`);
    const [request, agent] = root.startsWith("https:") ? [requestHttps, agents.https] : [requestHttp, agents.http];
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

  /** @throws ApiError ServiceUnavailable when it cannot be reached, or is somebody else */
  async function ask(region: string, work: () => Promise<unknown>): Promise<unknown> {
    const count = waiting.get(region) ?? 0;
    if ((pauses.get(region) ?? 0) > performance.now() || count >= waitingMax) throw unavailable(region);
    waiting.set(region, count + 1);
    try {
      return await work();
    } catch (err) {
      log.warn({ err, region }, "a region is out of reach");
      pauses.set(region, performance.now() + pauseMs);
      throw unavailable(region, err);
    } finally {
      waiting.set(region, (waiting.get(region) ?? 1) - 1);
    }
  }

  return {
    async call(region, name, message) {
      const body = bodyOf(message);
      const once = () => exchange(newHead(name, region, digestOf(body)), body, AbortSignal.timeout(regionTimeoutMs));
      // A connection that was kept may have been closed at the other end.
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
      const timer = setTimeout(() => stalled.abort(new Error("Nothing moves any more")), silentMsMax);
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
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/** A connection that was used before is gone. */
class SocketClosed extends Error {
  constructor(options: ErrorOptions) {
    super("The connection was closed", options);
  }
}

function agentOf<Kind extends HttpAgent>(Agent: new (options: { keepAlive: true; maxSockets: number }) => Kind): Kind {
  return new Agent({ keepAlive: true, maxSockets: socketsMax });
}

function unavailable(region: string, cause?: unknown): ApiError {
  return new ApiError("ServiceUnavailable", `The region ${region} is out of reach. Try again.`, { cause });
}

function bodyOf(message: unknown): Buffer {
  const written = writeJson(message);
  if ("problem" in written) throw new ApiError("ParameterOutOfRange");
  const body = Buffer.from(written.value, "utf8");
  if (body.length > messageBytesMax) throw new ApiError("RequestTooLarge");
  return body;
}

/** @throws Error when it is larger than a message is, or breaks off */
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

/** What a region answers: what came of it, or why it was refused. */
export type RegionAnswer =
  | { readonly result: unknown }
  | { readonly refused: { readonly condition: string; readonly message: string; readonly retryAfterSeconds?: number } };

function resultOf(answer: unknown): unknown {
  const { result, refused } = answer as Record<"result" | "refused", unknown>; // it is signed: of another version at worst
  if (refused === undefined) return result;
  const { condition, message, retryAfterSeconds } = refused as Record<string, unknown>; // as above
  throw new ApiError(
    isCondition(condition) ? condition : "ServiceUnavailable",
    typeof message === "string" ? message : undefined,
    { retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined },
  );
}

function isCondition(text: unknown): text is ErrorCondition {
  return typeof text === "string" && Object.hasOwn(errorCatalogue, text);
}
