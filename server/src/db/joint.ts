import { AsyncLocalStorage } from "node:async_hooks";
import { ApiError, Interrupted } from "../errors.ts";
import type { ApartOptions, Joint, Queries, Transaction } from "./database.ts";
import { isConflict } from "./dialect.ts";

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
}

/** The end of a transaction that is not wanted any more. */
class Undone extends Error {}

/** More often than this nothing is run again: others change the rows faster than the work can be done. */
const attemptsMax = 1_000;
/** So often what cannot be split is begun anew because others were in its way. */
const conflictsMax = 3;
/** Others want their passwords hashed as well, and the queue takes no more than a few. */
const apartAtOnceMax = 2;
/** Others wait for its locks: what can be split is committed between two parts when it has been open for longer. */
const openMsMax = 50;
/**
 * Who holds much and waits gives way after so long: it may be that others wait for it, and PostgreSQL looks for that only
 * after a second. It then holds less, or has its turn.
 */
const waitMsMax = 100;

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
export function createJoints(engineWrite: EngineWrite, timeoutMs: number, openMax = Number.POSITIVE_INFINITY): Joints {
  const current = new AsyncLocalStorage<JointWork | undefined>();
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
        if (isOver()) throw error;
      } finally {
        await joint.end();
        leaveTurn?.();
      }
      if (joint.hasConflict) conflicts += 1;
      await joint.runApart();
    }
    throw new ApiError("ServiceUnavailable");
  }

  return {
    write(work) {
      const joint = running();
      return joint === undefined ? engineWrite(work) : joint.write(work);
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
  };
}

type Outcome<T = unknown> = { readonly value: T } | { readonly error: unknown };
/** What was done apart, so that it is done once however often the rest is run. */
type Outcomes = Map<string, Outcome>;

interface Settings {
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

class JointWork implements Joint {
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
    if (!isInTurn && !this.#isContended) await transaction.waitAtMost(waitMsMax);
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

async function outcomeOf<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

function settle<T>(outcome: Outcome<T>): T {
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

/** @returns gives the place back */
type TakePlace = () => Promise<() => void>;

/** Places for so many at once; who waits too long for one is refused. */
function createPlaces(placesMax: number, timeoutMs: number): TakePlace {
  const waiting = new Set<() => void>();
  let taken = 0;

  function leave(): void {
    const [next] = waiting;
    if (next === undefined) {
      taken -= 1;
    } else {
      waiting.delete(next); // it has this place now
      next();
    }
  }

  return async () => {
    if (taken < placesMax) {
      taken += 1;
      return leave;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      waiting.delete(resolve);
      reject(new ApiError("ServiceUnavailable", "The database is too busy. Try again."));
    }, timeoutMs);
    waiting.add(resolve);
    await promise.finally(() => clearTimeout(timer));
    return leave;
  };
}
