import { type Owner, type OwningCaller, ownerOf } from "./owner.ts";

/** Stops the work of a call whose client has disconnected. */
export class Abandoned extends Error {}

/** The maximum number of rows that a call examines; it answers with the results found so far. */
export const rowsExaminedMax = 30_000;
/** The rows that a call may examine without a charge. */
const rowsFree = 2_000;
/** The number of further rows that count as another call. */
const rowsPerCharge = 1_000;

/** Waits until a step of this owner may run. */
export type WaitForStep = (owner: Owner, isGone: () => boolean) => Promise<void>;

/**
 * Measures the database work of one call. A search stops when it has examined too many rows or its client has
 * disconnected. The examined rows count against the caller's rate limit.
 */
export class CallWork {
  readonly isGone: () => boolean;
  readonly #waitForStep: WaitForStep;
  /** The rows that statements of the call have returned, including rows that are not in the response. */
  rows = 0;
  #caller: OwningCaller | undefined;
  #charge: ((calls: number) => void) | undefined;
  #charged = 0;

  constructor(waitForStep: WaitForStep, isGone: () => boolean = () => false) {
    this.#waitForStep = waitForStep;
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
    await this.#waitForStep(ownerOf(this.#caller), this.isGone);
    if (this.isGone()) throw new Abandoned();
  }
}

/** Yields between two statements of unbounded work, such as an export. @throws Abandoned */
export async function yieldWork(work: CallWork | undefined): Promise<void> {
  await (work === undefined ? new Promise(setImmediate) : work.pause());
}
