import { promisify } from "node:util";
import type { Caller } from "../contract/route.ts";
import type { Database } from "../db/database.ts";
import { nodeZlib } from "../lib/builtins.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { createSealer, type Sealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import type { Reply } from "../operations/envelope.ts";
import type { RunOnce } from "../operations/perform.ts";
import {
  countStoredResponse,
  findKeyState,
  insertStoredResponse,
  type KeyOwner,
  type KeyState,
} from "./idempotency.store.ts";
import {
  createApplicationUsage,
  requireCallerSpace,
  type Usage,
  type UsageLimits,
  usageEnd,
} from "./idempotency.usage.ts";

/** Shorter responses, which most are, would not shrink enough to be worth the time. */
const compressedFrom = 1_024;
/**
 * Longer responses are compressed on another thread. Shorter ones are not, because their transaction would wait for a
 * thread.
 */
const compressedInPlaceMax = 65_536;
/** The first byte identifies the format: JSON begins with a brace, which a zlib stream never does. */
const brace = 0x7b;

/**
 * Returns the stored form of a response: sealed, because it may contain tokens, and compressed before that if it is
 * long.
 */
async function sealReply(json: string, context: string, sealer: Sealer): Promise<string> {
  return sealer.seal(json.length < compressedFrom ? json : await compress(json), context);
}

function compress(json: string): Uint8Array | Promise<Uint8Array> {
  const fastest = { level: 1 };
  return json.length > compressedInPlaceMax
    ? promisify(nodeZlib().deflate)(json, fastest)
    : nodeZlib().deflateSync(json, fastest);
}

/** @returns undefined when the secret under which it was sealed has been rotated out */
export async function openReply(sealed: string, context: string, sealer: Sealer): Promise<string | undefined> {
  const bytes = sealer.openBytes(sealed, context);
  if (bytes === undefined) return undefined;
  return (bytes[0] === brace ? bytes : await promisify(nodeZlib().inflate)(bytes)).toString("utf8");
}

/** For this long, a repeat gets the first response again (spec/idempotency#replays). */
const lifetimeMs = 86_400_000;

/** The secret under which the response was sealed has been rotated out. */
const unreadable =
  "This idempotency key was used before, and its reply cannot be read any more. Read what became of that call, then use a new key.";

/** The stored form of a response, and of the request that it answers. */
interface StoredResponse {
  readonly fingerprint: string;
  readonly status: number;
  readonly content: string;
  readonly isSuccess: boolean;
}

/** Another request has answered the same call concurrently. */
class AnsweredMeanwhile extends Error {}

/**
 * Idempotency keys (spec/idempotency#stored-responses). A response is stored in the transaction of the call, so that
 * after a crash either both exist or neither. It is sealed, because it may contain tokens. When a caller's limit has no
 * space for another response, the call is refused in advance, or rolled back.
 */
export function createRunOnce(services: {
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly limits: UsageLimits;
}): RunOnce {
  const { database, clock, limits } = services;
  const sealer = createSealer(services.secrets, "kept reply");
  const applicationUsage = createApplicationUsage(services);

  async function open(sealed: string, owner: KeyOwner): Promise<StoredResponse> {
    const opened = await openReply(sealed, contextOf(owner), sealer);
    // The call was carried out before, so it must not run again, and waiting does not help.
    if (opened === undefined) throw new ApiError("IdempotencyKeyReused", unreadable);
    return JSON.parse(opened); // the seal guarantees its shape
  }

  /** @throws ApiError RateLimitExceeded */
  async function store(owner: KeyOwner, response: StoredResponse, before: KeyState, now: number): Promise<void> {
    const sealed = await sealReply(JSON.stringify(response), contextOf(owner), sealer);
    const bytes = sealed.length + Buffer.byteLength(owner.key);
    applicationUsage.requireSpace(owner.applicationId, before.usage, bytes);
    const isFirst = await database.write(async ({ queries }) => {
      const inHour = await countStoredResponse(owner, bytes, usageEnd(now + lifetimeMs), queries);
      // Nothing is stored for a deleted user, including one that this call deletes.
      if (inHour === undefined) return true;
      const isInserted = await insertStoredResponse(owner, sealed, now, now + lifetimeMs, queries);
      if (isInserted) requireCallerSpace(withHour(before, inHour), false, limits, now);
      return isInserted;
    });
    if (!isFirst) throw new AnsweredMeanwhile();
    database.afterCommit(() => applicationUsage.add(owner.applicationId, bytes));
  }

  return async (caller, key, fingerprint, work) => {
    const owner = ownerOf(caller, key);
    const now = clock.now();
    const find = () => findKeyState(owner, now, usageEnd(now + lifetimeMs), database.reads);
    const state = await find();
    if (state.reply !== undefined) return replay(await open(state.reply, owner), fingerprint);
    requireCallerSpace(state.usage, true, limits, now);
    applicationUsage.requireSpace(owner.applicationId, state.usage, 0);
    try {
      return await database.nestTransactions(
        async () => {
          const reply = await work();
          const { status, content, isSuccess } = reply;
          if (isStorable(status)) await store(owner, { fingerprint, status, content, isSuccess }, state, now);
          return reply;
        },
        { isSplittable: false },
      );
    } catch (error) {
      if (!(error instanceof AnsweredMeanwhile)) throw error;
      const first = (await find()).reply;
      if (first === undefined) throw new ApiError("ServiceUnavailable");
      return replay(await open(first, owner), fingerprint);
    }
  };
}

/** The caller's total after the part of this hour has changed. */
function withHour({ usage, inHour }: KeyState, changed: Pick<Usage, "bytes" | "keys">): Usage {
  return {
    ...usage,
    bytes: usage.bytes - inHour.bytes + changed.bytes,
    keys: usage.keys - inHour.keys + changed.keys,
  };
}

/** @throws ApiError IdempotencyKeyReused */
function replay({ fingerprint, ...reply }: StoredResponse, asked: string): Reply {
  if (fingerprint !== asked) throw new ApiError("IdempotencyKeyReused");
  return { ...reply, isReplayed: true };
}

/** Results that a retry may change are not stored. */
function isStorable(status: number): boolean {
  return status !== 401 && status !== 429 && status < 500;
}

/** A key belongs to the user on any device; without a user it belongs to the device. */
function ownerOf({ applicationId, userId, deviceId }: Caller, key: string): KeyOwner {
  return userId === undefined
    ? { applicationId, userId: "", deviceId, key }
    : { applicationId, userId, deviceId: "", key };
}

function contextOf({ applicationId, userId, deviceId, key }: KeyOwner): string {
  return JSON.stringify([applicationId, userId, deviceId, key]);
}
