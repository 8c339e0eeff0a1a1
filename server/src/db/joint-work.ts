import { hash } from "node:crypto";
import { ApiError, Interrupted } from "../lib/errors.ts";
import type { ApartOptions, Joint, Queries, Transaction } from "./database.ts";
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

/** Ends a transaction that is no longer needed. */
class RolledBack extends Error {}

/** The limit of runs: other transactions change the rows faster than the work can finish. */
export const attemptsMax = 1_000;
/** Leaves room in the password-hashing queue for other callers. */
const apartAtOnceMax = 2;
/**
 * A splittable joint commits between two parts when its transaction has been open for longer, because others wait for
 * its locks.
 */
const openMsMax = 50;
/**
 * A transaction that holds many locks gives up waiting after this time: others may wait for it, and PostgreSQL checks
 * for a deadlock only after a second. It runs again with fewer locks, or serialized.
 */
const waitMsMax = 100;

export interface Settings {
  readonly engineWrite: EngineWrite;
  readonly acquire: Acquire;
  readonly timeoutMs: number;
  outside<T>(work: () => T): T;
  readonly isSplittable: boolean;
  /** Runs serialized with the other joints that met a conflict. */
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

/** One run of the work of a joint transaction. */
export class JointWork implements Joint {
  isEnded = false;
  /** The whole was rolled back after a conflict, so that others do not wait for its locks. */
  hasConflict = false;
  commitCount = 0;
  readonly #settings: Settings;
  #open: Open | undefined;
  /** Writes run one after the other, because savepoints do not allow overlapping statements in one transaction. */
  #last: Promise<unknown> = Promise.resolve();
  #effects: (() => void)[] = [];
  #partCount = 0;
  #isInPart = false;
  /** Other transactions write the same rows, so locks are held no longer than a part takes. */
  #isContended = false;
  /**
   * The effect of a rollback of this part: everything from a savepoint before its first write, or the whole
   * transaction.
   */
  #mark: Mark | undefined;
  /** Why the transaction ended early. */
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

  /** Also undefined if the transaction ended early: nothing may be sent over its connection then. */
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
    const isMark = this.#isInPart && this.#mark === undefined && !isBegin;
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
    // The savepoint of a part's first write stays, because the part may have to be rolled back.
    if (!isMark) await transaction.release();
    if (this.#isInPart) this.#mark ??= { isBegin };
    this.#effects.push(...effects);
    return value;
  }

  async part<T>(work: () => Promise<T>, isBusy?: (value: T) => boolean): Promise<T> {
    const { isSplittable } = this.#settings;
    const isLong = this.#open !== undefined && performance.now() - this.#open.since > openMsMax;
    if (isSplittable && (isLong || this.#isContended)) await this.commit();
    this.#isInPart = true;
    for (let attempts = 0; ; attempts += 1) {
      const effects = this.#effects.length;
      const outcome = await outcomeOf(work);
      await this.#last;
      const wasBusy = "value" in outcome && isBusy?.(outcome.value) === true;
      const isShared = this.#open !== undefined && this.#mark?.isBegin !== true;
      const mustRunAgain = this.isInterrupted || (wasBusy && (isShared || !this.#isContended));
      if (!mustRunAgain || !isSplittable || attempts >= attemptsMax) {
        await this.#endPart();
        return settle(outcome);
      }
      this.#isContended ||= wasBusy;
      await this.#undoPart();
      this.#effects.length = effects;
      try {
        await this.commit();
      } catch (error) {
        this.#interruptions.clear(); // the part has ended, so its requests are dropped
        await this.#endPart();
        throw error;
      }
      await this.runApart();
    }
  }

  /** Runs a nested `together`, which is rolled back as a whole if it fails. */
  async whole<T>(work: (joint: Joint) => Promise<T>): Promise<T> {
    const isBegin = this.#open === undefined;
    const effects = this.#effects.length;
    const isPart = this.#isInPart && this.#mark === undefined;
    await this.#transaction?.savepoint();
    if (!isBegin && isPart) this.#mark = { isBegin };
    try {
      const value = await work(this);
      await this.#last;
      if (!isBegin && !isPart) await this.#transaction?.release();
      return value;
    } catch (error) {
      await this.#last;
      if (isBegin) await this.#giveUp();
      else if (isPart) await this.#undoPart();
      else await this.#rollBack();
      this.#effects.length = effects;
      throw error;
    }
  }

  async apart<T>(key: string, work: () => Promise<T>, { hasEffect = false }: ApartOptions = {}): Promise<T> {
    const { outcomes, outside } = this.#settings;
    const name = `${this.#partCount} ${hash("sha256", key)}`; // a key may contain a password
    const known = outcomes.get(name);
    if (known !== undefined) return settle(known) as T; // the result of `work` under this key
    if (this.#open !== undefined) {
      // After an interruption the following calls are only a forecast, so their side effects must not run yet.
      if (!hasEffect || !this.isInterrupted) this.#interruptions.set(name, work);
      throw new Interrupted();
    }
    const outcome = await outcomeOf(() => outside(work));
    outcomes.set(name, outcome);
    return settle(outcome) as T;
  }

  /** Runs the work that was requested while a transaction was open, now that none is. */
  async runApart(): Promise<void> {
    const { outcomes, outside } = this.#settings;
    const left = [...this.#interruptions].values();
    this.#interruptions.clear();
    async function runNext(): Promise<void> {
      for (const [name, work] of left) outcomes.set(name, await outcomeOf(() => outside(work)));
    }
    await Promise.all(Array.from({ length: apartAtOnceMax }, runNext));
  }

  afterwards(effect: () => void): void {
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
      this.#lost = undefined; // the next part begins a new transaction
    }
  }

  /** Ends the run and rolls back what is not committed. */
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

  /** Marks the transaction as lost: the work can only end now. */
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

  async #undoPart(): Promise<void> {
    const mark = this.#mark;
    if (mark === undefined) return;
    if (mark.isBegin) {
      await this.#giveUp();
    } else {
      this.#mark = undefined;
      await this.#rollBack();
    }
  }

  async #endPart(): Promise<void> {
    const mark = this.#mark;
    this.#isInPart = false;
    this.#mark = undefined;
    this.#partCount += 1;
    if (mark?.isBegin === false) await this.#transaction?.release();
  }
}
