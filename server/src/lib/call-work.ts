import { type Owner, type OwningCaller, ownerOf } from "./owner.ts";

/** Stops the work of a call whose client has disconnected. */
export class Abandoned extends Error {}

/** The maximum number of rows that a call examines; it answers with the results found so far. */
export const rowsExaminedMax = 30_000;
/** The rows that a call may examine without a charge. */
const rowsFree = 2_000;
/** The number of further rows that count as another call. */
const rowsPerCharge = 1_000;

const ticks = createFairTicks();

/**
 * Measures the database work of one call. A search stops when it has examined too many rows or its client has
 * disconnected. The examined rows count against the caller's rate limit.
 */
export class CallWork {
  readonly isGone: () => boolean;
  /** The rows that statements of the call have returned, including rows that are not in the response. */
  rows = 0;
  #caller: OwningCaller | undefined;
  #charge: ((calls: number) => void) | undefined;
  #charged = 0;

  constructor(isGone: () => boolean = () => false) {
    this.isGone = isGone;
  }

  /** @param charge counts the cost of the call as this many additional calls of the caller */
  belongsTo(caller: OwningCaller, charge: (calls: number) => void): void {
    this.#caller = caller;
    this.#charge = charge;
  }

  examined(rows: number): void {
    this.rows += rows;
    const due = Math.floor((this.rows - rowsFree) / rowsPerCharge) - this.#charged;
    if (due <= 0) return;
    this.#charged += due;
    this.#charge?.(due);
  }

  isExhausted(): boolean {
    return this.rows >= rowsExaminedMax;
  }

  /** Yields between two statements to other calls. @throws Abandoned */
  async pause(): Promise<void> {
    await ticks.wait(ownerOf(this.#caller), this.isGone);
    if (this.isGone()) throw new Abandoned();
  }
}

/** Yields between two statements of unbounded work, such as an export. @throws Abandoned */
export async function yieldWork(work: CallWork | undefined): Promise<void> {
  await (work === undefined ? new Promise(setImmediate) : work.pause());
}

interface Waiting {
  isGone(): boolean;
  resume(): void;
}

/**
 * Spreads the steps of long work over ticks: one step per tick in the process. However many long calls run
 * concurrently, a short call waits for only one step of one of them.
 */
interface FairTicks {
  /** Resolves when the next step may run, or earlier when `isGone` returns true. */
  wait(owner: Owner, isGone: () => boolean): Promise<void>;
}

function createFairTicks(): FairTicks {
  /** In round-robin order: the first application is next, and within it the first caller. */
  const applications = new Map<string, Map<string, Waiting[]>>();
  let isScheduled = false;

  /** Removes the next entry, and moves its application and caller to the end. */
  function take(): Waiting | undefined {
    const [application] = applications;
    if (application === undefined) return undefined;
    const [applicationId, callers] = application;
    applications.delete(applicationId);
    const [caller] = callers;
    if (caller === undefined) return undefined;
    const [callerId, entries] = caller;
    callers.delete(callerId);
    const entry = entries.shift();
    if (entries.length > 0) callers.set(callerId, entries);
    if (callers.size > 0) applications.set(applicationId, callers);
    return entry;
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      for (let entry = take(); entry !== undefined; entry = take()) {
        const isStep = !entry.isGone(); // an abandoned call stops without a step, so another call may run in this tick
        entry.resume();
        if (isStep) break;
      }
      if (applications.size > 0) schedule();
    });
  }

  return {
    wait({ application, caller }, isGone) {
      return new Promise((resume) => {
        const callers = applications.get(application) ?? new Map<string, Waiting[]>();
        applications.set(application, callers);
        const entries = callers.get(caller) ?? [];
        callers.set(caller, entries);
        entries.push({ isGone, resume });
        schedule();
      });
    },
  };
}
