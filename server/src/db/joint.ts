import { AsyncLocalStorage } from "node:async_hooks";
import { ApiError } from "../errors.ts";
import { currentCall, runAsPart, runInCall } from "../lib/current-call.ts";
import type { ApartOptions, Joint, Queries, Transaction } from "./database.ts";
import { isUndone } from "./dialect.ts";
import { attemptsMax, type EngineWrite, JointWork } from "./joint-work.ts";
import type { Outcomes } from "./outcomes.ts";
import { createPlaces } from "./places.ts";
import { untilDone } from "./retry.ts";

/** What `Database` offers for it; see there. */
export interface Joints {
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  together<T>(work: (joint: Joint) => Promise<T>, options: { readonly isSplittable: boolean }): Promise<T>;
  apart<T>(key: string, work: () => Promise<T>, options?: ApartOptions): Promise<T>;
  afterwards(effect: () => void): void;
  hasUnsettled(): boolean;
  /** Where statements of the work that runs now go, when it has begun a transaction. */
  queries(): Queries | undefined;
  /** The transaction of the work that runs now can hold nothing any more. */
  lose(cause: unknown): void;
  /** How often work was begun anew. */
  readonly reruns: number;
}

/** So often what cannot be split is begun anew because others were in its way. */
const conflictsMax = 3;
/** So often all of it is begun anew because its connection broke. */
const lossesMax = 2;

/**
 * Lets the transactions of nested calls be parts of one. Who writes does not know of it: `write` asks here whether the
 * code that runs now (by its asynchronous context) belongs to something larger.
 *
 * ```
 * together ─┬─ part ── write ── write      begin at the first write
 *           ├─ part ── (fails)             undone to the savepoint of its own write
 *           └─ part ── write               commit at the end, one fsync for all
 * ```
 *
 * @param timeoutMs how long one transaction may be open before it is given up, and how long it may wait to begin
 * @param openMax how many may be open at once
 */
export function createJoints(write: EngineWrite, timeoutMs: number, openMax = Number.POSITIVE_INFINITY): Joints {
  const engineWrite = traceWrites(write);
  const current = new AsyncLocalStorage<JointWork | undefined>();
  let reruns = 0;
  const takePlace = createPlaces(openMax, timeoutMs);
  const takeTurn = createPlaces(1, timeoutMs);

  function running(): JointWork | undefined {
    const joint = current.getStore();
    return joint?.isEnded === false ? joint : undefined;
  }

  /** Runs work outside of whatever belongs together. */
  function outside<T>(work: () => T): T {
    return current.run(undefined, work);
  }

  async function runTogether<T>(work: (joint: Joint) => Promise<T>, isSplittable: boolean): Promise<T> {
    const outcomes: Outcomes = new Map();
    let conflicts = 0;
    let losses = 0;
    for (let attempts = 0; attempts < attemptsMax; attempts += 1) {
      // Those that were in each other's way go one after the other.
      const leaveTurn = conflicts === 0 ? undefined : await takeTurn();
      const joint = new JointWork({
        engineWrite,
        takePlace,
        timeoutMs,
        outside,
        isSplittable,
        isInTurn: conflicts > 0,
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
        // Of what can be split something may have been kept.
        const isAllUndone = isUndone(error) && (!isSplittable || joint.commitCount === 0);
        if (isOver() && (!isAllUndone || losses === lossesMax)) throw error;
        if (isAllUndone) losses += 1;
      } finally {
        await joint.end();
        leaveTurn?.();
      }
      reruns += 1;
      if (joint.hasConflict) conflicts += 1;
      await joint.runApart();
    }
    throw new ApiError("ServiceUnavailable");
  }

  return {
    write(work) {
      const joint = running();
      return joint === undefined ? untilDone(() => engineWrite(work), timeoutMs) : joint.write(work);
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

/** The work of a transaction runs as the call that asked for it, whoever else's is in the same group. */
function traceWrites(write: EngineWrite): EngineWrite {
  return (work) =>
    runAsPart("transaction", () => {
      const call = currentCall();
      return write((transaction) => runInCall(call, () => work(transaction)));
    });
}
