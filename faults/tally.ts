/** The activity of a scenario, and its result. */
export interface Tally {
  /** Injected faults: kills, cut connections, restarts. */
  faults: number;
  /** Calls that were sent. */
  sent: number;
  /** Calls that succeeded. */
  answered: number;
  /** Calls that got ServiceUnavailable. */
  unavailable: number;
  /** Verified promises; a promise that is verified after several faults counts each time. */
  checks: number;
  /** Answered writes that are missing. */
  readonly lost: string[];
  /** States that are neither the former one nor the one that was sent. */
  readonly halfWritten: string[];
  /** All other failures: wrong responses, resets, hangs. */
  readonly wrong: string[];
  /** Time from the end of an outage to the first success. */
  readonly recoveryMs: number[];
  /** Further figures for the table. */
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

/** Whether no write was lost, half-written or wrong. */
export function isWhole({ lost, halfWritten, wrong }: Tally): boolean {
  return lost.length + halfWritten.length + wrong.length === 0;
}
