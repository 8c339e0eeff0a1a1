import { runAsPart } from "../lib/current-call.ts";

/**
 * Limits of one lane. A waiting entry counts only against the bounds of its lane, so that lanes cannot fill each other.
 */
export interface LaneSettings {
  /** The share of slots, relative to the other lanes of the application. */
  readonly weight: number;
  readonly waitingMax: number;
  readonly waitingPerApplicationMax: number;
  readonly waitingPerCallerMax: number;
  /** Slots for this lane only; it may use the other slots too. */
  readonly reserved?: number;
}

/** For queues whose callers are bounded elsewhere. */
export const unboundedLane: LaneSettings = {
  weight: 1,
  waitingMax: Number.POSITIVE_INFINITY,
  waitingPerApplicationMax: Number.POSITIVE_INFINITY,
  waitingPerCallerMax: Number.POSITIVE_INFINITY,
};

export interface QueueSettings<Lane extends string> {
  /** The name of the work in traces; undefined for none. */
  readonly name?: string;
  /** The number of concurrent jobs of all lanes. */
  readonly runningMax: number;
  readonly lanes: Readonly<Record<Lane, LaneSettings>>;
  /** A job that waits longer is refused as if the queue were full. */
  readonly waitMs?: number;
  /** Returns the error for a job that is not run, because the queue is full or its caller has disconnected. */
  refuse(reason: "full" | "abandoned"): Error;
}

/** The owner of a job, and whether the result is still wanted. */
export interface Ticket<Lane extends string> {
  readonly lane: Lane;
  readonly application: string;
  /** Unique within the application. */
  readonly caller: string;
  /** When aborted, removes a waiting job. A running job continues. */
  readonly signal?: AbortSignal | undefined;
  /** For callers without a signal: checked before the job runs, and when the queue is full. */
  readonly isWanted?: (() => boolean) | undefined;
  /**
   * Acquires another resource that the job needs, when it is the job's turn. While it returns false, other callers are
   * served; call {@link FairQueue.retry} when resources are released.
   */
  readonly acquire?: (() => boolean) | undefined;
}

export interface LaneStatistics {
  readonly running: number;
  readonly waiting: number;
  /** Jobs refused because the queue was full, since the start. */
  readonly refused: number;
  /** Jobs whose callers disconnected before their turn, since the start. */
  readonly abandoned: number;
}

type Counts = { -readonly [Name in keyof LaneStatistics]: number };

interface Entry<Lane extends string> {
  readonly ticket: Ticket<Lane>;
  begin(): void;
  drop(error: Error): void;
}

interface WaitingLane<Lane extends string> {
  /** In round-robin order: it is the turn of the first caller. */
  readonly callers: Map<string, Entry<Lane>[]>;
  waiting: number;
  /** Stride scheduling: it is the turn of the lane with the smallest value in its application. */
  pass: number;
}

type WaitingApplication<Lane extends string> = Map<Lane, WaitingLane<Lane>>;

/**
 * A queue with bounded concurrency, in which no caller can crowd out another. It serves applications round robin, the
 * lanes of an application by weight, and the callers of a lane round robin. When a bound is reached, a new entry
 * replaces the newest entry of the application (then of the caller) with the most waiting entries, unless they are its
 * own.
 */
export class FairQueue<Lane extends string> {
  readonly #settings: QueueSettings<Lane>;
  readonly #laneNames: readonly Lane[];
  readonly #counts: Record<Lane, Counts>;
  /** In round-robin order: it is the turn of the first application. */
  readonly #applications = new Map<string, WaitingApplication<Lane>>();
  #running = 0;
  #isRetrying = false;

