import { type Owner, type OwningCaller, ownerOf } from "./owner.ts";
import type { TokenBucket } from "./token-buckets.ts";

/** Stops the work of a call whose client has disconnected. */
export class Abandoned extends Error {}

/** The maximum number of rows that a call examines; it answers with the results found until then. */
export const rowsExaminedMax = 30_000;
/** The rows that every call may examine without a charge. */
const rowsFree = 2_000;
/** The number of further rows that count as one more call. */
const rowsPerCharge = 1_000;

const ticks = createFairTicks();

interface WorkLimits {
  /** Counts the cost of an admitted call as this many further calls. */
  charge(bucket: TokenBucket, calls: number): void;
}

/**
 * Measures the database work of one call. A search stops when it has examined too many rows or its client has
 * disconnected; the examined rows count against the caller's rate limit.
 */
export class CallWork {
  readonly isGone: () => boolean;
  /** Rows that statements of the call have returned, whether they are in the response or not. */
  rows = 0;
  #caller: OwningCaller | undefined;
  #bucket: TokenBucket | undefined;
  #limits: WorkLimits | undefined;
  #charged = 0;

  constructor(isGone: () => boolean = () => false) {
    this.isGone = isGone;
  }

  /** @param bucket the rate limit of the caller */
  belongsTo(caller: OwningCaller, bucket: TokenBucket, limits: WorkLimits): void {
    this.#caller = caller;
    this.#bucket = bucket;
    this.#limits = limits;
  }

  examined(rows: number): void {
    this.rows += rows;
    const due = Math.floor((this.rows - rowsFree) / rowsPerCharge) - this.#charged;
    if (due <= 0) return;
    this.#charged += due;
    if (this.#bucket !== undefined) this.#limits?.charge(this.#bucket, due);
  }

  isSpent(): boolean {
    return this.rows >= rowsExaminedMax;
  }

  /** Yields between two statements, so that other calls are served. @throws Abandoned */
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
 * Spreads the steps of long work over the ticks of the event loop: one step per tick for the whole process. However
 * many long calls run at once, a short call waits for only one step of one of them.
 */
interface FairTicks {
  /** Resolves when the next step may run, or out of turn once `isGone` returns true. */
  wait(owner: Owner, isGone: () => boolean): Promise<void>;
}

function createFairTicks(): FairTicks {
  /** The first application has the next turn, and within it the first caller. */
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
        const isStep = !entry.isGone(); // an abandoned call ends without a step, so it uses no turn
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
