import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout } from "node:timers/promises";
import { currentCall, runAsPart, runInCall } from "../lib/current-call.ts";
import { ApiError } from "../lib/errors.ts";
import type { ApartOptions, Joint, Queries, Transaction, WriteOptions } from "./database.ts";
import { isUndone } from "./dialect.ts";
import { attemptsMax, type EngineWrite, type GroupedWrite, JointWork } from "./joint-work.ts";
import type { Outcomes } from "./outcomes.ts";
import { createSemaphore } from "./semaphore.ts";

/** Conflicts or failures that outlast this many tries are permanent. */
const triesMax = 6;
const waitMsMin = 10;

/**
 * Runs a transaction again if it was rolled back by a conflict, or its connection broke before the commit was sent.
 * Waits a random time, so that colliding transactions do not collide again.
 *
 * @param timeoutMs no retry starts after this time
 */
async function retryUntilSuccess<T>(run: () => Promise<T>, timeoutMs: number): Promise<T> {
  const until = performance.now() + timeoutMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (tries === triesMax || !isUndone(error) || performance.now() >= until) throw error;
    }
    await setTimeout(Math.random() * waitMsMin * 2 ** tries);
  }
}

/** The implementation behind `Database`; see the methods there. */
export interface Joints {
  write<T>(work: (transaction: Transaction) => Promise<T>, options?: WriteOptions): Promise<T>;
  together<T>(work: (joint: Joint) => Promise<T>, options: { readonly isSplittable: boolean }): Promise<T>;
  apart<T>(key: string, work: () => Promise<T>, options?: ApartOptions): Promise<T>;
  afterwards(effect: () => void): void;
  hasUnsettled(): boolean;
  /** The connection for statements of the running work, once it has begun a transaction. */
  queries(): Queries | undefined;
  /** Marks the transaction of the running work as lost. */
  lose(cause: unknown): void;
  /** The number of times that work was run again. */
  readonly reruns: number;
}

export interface JointsOptions {
  /** The maximum number of open joint transactions. */
  readonly openMax?: number;
  /** Runs work with the option `addsTo`, if the engine groups it separately. */
  readonly writeInGroup?: GroupedWrite;
}

/** The maximum number of runs of unsplittable work after conflicts. */
const conflictsMax = 3;
/** The maximum number of runs of the whole work after broken connections. */
const lossesMax = 2;

/**
 * Lets the transactions of nested calls become parts of one. Callers of `write` do not need to know: it looks up the
 * enclosing joint by the asynchronous context of the running code.
 *
 * ```
 * together ─┬─ part ── write ── write      begin at the first write
 *           ├─ part ── (fails)             rolled back to the savepoint of its first write
 *           └─ part ── write               commit at the end, one fsync for all
 * ```
 *
 * @param timeoutMs how long one transaction may be open, and how long it may wait to begin
 */
export function createJoints(
  write: EngineWrite,
  timeoutMs: number,
  { openMax = Number.POSITIVE_INFINITY, writeInGroup }: JointsOptions = {},
): Joints {
  const engineWrite: EngineWrite = (work) => traced(work, write);
  const current = new AsyncLocalStorage<JointWork | undefined>();
  let reruns = 0;
  const acquire = createSemaphore(openMax, timeoutMs);
  const acquireTurn = createSemaphore(1, timeoutMs);

  function running(): JointWork | undefined {
    const joint = current.getStore();
    return joint?.isEnded === false ? joint : undefined;
  }

  /** Runs work outside of any joint. */
  function outside<T>(work: () => T): T {
    return current.run(undefined, work);
  }

  async function runTogether<T>(work: (joint: Joint) => Promise<T>, isSplittable: boolean): Promise<T> {
    const outcomes: Outcomes = new Map();
    let conflicts = 0;
    let losses = 0;
    for (let attempts = 0; attempts < attemptsMax; attempts += 1) {
      // Joints that collided are serialized.
      const releaseTurn = conflicts === 0 ? undefined : await acquireTurn();
      const joint = new JointWork({
        engineWrite,
        acquire,
        timeoutMs,
        outside,
        isSplittable,
        isSerialized: conflicts > 0,
        outcomes,
      });
      const isOver = () => !joint.isInterrupted && (!joint.hasConflict || conflicts === conflictsMax);
      try {
        const value = await current.run(joint, () => work(joint));
        if (isOver()) {
          await joint.commit();
          return value;
        }
      } catch (error) {
        // Some parts of splittable work may have been committed.
        const isAllUndone = isUndone(error) && (!isSplittable || joint.commitCount === 0);
        if (isOver() && (!isAllUndone || losses === lossesMax)) throw error;
        if (isAllUndone) losses += 1;
      } finally {
        await joint.end();
        releaseTurn?.();
      }
      reruns += 1;
      if (joint.hasConflict) conflicts += 1;
      await joint.runApart();
    }
    throw new ApiError("ServiceUnavailable");
  }

  return {
    write(work, { addsTo } = {}) {
      const joint = running();
      if (joint !== undefined) return joint.write(work);
      if (addsTo === undefined || writeInGroup === undefined) {
        return retryUntilSuccess(() => engineWrite(work), timeoutMs);
      }
      return retryUntilSuccess(() => traced(work, (each) => writeInGroup(each, addsTo)), timeoutMs);
    },
    together(work, { isSplittable }) {
      const joint = running();
      return joint === undefined ? runTogether(work, isSplittable) : joint.whole(work);
    },
    apart(key, work, options) {
      const joint = running();
      return joint === undefined ? work() : joint.apart(key, work, options);
    },
    afterwards(effect) {
      const joint = running();
      if (joint === undefined) effect();
      else joint.afterwards(effect);
    },
    hasUnsettled: () => running()?.hasEffects === true,
    queries: () => running()?.queries,
    lose: (cause) => running()?.lose(cause),
    get reruns() {
      return reruns;
    },
  };
}

/**
 * Runs the work of a transaction in the context of the call that requested it, even if the group contains other calls.
 */
function traced<T, Given>(
  work: (transaction: Given) => Promise<T>,
  write: (work: (transaction: Given) => Promise<T>) => Promise<T>,
): Promise<T> {
  return runAsPart("transaction", () => {
    const call = currentCall();
    return write((transaction) => runInCall(call, () => work(transaction)));
  });
}