  constructor(settings: QueueSettings<Lane>) {
    this.#settings = settings;
    this.#laneNames = Object.keys(settings.lanes) as Lane[]; // Object.keys returns string[]
    this.#counts = Object.fromEntries(
      this.#laneNames.map((lane) => [lane, { running: 0, waiting: 0, refused: 0, abandoned: 0 }]),
    ) as Record<Lane, Counts>; // of exactly these names
  }

  /** @throws the error of `refuse`, and errors of the job */
  run<T>(ticket: Ticket<Lane>, job: () => Promise<T>): Promise<T> {
    const { name } = this.#settings;
    return name === undefined ? this.#run(ticket, job) : runAsPart(name, () => this.#run(ticket, job));
  }

  /** Calls `acquire` of waiting tickets again, in the next tick. */
  retry(): void {
    if (this.#isRetrying || this.#applications.size === 0) return;
    this.#isRetrying = true;
    setImmediate(() => {
      this.#isRetrying = false;
      this.#advance();
    });
  }

  statistics(): Readonly<Record<Lane, LaneStatistics>> {
    return this.#counts;
  }

  async #run<T>(ticket: Ticket<Lane>, job: () => Promise<T>): Promise<T> {
    const { lane } = ticket;
    if (!isWanted(ticket)) {
      this.#counts[lane].abandoned += 1;
      throw this.#settings.refuse("abandoned");
    }
    if (ticket.acquire === undefined && this.#hasFreeSlot(lane)) {
      this.#occupy(lane); // waiting entries belong to lanes without a free slot
    } else {
      if (!this.#makeRoom(ticket)) {
        this.#counts[lane].refused += 1;
        throw this.#settings.refuse("full");
      }
      const turn = this.#waitForTurn(ticket);
      if (ticket.acquire !== undefined) this.retry();
      await turn;
    }
    try {
      return await job();
    } finally {
      this.#running -= 1;
      this.#counts[lane].running -= 1;
      this.#advance();
    }
  }

  #hasFreeSlot(lane: Lane): boolean {
    let reserved = 0;
    for (const other of this.#laneNames) {
      if (other !== lane)
        reserved += Math.max(0, (this.#settings.lanes[other].reserved ?? 0) - this.#counts[other].running);
    }
    return this.#running + reserved < this.#settings.runningMax;
  }

  #occupy(lane: Lane): void {
    this.#running += 1;
    this.#counts[lane].running += 1;
  }

  #add(entry: Entry<Lane>): void {
    const { application, lane, caller } = entry.ticket;
    const waiting: WaitingApplication<Lane> = this.#applications.get(application) ?? new Map();
    this.#applications.set(application, waiting);
    // A lane that was empty starts level with the others, so that it has not accumulated credit.
    const found = waiting.get(lane) ?? { callers: new Map(), waiting: 0, pass: smallestPass(waiting) };
    waiting.set(lane, found);
    const entries = found.callers.get(caller) ?? [];
    found.callers.set(caller, entries);
    entries.push(entry);
    found.waiting += 1;
    this.#counts[lane].waiting += 1;
  }

  /** @returns false if the entry was no longer waiting */
  #remove(entry: Entry<Lane>): boolean {
    const { application, lane, caller } = entry.ticket;
    const waiting = this.#applications.get(application);
    const found = waiting?.get(lane);
    const entries = found?.callers.get(caller);
    const at = entries?.indexOf(entry) ?? -1;
    if (waiting === undefined || found === undefined || entries === undefined || at < 0) return false;
    entries.splice(at, 1);
    found.waiting -= 1;
    this.#counts[lane].waiting -= 1;
    if (entries.length === 0) found.callers.delete(caller);
    if (found.waiting === 0) waiting.delete(lane);
    if (waiting.size === 0) this.#applications.delete(application);
    return true;
  }

  #abandon(entry: Entry<Lane>): void {
    if (!this.#remove(entry)) return;
    this.#counts[entry.ticket.lane].abandoned += 1;
    entry.drop(this.#settings.refuse("abandoned"));
  }

  #refuse(entry: Entry<Lane>): void {
    this.#remove(entry);
    this.#counts[entry.ticket.lane].refused += 1;
    entry.drop(this.#settings.refuse("full"));
  }

  /** Starts jobs until no slot is free, or no job may use one. */
  #advance(): void {
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) {
      if (!isWanted(entry.ticket)) {
        this.#abandon(entry);
        continue;
      }
      this.#rotate(entry);
      this.#occupy(entry.ticket.lane);
      entry.begin();
    }
  }

  #next(): Entry<Lane> | undefined {
    if (this.#running >= this.#settings.runningMax) return undefined;
    for (const waiting of this.#applications.values()) {
      let chosen: WaitingLane<Lane> | undefined;
      for (const [lane, each] of waiting) {
        if (this.#hasFreeSlot(lane) && (chosen === undefined || each.pass < chosen.pass)) chosen = each;
      }
      for (const [entry] of chosen?.callers.values() ?? []) if (entry !== undefined && canBegin(entry)) return entry;
    }
    return undefined;
  }

  /** Removes an entry whose turn it is, and moves its caller and its application to the end. */
  #rotate(entry: Entry<Lane>): void {
    const { application, lane, caller } = entry.ticket;
    const waiting = this.#applications.get(application);
    const found = waiting?.get(lane);
    if (found !== undefined) found.pass += 1 / this.#settings.lanes[lane].weight;
    this.#remove(entry);
    moveToEnd(this.#applications, application);
    if (found !== undefined) moveToEnd(found.callers, caller);
  }

  /** Makes room for one more entry, if necessary by dropping another. @returns whether there is room */
  #makeRoom(ticket: Ticket<Lane>): boolean {
    const { application, caller } = ticket;
    const limits = this.#settings.lanes[ticket.lane];
    const own = () => this.#applications.get(application)?.get(ticket.lane);
    const hasRoom = () =>
      this.#counts[ticket.lane].waiting < limits.waitingMax &&
      (own()?.waiting ?? 0) < limits.waitingPerApplicationMax &&
      (own()?.callers.get(caller)?.length ?? 0) < limits.waitingPerCallerMax;
    if (hasRoom()) return true;
    this.#dropUnwanted(ticket.lane);
    if (hasRoom()) return true;
    const ownCount = own()?.callers.get(caller)?.length ?? 0;
    if (ownCount >= limits.waitingPerCallerMax) return false;
    const isApplicationFull = (own()?.waiting ?? 0) >= limits.waitingPerApplicationMax;
    const longest = isApplicationFull ? own() : this.#longestApplication(ticket.lane);
    if (longest === undefined) return false;
    if (longest !== own() && longest.waiting <= (own()?.waiting ?? 0) + 1) return false;
    const victims = longestOf(longest.callers.values(), (entries) => entries.length);
    if (victims === undefined || (longest === own() && victims.length <= ownCount + 1)) return false;
    const victim = victims.at(-1);
    if (victim === undefined) return false;
    this.#refuse(victim);
    return true;
  }

  #longestApplication(lane: Lane): WaitingLane<Lane> | undefined {
    const all = [...this.#applications.values()].flatMap((waiting) => waiting.get(lane) ?? []);
    return longestOf(all, (each) => each.waiting);
  }

  #dropUnwanted(lane: Lane): void {
    const all = [...this.#applications.values()].flatMap((waiting) =>
      [...(waiting.get(lane)?.callers.values() ?? [])].flat(),
    );
    for (const entry of all) if (!isWanted(entry.ticket)) this.#abandon(entry);
  }

  #waitForTurn(ticket: Ticket<Lane>): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const { waitMs } = this.#settings;
      const abandon = () => this.#abandon(entry);
      const timer = waitMs === undefined ? undefined : setTimeout(() => this.#refuse(entry), waitMs).unref();
      const settled = () => {
        clearTimeout(timer);
        ticket.signal?.removeEventListener("abort", abandon);
      };
      const entry: Entry<Lane> = {
        ticket,
        begin() {
          settled();
          resolve();
        },
        drop(error) {
          settled();
          reject(error);
        },
      };
      this.#add(entry);
      ticket.signal?.addEventListener("abort", abandon);
    });
  }
}

function isWanted({ signal, isWanted: ask }: Ticket<string>): boolean {
  return signal?.aborted !== true && (ask?.() ?? true);
}

/** Whether an entry leaves the queue at its turn: it has acquired its resource, or is not wanted. */
function canBegin({ ticket }: Entry<string>): boolean {
  return ticket.acquire === undefined || !isWanted(ticket) || ticket.acquire();
}

function smallestPass<Lane extends string>(waiting: WaitingApplication<Lane>): number {
  return waiting.size === 0 ? 0 : Math.min(...Array.from(waiting.values(), ({ pass }) => pass));
}

function moveToEnd<Value>(map: Map<string, Value>, key: string): void {
  const value = map.get(key);
  if (value === undefined) return;
  map.delete(key);
  map.set(key, value);
}

function longestOf<Value>(values: Iterable<Value>, lengthOf: (value: Value) => number): Value | undefined {
  let longest: Value | undefined;
  for (const value of values) if (longest === undefined || lengthOf(value) > lengthOf(longest)) longest = value;
  return longest;
}
