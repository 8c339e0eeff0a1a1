/** What a scenario tried, and what came of it. */
export interface Tally {
  /** Faults that were made: kills, cuts, restarts. */
  faults: number;
  /** Calls that were sent. */
  sent: number;
  /** Those that were answered with success. */
  answered: number;
  /** Those that were refused with ServiceUnavailable. */
  unavailable: number;
  /** Promises that were looked at afterwards: the same one after each fault counts each time. */
  checks: number;
  /** Answered, and not there. */
  readonly lost: string[];
  /** There, and neither what was before nor what was sent. */
  readonly halfWritten: string[];
  /** Anything else that should not be: wrong answers, resets, hangs. */
  readonly wrong: string[];
  /** From when the service could answer again to its first success. */
  readonly recoveryMs: number[];
  /** What else is worth a word in the table. */
  readonly remarks: string[];
}

export function createTally(): Tally {
  return {
    faults: 0,
    sent: 0,
    answered: 0,
    unavailable: 0,
    checks: 0,
    lost: [],
    halfWritten: [],
    wrong: [],
    recoveryMs: [],
    remarks: [],
  };
}

/** Whether nothing was lost, half-written or wrong. */
export function isWhole({ lost, halfWritten, wrong }: Tally): boolean {
  return lost.length + halfWritten.length + wrong.length === 0;
}
