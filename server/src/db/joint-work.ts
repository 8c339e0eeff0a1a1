import { ApiError, Interrupted } from "../errors.ts";
import type { ApartOptions, Joint, Queries, Transaction } from "./database.ts";
import { isConflict } from "./dialect.ts";
import { type Outcomes, outcomeOf, settle } from "./outcomes.ts";
import type { TakePlace } from "./places.ts";

/** A transaction as its engine has it: parts of it can be undone. Savepoints nest; each undoes or ends the newest one. */
export interface EngineTransaction extends Transaction {
  savepoint(): Promise<void> | void;
  release(): Promise<void> | void;
  /** Undoes what came after the newest savepoint, and ends it. */
  rollback(): Promise<void> | void;
  /** From here on a statement fails when what it writes has been held by others for so long. */
  waitAtMost(ms: number): Promise<void> | void;
}

/** Begins a transaction, runs the work in it, and resolves when it is on disk. */
export type EngineWrite = <T>(work: (transaction: EngineTransaction) => Promise<T>) => Promise<T>;

/** The end of a transaction that is not wanted any more. */
class Undone extends Error {}

/** More often than this nothing is run again: others change the rows faster than the work can be done. */
export const attemptsMax = 1_000;
/** Others want their passwords hashed as well, and the queue takes no more than a few. */
const apartAtOnceMax = 2;
/** Others wait for its locks: what can be split is committed between two parts when it has been open for longer. */
const openMsMax = 50;
/**
 * Who holds much and waits gives way after so long: it may be that others wait for it, and PostgreSQL looks for that only
 * after a second. It then holds less, or has its turn.
 */
const waitMsMax = 100;

export interface Settings {
  readonly engineWrite: EngineWrite;
  readonly takePlace: TakePlace;
  readonly timeoutMs: number;
  outside<T>(work: () => T): T;
  readonly isSplittable: boolean;
  /** No other that met a conflict runs. */
  readonly isInTurn: boolean;
  readonly outcomes: Outcomes;
}

interface Mark {
  readonly isBegin: boolean;
}

interface Open {
  readonly transaction: EngineTransaction;
  readonly since: number;
  /** Resolves when it is on disk. */
  readonly done: Promise<void>;
  finish(): void;
  giveUp(error: unknown): void;
}

/** One run of work whose writes belong together. */
export class JointWork implements Joint {
  isEnded = false;
  /** Others were in the way of the whole: it has been given up, lest they wait for its locks. */
  hasConflict = false;
  commitCount = 0;
  readonly #settings: Settings;
  #open: Open | undefined;
  /** Statements of one transaction cannot overlap with savepoints: writes go one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #effects: (() => void)[] = [];
  #partCount = 0;
  #isInPart = false;
  /** Others write what this writes: nothing is held for longer than a part takes. */
  #isContended = false;
  /** What is undone with this part: from a savepoint before its first write, or the whole transaction. */
  #mark: Mark | undefined;
  /** Why the transaction ended before its time. */
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

  /** Undefined also when it ended before its time: nothing may be sent over its connection then. */
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
    // The savepoint of a part's first write stays: the part may have to be undone.
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
        this.#interruptions.clear(); // the part is over: nobody waits for what it asked for
        await this.#endPart();
        throw error;
      }
      await this.runApart();
    }
  }

  /** Nested `together`: when it fails, nothing of it stays. */
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
    const name = `${this.#partCount} ${key}`;
    const known = outcomes.get(name);
    if (known !== undefined) return settle(known) as T; // what `work` made, under this key
    if (this.#open !== undefined) {
      // What comes after an interruption may not come to pass: that is only computed ahead.
      if (!hasEffect || !this.isInterrupted) this.#interruptions.set(name, work);
      throw new Interrupted();
    }
    const outcome = await outcomeOf(() => outside(work));
    outcomes.set(name, outcome);
    return settle(outcome) as T;
  }

  /** Does what was asked for while a transaction was open, now that none is. */
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
      this.#lost = undefined; // what follows has a transaction of its own
    }
  }

  /** Whatever is not committed is undone. */
  async end(): Promise<void> {
    this.isEnded = true;
    await this.#last;
    await this.#giveUp();
  }

  async #begin(): Promise<Open> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#open !== undefined) return this.#open;
    const { engineWrite, takePlace, timeoutMs, outside, isInTurn } = this.#settings;
    const leave = await takePlace();
    const opened = Promise.withResolvers<EngineTransaction>();
    const closing = Promise.withResolvers<void>();
    const done = outside(() =>
      engineWrite(async (transaction) => {
        opened.resolve(transaction);
        await closing.promise;
      }),
    );
    // Others wait for its locks: whatever holds the work up, it does not hold them for ever.
    const timer = setTimeout(async () => {
      await this.#last;
      this.#end(new ApiError("ServiceUnavailable", "The work took too long, nothing of it was done."));
    }, timeoutMs);
    done.catch(opened.reject).finally(() => {
      clearTimeout(timer);
      leave();
    });
    const transaction = await opened.promise;
    try {
      if (!isInTurn && !this.#isContended) await transaction.waitAtMost(waitMsMax);
    } catch (error) {
      closing.reject(new Undone()); // nobody else knows of it yet, and it has a place
      await done.catch(() => {});
      throw error;
    }
    this.#open = { transaction, since: performance.now(), done, finish: closing.resolve, giveUp: closing.reject };
    return this.#open;
  }

  lose(cause: unknown): void {
    this.#end(cause instanceof ApiError ? cause : new ApiError("ServiceUnavailable", undefined, { cause }));
  }

  /** The transaction is of no use any more: from here on the work can do nothing but end. */
  #end(error: ApiError): void {
    if (this.#open === undefined) return;
    this.#lost ??= error;
    this.#open.giveUp(this.#lost);
  }

  /** Back to the newest savepoint. */
  async #rollBack(transaction = this.#transaction): Promise<void> {
    try {
      await transaction?.rollback();
    } catch (cause) {
      // A full disk makes SQLite undo all of it by itself, a lost connection PostgreSQL.
      this.#end(new ApiError("ServiceUnavailable", undefined, { cause }));
    }
  }

  async #giveUp(): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#mark = undefined;
    open.giveUp(new Undone());
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
