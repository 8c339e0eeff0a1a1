import { hash } from "node:crypto";
import { ApiError, Interrupted } from "../lib/errors.ts";
import type { OuterTransaction, OutsideOptions, Queries, Transaction } from "./database.ts";
import { isConflict } from "./dialect.ts";
import { type Outcomes, outcomeOf, settle } from "./outcomes.ts";
import type { Acquire } from "./semaphore.ts";

/** A transaction of an engine, with savepoints. Savepoints nest; each call releases or rolls back the newest one. */
export interface EngineTransaction extends Transaction {
  savepoint(): Promise<void> | void;
  release(): Promise<void> | void;
  /** Rolls back to the newest savepoint and releases it. */
  rollback(): Promise<void> | void;
  /** From here on, a statement fails if it waits longer than this for a lock. */
  waitAtMost(ms: number): Promise<void> | void;
}

/** Begins a transaction, runs the work in it, and resolves when it is on disk. */
export type EngineWrite = <T>(work: (transaction: EngineTransaction) => Promise<T>) => Promise<T>;

/** Like `EngineWrite`, for work that may share its transaction (`WriteOptions.addsTo`). */
export type GroupedWrite = <T>(work: (transaction: Transaction) => Promise<T>, applicationId: string) => Promise<T>;

/** Rolls back a transaction that is no longer needed. */
class RolledBack extends Error {}

/** Bounds the retries: other transactions may change the rows faster than the work can finish. */
export const attemptsMax = 1_000;
/** Leaves slots of the password-hashing queue to other callers. */
const outsideConcurrencyMax = 2;
/**
 * A splittable transaction that has been open for longer commits before the next step, because others wait for its
 * locks.
 */
const openMsMax = 50;
/**
 * How long an outer transaction waits for a lock, in milliseconds: others may wait for its own locks, and PostgreSQL
 * checks for a deadlock only after a second. The work is retried with fewer locks, or serialized.
 */
const waitMsMax = 100;

export interface Settings {
  readonly engineWrite: EngineWrite;
  readonly acquire: Acquire;
  readonly timeoutMs: number;
  outside<T>(work: () => T): T;
  readonly isSplittable: boolean;
  /** Runs serialized with the other outer transactions that met a conflict. */
  readonly isSerialized: boolean;
  readonly outcomes: Outcomes;
}

interface Mark {
  readonly isBegin: boolean;
}

interface Open {
  readonly transaction: EngineTransaction;
  readonly since: number;
  /** Resolves when the transaction is on disk. */
  readonly done: Promise<void>;
  finish(): void;
  giveUp(error: unknown): void;
}

