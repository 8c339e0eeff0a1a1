import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Queries } from "../db/database.ts";
import type { InternalCall, InternalEndpoint } from "../http/internal-endpoint.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { parseJson, writeJson } from "../lib/json.ts";
import type { LimitCounters } from "../limits/counters.ts";
import { toApiError } from "../operations/envelope.ts";
import type { RegionAnswer } from "./regions.calls.ts";
import { callsPath, messageBytesMax } from "./regions.exchange.ts";
import {
  answerHeader,
  type CallHead,
  callHeader,
  createCallSignatures,
  digestOf,
  streamed,
} from "./regions.signatures.ts";

/** Remembers the nonces of calls for as long as a call could be replayed. */
interface Nonces {
  /** @returns false if the nonce was used before, in any process that shares its counters */
  take(nonce: string, now: number): Promise<boolean>;
}

/**
 * Some 100 bytes each. Beyond this the oldest could be replayed, which is harmless, because calls can be repeated
 * safely.
 */
const noncesMax = 250_000;

/** @param ageMsMax the maximum difference between the time of a call and now, in both directions */
function createNonces(ageMsMax: number, { shared }: Pick<LimitCounters, "shared">): Nonces {
  const rememberedMs = 2 * ageMsMax;
  let [older, newer] = [new Set<string>(), new Set<string>()];
  let turnedAt = 0;
  function takeHere(nonce: string, now: number): boolean {
    if (older.has(nonce) || newer.has(nonce)) return false;
    if (now - turnedAt > rememberedMs || now < turnedAt || newer.size >= noncesMax / 2) {
      [older, newer] = [newer, new Set()];
      turnedAt = now;
    }
    newer.add(nonce);
    return true;
  }

  return {
    async take(nonce, now) {
      if (!takeHere(nonce, now)) return false;
      const key = shared?.keyOf(`call between regions ${nonce}`) ?? "";
      const isNew = await shared?.runPatiently(({ queries }) => insertNonce(key, now + rememberedMs, queries));
      return isNew ?? true; // this process decides while the database does not answer
    },
  };
}

/** @returns false if it is stored already */
async function insertNonce(nonce: string, ends_at: number, queries: Queries): Promise<boolean> {
  const inserted = await queries
    .insertInto("region_nonces")
    .values({ nonce, ends_at })
    .onConflict((conflict) => conflict.column("nonce").doNothing())
    .returning("nonce")
    .execute();
  return inserted.length > 0;
}

/** The calls that other regions may make, by name. */
export type RegionHandlers = Readonly<Record<string, RegionHandler>>;

export type RegionHandler = MessageHandler | StreamHandler;

/** Answers a message, which is a parsed JSON value. @throws ApiError, which is passed on to the other region */
export interface MessageHandler {
  readonly takes: "message";
  answer(message: unknown, from: string): Promise<unknown>;
}

/** Answers an unsigned stream: the sender gets the digest of the received bytes, and then confirms it. */
export interface StreamHandler {
  readonly takes: "bytes";
  answer(bytes: AsyncIterable<Uint8Array>, stream: ArrivingStream): Promise<unknown>;
}

export interface ArrivingStream {
  /** The signed subject of the stream. */
  readonly subject: string;
  readonly from: string;
  /** True once the stream has been read to its end. */
  isWhole(): boolean;
}

/** Bounds clock skew and transmission time. */
const ageMsMax = 60_000;

/** Allows for a sender that reads from a slow store. */
const silentMsMax = 120_000;

/**
 * Accepts the calls of other regions. A call that is unsigned, addressed to another region, old or replayed is refused
 * before its body is read.
 */
export function regionsEndpoint(
  settings: Pick<Config, "region" | "regions" | "regionSecrets" | "requestTimeoutMs">,
  services: {
    readonly handlers: RegionHandlers;
    readonly limitCounters: LimitCounters;
    readonly clock: Clock;
    readonly log: Log;
  },
): InternalEndpoint {
  const { handlers, limitCounters, clock, log } = services;
  const signatures = createCallSignatures(settings);
  const nonces = createNonces(ageMsMax, limitCounters);

  /** @throws ApiError OperationNotFound, AuthFailed */
  async function authenticate({ name, headers }: InternalCall): Promise<{ handler: RegionHandler; head: CallHead }> {
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (handler === undefined) throw new ApiError("OperationNotFound");
    const header = headers[callHeader];
    const head = typeof header === "string" ? signatures.read(name, header) : undefined;
    const now = clock.now();
    if (
      head === undefined ||
      !(Math.abs(now - head.at) <= ageMsMax) ||
      head.digest.startsWith(streamed) !== (handler.takes === "bytes") ||
      !(await nonces.take(head.nonce, now))
    ) {
      throw new ApiError("AuthFailed", "Only other regions may call this, with a signature.");
    }
    return { handler, head };
  }

  async function handle(
    handler: RegionHandler,
    head: CallHead,
    { body, requestId }: InternalCall,
  ): Promise<RegionAnswer> {
    try {
      if (handler.takes === "message") {
        return { result: await handler.answer(await readMessage(body.chunks, head.digest), head.from) };
      }
      const stream = { subject: head.digest.slice(streamed.length), from: head.from, isWhole: body.isWhole };
      return { result: await handler.answer(body.chunks, stream) };
    } catch (error) {
      const { condition, message, retryAfterSeconds, parameter, cause } = toApiError(error);
      if (condition === "InternalError") log.error({ request_id: requestId, err: cause ?? error }, "request failed");
      const details = {
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
        ...(parameter !== undefined && { parameter }),
      };
      return { refused: { condition, message, ...details } };
    }
  }

  return {
    operation: "callRegion",
    path: callsPath,
    silentMsMax: Math.max(settings.requestTimeoutMs, silentMsMax),
    async answer(call) {
      const { handler, head } = await authenticate(call);
      const written = writeJson(await handle(handler, head, call));
      if ("problem" in written) throw new Error("The answer is not JSON");
      const body = Buffer.from(written.value, "utf8");
      return { headers: { [answerHeader]: signatures.signAnswer(head, body) }, body };
    },
  };
}

/** @throws ApiError ParameterIncorrectFormat, RequestTooLarge */
async function readMessage(chunks: AsyncIterable<Uint8Array>, digest: string): Promise<unknown> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > messageBytesMax) throw new ApiError("RequestTooLarge");
    read.push(chunk);
  }
  const body = Buffer.concat(read);
  if (digestOf(body) !== digest)
    throw new ApiError("ParameterIncorrectFormat", "The message does not match its signature.");
  try {
    return parseJson(body.toString("utf8"));
  } catch (cause) {
    throw new ApiError("ParameterIncorrectFormat", "The message is not JSON.", { cause });
  }
}
