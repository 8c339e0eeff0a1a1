import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import type { Reply } from "../http/envelope.ts";
import type { RunOnce } from "../http/operations.ts";
import type { Caller } from "../http/route.ts";
import type { Clock } from "../lib/clock.ts";
import { createSealer } from "../lib/seal.ts";
import { findKeptReply, insertKeptReply, isUser, type KeyOwner } from "./idempotency.store.ts";

/** For so long a repeat gets the first reply again (surface.md section 12). */
const keptMs = 86_400_000;

/** What is kept of a reply, and of the request that it answers. */
interface KeptReply {
  readonly fingerprint: string;
  readonly status: number;
  readonly content: string;
  readonly isSuccess: boolean;
}

/** Somebody else has answered the same call meanwhile. */
class AnsweredElsewhere extends Error {}

/**
 * Idempotency keys (surface.md section 12): the reply is kept in the transaction that does what it tells of, so that
 * either both are there after a crash, or neither. It is sealed, because it may hold tokens.
 */
export function createRunOnce(services: {
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: readonly string[];
}): RunOnce {
  const { database, clock } = services;
  const sealer = createSealer(services.secrets, "kept reply");

  async function find(owner: KeyOwner): Promise<KeptReply | undefined> {
    const sealed = await findKeptReply(owner, clock.now(), database.reads);
    const opened = sealed === undefined ? undefined : sealer.open(sealed, contextOf(owner));
    return opened === undefined ? undefined : JSON.parse(opened); // the seal vouches for its shape
  }

  async function keep(owner: KeyOwner, kept: KeptReply): Promise<void> {
    const now = clock.now();
    const sealed = sealer.seal(JSON.stringify(kept), contextOf(owner));
    const isFirst = await database.write(async ({ queries }) => {
      // Nothing is kept of who has been deleted, be it by this very call.
      if (owner.userId !== "" && !(await isUser(owner, queries))) return true;
      return insertKeptReply(owner, sealed, now, now + keptMs, queries);
    });
    if (!isFirst) throw new AnsweredElsewhere();
  }

  return async (caller, key, fingerprint, work) => {
    const owner = ownerOf(caller, key);
    const known = await find(owner);
    if (known !== undefined) return replay(known, fingerprint);
    try {
      return await database.together(
        async () => {
          const reply = await work();
          const { status, content, isSuccess } = reply;
          if (isKept(status)) await keep(owner, { fingerprint, status, content, isSuccess });
          return reply;
        },
        { isSplittable: false },
      );
    } catch (error) {
      if (!(error instanceof AnsweredElsewhere)) throw error;
      const first = await find(owner);
      if (first === undefined) throw new ApiError("ServiceUnavailable");
      return replay(first, fingerprint);
    }
  };
}

/** @throws ApiError IdempotencyKeyReused */
function replay({ fingerprint, ...reply }: KeptReply, asked: string): Reply {
  if (fingerprint !== asked) throw new ApiError("IdempotencyKeyReused");
  return { ...reply, isReplayed: true };
}

/** What another try may change is not kept. */
function isKept(status: number): boolean {
  return status !== 401 && status !== 429 && status < 500;
}

/** A key is the user's, whatever the device; without a user it is the device's. */
function ownerOf({ applicationId, userId, deviceId }: Caller, key: string): KeyOwner {
  return userId === undefined
    ? { applicationId, userId: "", deviceId, key }
    : { applicationId, userId, deviceId: "", key };
}

function contextOf({ applicationId, userId, deviceId, key }: KeyOwner): string {
  return JSON.stringify([applicationId, userId, deviceId, key]);
}