/** One attempt at the work of an outer transaction. */
export class OuterTransactionRun implements OuterTransaction {
  isEnded = false;
  /** The transaction was rolled back after a conflict, so that others do not wait for its locks. */
  hasConflict = false;
  commitCount = 0;
  readonly #settings: Settings;
  #open: Open | undefined;
  /** Writes run one after the other, because savepoints do not allow overlapping statements in one transaction. */
  #last: Promise<unknown> = Promise.resolve();
  #effects: (() => void)[] = [];
  #stepCount = 0;
  #isInStep = false;
  /** Other transactions write the same rows, so locks are held no longer than a step takes. */
  #isContended = false;
  /**
   * What a rollback of this step undoes: everything since a savepoint before its first write, or all of the
   * transaction.
   */
  #mark: Mark | undefined;
  /** Why the transaction was rolled back early. */
  #lost: ApiError | undefined;
  readonly #interruptions = new Map<string, () => Promise<unknown>>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get isInterrupted(): boolean {
    return this.#interruptions.size > 0;
  }

  get hasEffects(): boolean {
    return this.#effects.length > 0;
  }

  get queries(): Queries | undefined {
    return this.#transaction?.queries;
  }

  /** Undefined after an early rollback, too: nothing may be sent over its connection then. */
  get #transaction(): EngineTransaction | undefined {
    return this.#lost === undefined ? this.#open?.transaction : undefined;
  }

  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const written = this.#last.then(() => this.#writeNow(work));
    this.#last = written.catch(() => {});
    return written;
  }

  async #writeNow<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const isBegin = this.#open === undefined;
    const { transaction } = await this.#begin();
    const isMark = this.#isInStep && this.#mark === undefined && !isBegin;
    const effects: (() => void)[] = [];
    await transaction.savepoint();
    let value: T;
    try {
      value = await work({ queries: transaction.queries, afterCommit: (effect) => void effects.push(effect) });
    } catch (error) {
      await this.#rollBack(transaction);
      if (!this.#settings.isSplittable && isConflict(error)) {
        this.hasConflict = true;
        this.lose(error);
      }
      throw error;
    }
    // The savepoint of a step's first write stays, because the step may have to be rolled back.
    if (!isMark) await transaction.release();
    if (this.#isInStep) this.#mark ??= { isBegin };
    this.#effects.push(...effects);
    return value;
  }

  async step<T>(work: () => Promise<T>, isBusy?: (value: T) => boolean): Promise<T> {
    const { isSplittable } = this.#settings;
    const isLong = this.#open !== undefined && performance.now() - this.#open.since > openMsMax;
    if (isSplittable && (isLong || this.#isContended)) await this.commit();
    this.#isInStep = true;
    for (let attempts = 0; ; attempts += 1) {
      const effects = this.#effects.length;
      const outcome = await outcomeOf(work);
      await this.#last;
      const wasBusy = "value" in outcome && isBusy?.(outcome.value) === true;
      const isShared = this.#open !== undefined && this.#mark?.isBegin !== true;
      const mustRunAgain = this.isInterrupted || (wasBusy && (isShared || !this.#isContended));
      if (!mustRunAgain || !isSplittable || attempts >= attemptsMax) {
        await this.#endStep();
        return settle(outcome);
      }
      this.#isContended ||= wasBusy;
      await this.#undoStep();
      this.#effects.length = effects;
      try {
        await this.commit();
      } catch (error) {
        this.#interruptions.clear(); // the step has failed, so its requests are dropped
        await this.#endStep();
        throw error;
      }
      await this.runOutside();
    }
  }

  /** Runs a nested `nestTransactions`, all of which is rolled back if it fails. */
  async nest<T>(work: (outer: OuterTransaction) => Promise<T>): Promise<T> {
    const isBegin = this.#open === undefined;
    const effects = this.#effects.length;
    const isFirstOfStep = this.#isInStep && this.#mark === undefined;
    await this.#transaction?.savepoint();
    if (!isBegin && isFirstOfStep) this.#mark = { isBegin };
    try {
      const value = await work(this);
      await this.#last;
      if (!isBegin && !isFirstOfStep) await this.#transaction?.release();
      return value;
    } catch (error) {
      await this.#last;
      if (isBegin) await this.#giveUp();
      else if (isFirstOfStep) await this.#undoStep();
      else await this.#rollBack();
      this.#effects.length = effects;
      throw error;
    }
  }

  async outsideTransaction<T>(
    key: string,
    work: () => Promise<T>,
    { hasEffect = false }: OutsideOptions = {},
  ): Promise<T> {
    const { outcomes, outside } = this.#settings;
    const name = `${this.#stepCount} ${hash("sha256", key)}`; // a key may contain a password
    const known = outcomes.get(name);
    if (known !== undefined) return settle(known) as T; // the result of `work` under this key
    if (this.#open !== undefined) {
      // The calls after an interruption are retried, maybe with other results, so their side effects must not run yet.
      if (!hasEffect || !this.isInterrupted) this.#interruptions.set(name, work);
      throw new Interrupted();
    }
    const outcome = await outcomeOf(() => outside(work));
    outcomes.set(name, outcome);
    return settle(outcome) as T;
  }

  /** Runs the work that was requested while a transaction was open, after its end. */
  async runOutside(): Promise<void> {
    const { outcomes, outside } = this.#settings;
    const left = [...this.#interruptions].values();
    this.#interruptions.clear();
    async function runNext(): Promise<void> {
      for (const [name, work] of left) outcomes.set(name, await outcomeOf(() => outside(work)));
    }
    await Promise.all(Array.from({ length: outsideConcurrencyMax }, runNext));
  }

  afterCommit(effect: () => void): void {
    this.#effects.push(() => this.#settings.outside(effect));
  }

  async flush(): Promise<void> {
    if (this.#settings.isSplittable) await this.commit();
  }

  async commit(): Promise<void> {
    await this.#last;
    const open = this.#open;
    this.commitCount += 1;
    if (open === undefined) {
      for (const effect of this.#effects.splice(0)) effect();
      return;
    }
    for (const effect of this.#effects.splice(0)) open.transaction.afterCommit(effect);
    this.#open = undefined;
    this.#mark = undefined;
    open.finish();
    try {
      await open.done;
    } finally {
      this.#lost = undefined; // the next step begins a new transaction
    }
  }

  /** Rolls back what is not committed; the work cannot write any more. */
  async end(): Promise<void> {
    this.isEnded = true;
    await this.#last;
    await this.#giveUp();
  }

  async #begin(): Promise<Open> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#open !== undefined) return this.#open;
    const { engineWrite, acquire, timeoutMs, outside, isSerialized } = this.#settings;
    const releaseSlot = await acquire();
    const opened = Promise.withResolvers<EngineTransaction>();
    const closing = Promise.withResolvers<void>();
    const done = outside(() =>
      engineWrite(async (transaction) => {
        opened.resolve(transaction);
        await closing.promise;
      }),
    );
    // Bounds the time that other transactions wait for its locks.
    const timer = setTimeout(async () => {
      await this.#last;
      this.#end(new ApiError("ServiceUnavailable", "The work took too long and was not done."));
    }, timeoutMs);
    done.catch(opened.reject).finally(() => {
      clearTimeout(timer);
      releaseSlot();
    });
    const transaction = await opened.promise;
    try {
      if (!isSerialized && !this.#isContended) await transaction.waitAtMost(waitMsMax);
    } catch (error) {
      closing.reject(new RolledBack()); // not published yet, and it holds a slot
      await done.catch(() => {});
      throw error;
    }
    this.#open = { transaction, since: performance.now(), done, finish: closing.resolve, giveUp: closing.reject };
    return this.#open;
  }

  lose(cause: unknown): void {
    this.#end(cause instanceof ApiError ? cause : new ApiError("ServiceUnavailable", undefined, { cause }));
  }

  /** Marks the transaction as lost: all further writes fail. */
  #end(error: ApiError): void {
    if (this.#open === undefined) return;
    this.#lost ??= error;
    this.#open.giveUp(this.#lost);
  }

  /** Rolls back to the newest savepoint. */
  async #rollBack(transaction = this.#transaction): Promise<void> {
    try {
      await transaction?.rollback();
    } catch (cause) {
      // SQLite rolls back the whole transaction when the disk is full, PostgreSQL when the connection breaks.
      this.#end(new ApiError("ServiceUnavailable", undefined, { cause }));
    }
  }

  async #giveUp(): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#mark = undefined;
    open.giveUp(new RolledBack());
    await open.done.catch(() => {});
  }

  async #undoStep(): Promise<void> {
    const mark = this.#mark;
    if (mark === undefined) return;
    if (mark.isBegin) {
      await this.#giveUp();
    } else {
      this.#mark = undefined;
      await this.#rollBack();
    }
  }

  async #endStep(): Promise<void> {
    const mark = this.#mark;
    this.#isInStep = false;
    this.#mark = undefined;
    this.#stepCount += 1;
    if (mark?.isBegin === false) await this.#transaction?.release();
  }
}
