import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout } from "node:timers/promises";
import { currentCall, runAsPart, runInCall } from "../lib/current-call.ts";
import { ApiError } from "../lib/errors.ts";
import type { Database, OuterTransaction, Queries } from "./database.ts";
import { isUndone } from "./dialect.ts";
import type { Outcomes } from "./outcomes.ts";
import { attemptsMax, type EngineWrite, type GroupedWrite, OuterTransactionRun } from "./outer-transaction.ts";
import { createSemaphore } from "./semaphore.ts";

/** A conflict or failure that outlasts this many attempts is permanent. */
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
export interface Transactions
  extends Pick<Database, "write" | "nestTransactions" | "outsideTransaction" | "afterCommit" | "hasPendingEffects"> {
  /** The connection for statements of the running work, once its transaction has begun. */
  queries(): Queries | undefined;
  /** Marks the transaction of the running work as lost. */
  lose(cause: unknown): void;
  /** The number of retries. */
  readonly reruns: number;
}

export interface TransactionsOptions {
  /** The maximum number of open outer transactions. */
  readonly openMax?: number;
  /** Runs work with the option `addsTo`, if the engine groups it separately. */
  readonly writeInGroup?: GroupedWrite;
}

/** The maximum number of retries of unsplittable work after conflicts. */
const conflictsMax = 3;
/** The maximum number of retries of all the work after broken connections. */
const lossesMax = 2;

/**
 * Nests transactions. `write` finds the outer transaction by the asynchronous context of the running code.
 *
 * ```
 * nestTransactions ─┬─ step ── write ── write      begin at the first write
 *                   ├─ step ── (fails)             rolled back to the savepoint of its first write
 *                   └─ step ── write               commit at the end, one fsync for all
 * ```
 *
 * @param timeoutMs how long one transaction may be open, and how long it may wait to begin
 */
export function createTransactions(
  write: EngineWrite,
  timeoutMs: number,
  { openMax = Number.POSITIVE_INFINITY, writeInGroup }: TransactionsOptions = {},
): Transactions {
  const engineWrite: EngineWrite = (work) => traced(work, write);
  const current = new AsyncLocalStorage<OuterTransactionRun | undefined>();
  let reruns = 0;
  const acquire = createSemaphore(openMax, timeoutMs);
  const acquireTurn = createSemaphore(1, timeoutMs);

  function running(): OuterTransactionRun | undefined {
    const outer = current.getStore();
    return outer?.isEnded === false ? outer : undefined;
  }

  /** Runs work outside of any outer transaction. */
  function outside<T>(work: () => T): T {
    return current.run(undefined, work);
  }

  async function runOuter<T>(work: (outer: OuterTransaction) => Promise<T>, isSplittable: boolean): Promise<T> {
    const outcomes: Outcomes = new Map();
    let conflicts = 0;
    let losses = 0;
    for (let attempts = 0; attempts < attemptsMax; attempts += 1) {
      // Outer transactions that collided are serialized.
      const releaseTurn = conflicts === 0 ? undefined : await acquireTurn();
      const outer = new OuterTransactionRun({
        engineWrite,
        acquire,
        timeoutMs,
        outside,
        isSplittable,
        isSerialized: conflicts > 0,
        outcomes,
      });
      const isOver = () => !outer.isInterrupted && (!outer.hasConflict || conflicts === conflictsMax);
      try {
        const value = await current.run(outer, () => work(outer));
        if (isOver()) {
          await outer.commit();
          return value;
        }
      } catch (error) {
        // Some steps of splittable work may have been committed.
        const isAllUndone = isUndone(error) && (!isSplittable || outer.commitCount === 0);
        if (isOver() && (!isAllUndone || losses === lossesMax)) throw error;
        if (isAllUndone) losses += 1;
      } finally {
        await outer.end();
        releaseTurn?.();
      }
      reruns += 1;
      if (outer.hasConflict) conflicts += 1;
      await outer.runOutside();
    }
    throw new ApiError("ServiceUnavailable");
  }

  return {
    write(work, { addsTo } = {}) {
      const outer = running();
      if (outer !== undefined) return outer.write(work);
      if (addsTo === undefined || writeInGroup === undefined) {
        return retryUntilSuccess(() => engineWrite(work), timeoutMs);
      }
      return retryUntilSuccess(() => traced(work, (each) => writeInGroup(each, addsTo)), timeoutMs);
    },
    nestTransactions(work, { isSplittable }) {
      const outer = running();
      return outer === undefined ? runOuter(work, isSplittable) : outer.nest(work);
    },
    outsideTransaction(key, work, options) {
      const outer = running();
      return outer === undefined ? work() : outer.outsideTransaction(key, work, options);
    },
    afterCommit(effect) {
      const outer = running();
      if (outer === undefined) effect();
      else outer.afterCommit(effect);
    },
    hasPendingEffects: () => running()?.hasEffects === true,
    queries: () => running()?.queries,
    lose: (cause) => running()?.lose(cause),
    get reruns() {
      return reruns;
    },
  };
}

/** Runs the work of a transaction in the context of its own call, even if its group has transactions of other calls. */
function traced<T, Given>(
  work: (transaction: Given) => Promise<T>,
  write: (work: (transaction: Given) => Promise<T>) => Promise<T>,
): Promise<T> {
  return runAsPart("transaction", () => {
    const call = currentCall();
    return write((transaction) => runInCall(call, () => work(transaction)));
  });
}
