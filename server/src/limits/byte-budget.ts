import { setImmediate as nextTick } from "node:timers/promises";
import type { Owner } from "../lib/owner.ts";
import { FairQueue, type QueueSettings, unboundedLane } from "./fair-queue.ts";

/** The bytes that one request holds. */
export interface HeldBytes {
  /** Holds more bytes. @returns false if they exceed the owner's share, and are not held */
  tryAdd(bytes: number): boolean;
  /** Replaces an estimate with the actual size, even above the share, because the bytes are already in memory. */
  replace(bytes: number): void;
  /** Releases all bytes. Idempotent. */
  release(): void;
}

/**
 * A budget for the bytes that the requests of a process hold in memory, shared by dynamic thresholds: an application
 * may hold as many bytes as are free, and one caller half as many. So one application gets at most a half, two greedy
 * ones get a third each, and there is always space for the next one (hostile.md 30, 37).
 */
export interface ByteBudget {
  hold(owner: Owner): HeldBytes;
  readonly heldBytes: number;
  /** The maximum since the start. */
  readonly heldBytesMax: number;
  /** The share of one caller while no other bytes are held. */
  readonly soleCallerBytesMax: number;
  /** Calls the listener whenever bytes are released. */
  onRelease(listener: () => void): void;
}

const callerShare = 0.5;

export function createByteBudget(bytesMax: number): ByteBudget {
  let heldBytes = 0;
  let heldBytesMax = 0;
  let released = () => {};
  const byApplication = new Map<string, number>();
  const byCaller = new Map<string, number>();

  function change(counts: Map<string, number>, key: string, by: number): void {
    const count = (counts.get(key) ?? 0) + by;
    if (count > 0) counts.set(key, count);
    else counts.delete(key);
  }

  return {
    hold({ application, caller }) {
      const callerKey = `${application} ${caller}`;
      let own = 0;

      function add(bytes: number): void {
        own += bytes;
        heldBytes += bytes;
        if (heldBytes > heldBytesMax) heldBytesMax = heldBytes;
        change(byApplication, application, bytes);
        change(byCaller, callerKey, bytes);
        if (bytes < 0) released();
      }

      return {
        tryAdd(bytes) {
          const free = bytesMax - heldBytes - bytes;
          if ((byApplication.get(application) ?? 0) + bytes > free) return false;
          if ((byCaller.get(callerKey) ?? 0) + bytes > free * callerShare) return false;
          add(bytes);
          return true;
        },
        replace(bytes) {
          if (bytes !== own) add(bytes - own);
        },
        release() {
          if (own !== 0) add(-own);
        },
      };
    },
    get heldBytes() {
      return heldBytes;
    },
    get heldBytesMax() {
      return heldBytesMax;
    },
    soleCallerBytesMax: Math.floor((bytesMax * callerShare) / (1 + callerShare)),
    onRelease(listener) {
      released = listener;
    },
  };
}

/** Work that needs bytes of the budget before it begins. */
interface BytesTicket {
  readonly owner: Owner;
  readonly held: HeldBytes;
  /** Estimates the size; called as late as possible, because the estimate improves while the work waits. */
  bytes(): number;
  isGone(): boolean;
}

/** Admits work while the budget has space, one caller per tick. */
interface ByteQueue {
  /** Resolves when the bytes are held. @throws the error that `refuse` returns */
  wait(ticket: BytesTicket): Promise<void>;
}

export function createByteQueue(
  settings: { readonly budget: ByteBudget } & Required<Pick<QueueSettings<"work">, "waitMs" | "refuse">>,
): ByteQueue {
  const queue = new FairQueue({ ...settings, runningMax: 1, lanes: { work: unboundedLane } });
  settings.budget.onRelease(() => queue.retry());
  return {
    wait: ({ owner, held, bytes, isGone }) =>
      queue.run(
        { lane: "work", ...owner, isWanted: () => !isGone(), acquire: () => held.tryAdd(bytes()) },
        () => nextTick(), // occupies the slot for this tick
      ),
  };
}
