import type { AnsweredCall } from "../http/request-observer.ts";

/** The bounds of the calls that a process keeps. */
export interface RecentCallsLimits {
  readonly callsPerApplication: number;
  /** Refused and failed calls, which are kept beside the others. */
  readonly refusalsPerApplication: number;
  readonly callsTotal: number;
  /** Estimated. */
  readonly bytesTotal: number;
}

export const recentCallsLimits: RecentCallsLimits = {
  callsPerApplication: 1_000,
  refusalsPerApplication: 200,
  callsTotal: 50_000,
  bytesTotal: 16 * 2 ** 20,
};

/** A call without its failure, which would keep a stack trace in memory. */
export interface RecentCall extends Omit<AnsweredCall, "failure"> {
  readonly error?: string;
  readonly message?: string | undefined;
}

export interface NumberedCall {
  /** Ascending over all calls of the process. */
  readonly number: number;
  readonly call: RecentCall;
}

export interface DroppedCall {
  readonly number: number;
  readonly at: number;
}

/** The last calls of each application that this process answered. */
export interface RecentCalls {
  /** Runs for each call, so it must be cheap. Ignores calls that belong to no application. */
  keep(applicationId: string | undefined, call: AnsweredCall): void;
  /** The calls of an application after a number, in order. */
  list(applicationId: string, after: number): NumberedCall[];
  /** The number of the last call of all. */
  readonly lastNumber: number;
  /**
   * The last call of the application that is not kept any more, and when it was answered, in `Date.now()` milliseconds.
   *
   * @param isRefusal the last refused or failed one
   */
  lastDropped(applicationId: string, isRefusal: boolean): DroppedCall;
  readonly statistics: { readonly calls: number; readonly bytes: number };
}

const pathCharactersMax = 256;
/** An estimate of the memory of a call, without its path. */
const callBytes = 256;

/** The last items, in a ring that overwrites its oldest one. */
class Ring {
  readonly #numbers: number[] = [];
  readonly #calls: RecentCall[] = [];
  readonly #max: number;
  #next = 0;
  /** The latest call that was overwritten. */
  overwritten: DroppedCall | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#calls.length;
  }

  /** @returns the call that it overwrites */
  push(number: number, call: RecentCall): RecentCall | undefined {
    const overwritten = this.#calls[this.#next];
    if (overwritten !== undefined) this.overwritten = { number: this.#numbers[this.#next] ?? 0, at: overwritten.at };
    this.#numbers[this.#next] = number;
    this.#calls[this.#next] = call;
    this.#next = this.#next + 1 === this.#max ? 0 : this.#next + 1;
    return overwritten;
  }

  *entries(): Iterable<NumberedCall> {
    for (const [index, call] of this.#calls.entries()) yield { number: this.#numbers[index] ?? 0, call };
  }
}

interface Kept {
  readonly all: Ring;
  readonly refused: Ring;
  /** What had been dropped when it was created. */
  readonly droppedBefore: DroppedCall;
}

export function createRecentCalls(limits: RecentCallsLimits = recentCallsLimits): RecentCalls {
  /** Moved to the end, because its application was the last one that made a call. */
  const applications = new Map<string, Kept>();
  let latest: string | undefined;
  let lastNumber = 0;
  let calls = 0;
  let bytes = 0;
  /** The last call when applications were dropped; at first, the start of the process. */
  let dropped: DroppedCall = { number: 0, at: Date.now() };

  /** Moves the application to the end of the map, so that the quietest one is its first. */
  function find(applicationId: string): Kept {
    const known = applications.get(applicationId);
    if (known !== undefined && applicationId === latest) return known;
    const kept = known ?? {
      all: new Ring(limits.callsPerApplication),
      refused: new Ring(limits.refusalsPerApplication),
      droppedBefore: dropped,
    };
    applications.delete(applicationId);
    applications.set(applicationId, kept);
    latest = applicationId;
    return kept;
  }

  function push(ring: Ring, call: RecentCall): void {
    const overwritten = ring.push(lastNumber, call);
    bytes += bytesOf(call);
    if (overwritten === undefined) calls += 1;
    else bytes -= bytesOf(overwritten);
  }

  /** Drops the calls of the application that made none for the longest time. */
  function dropQuietest(): void {
    const [quietest] = applications;
    if (quietest === undefined) return;
    const [applicationId, kept] = quietest;
    for (const ring of [kept.all, kept.refused]) {
      calls -= ring.size;
      for (const { call } of ring.entries()) bytes -= bytesOf(call);
    }
    applications.delete(applicationId);
    dropped = { number: lastNumber, at: Date.now() };
  }

  return {
    get lastNumber() {
      return lastNumber;
    },
    get statistics() {
      return { calls, bytes };
    },
    keep(applicationId, call) {
      if (applicationId === undefined) return;
      lastNumber += 1;
      const { all, refused } = find(applicationId);
      const kept = call.status >= 400 || (call.path?.length ?? 0) > pathCharactersMax ? cutDown(call) : call;
      push(all, kept);
      if (call.status >= 400) push(refused, kept);
      while (applications.size > 1 && (calls > limits.callsTotal || bytes > limits.bytesTotal)) dropQuietest();
    },
    list(applicationId, after) {
      const kept = applications.get(applicationId);
      if (kept === undefined) return [];
      const found = new Map<number, NumberedCall>();
      for (const ring of [kept.refused, kept.all]) {
        for (const entry of ring.entries()) if (entry.number > after) found.set(entry.number, entry);
      }
      return [...found.values()].sort((a, b) => a.number - b.number);
    },
    lastDropped(applicationId, isRefusal) {
      const kept = applications.get(applicationId);
      if (kept === undefined) return dropped;
      return (isRefusal ? kept.refused : kept.all).overwritten ?? kept.droppedBefore;
    },
  };
}

function cutDown({ failure, ...call }: AnsweredCall): RecentCall {
  const path = call.path && Buffer.from(call.path.slice(0, pathCharactersMax)).toString(); // a copy, so that the rest is not kept
  return { ...call, path, ...(failure !== undefined && { error: failure.condition, message: failure.message }) };
}

function bytesOf({ path, message }: RecentCall): number {
  return callBytes + 2 * ((path?.length ?? 0) + (message?.length ?? 0));
}
