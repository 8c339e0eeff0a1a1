import { randomBytes } from "node:crypto";
import { workerNumber } from "../config/worker-number.ts";
import type { AnsweredCall } from "../http/request-observer.ts";
import { networkOf } from "../lib/ip-addresses.ts";
import type { Peers } from "../workers/peers.ts";
import type { AnsweredRequest, RequestFilters } from "./requests.contract.ts";

/** The bounds of the calls that a process keeps. */
interface RecentCallsLimits {
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
interface RecentCall extends Omit<AnsweredCall, "failure"> {
  readonly error?: string;
  readonly message?: string | undefined;
}

interface NumberedCall {
  /** Ascending over all calls of the process. */
  readonly number: number;
  readonly call: RecentCall;
}

interface DroppedCall {
  readonly number: number;
  readonly at: number;
}

/** The last calls of each application that this process answered. */
interface RecentCalls {
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

/** The number of calls of each process when it was last read, by the id of the process. */
export type Positions = Readonly<Record<string, number>>;

/** A question to a process, which is sent as JSON. */
export interface Question {
  readonly applicationId: string;
  readonly positions: Positions;
  /** For the calls before the positions instead of those after them: a process without one has no earlier ones. */
  readonly isBackward?: boolean;
  readonly filters: RequestFilters;
  /** Addresses are compared and shown as networks. */
  readonly areAddressesShort: boolean;
}

/** The answer of one process, which is sent as JSON. */
export interface ProcessAnswer {
  readonly process: string;
  readonly worker: number;
  readonly calls: readonly { readonly number: number; readonly at: number; readonly shown: ShownCall }[];
  /** Every call up to this number is in the answer, or does not match. */
  readonly until: number;
  /** Absent if no call is missing since the position. */
  readonly completeSince?: number;
  /** Whether there are calls before those of the answer. */
  readonly hasEarlier: boolean;
}
type ShownCall = Omit<AnsweredRequest, "time" | "worker" | "platform">;

/** The calls that the processes of this machine answered last (spec/statistics#recent-requests). */
export interface Requests {
  keep(call: AnsweredCall): void;
  /** Queries all processes of this machine. */
  ask(question: Question): Promise<readonly ProcessAnswer[]>;
}

/** At most this many calls are in an answer. */
export const callsMax = 500;
const callsAtFirst = 100;
const answerMsMax = 2_000;
const questionName = "requests";

/** @param isOn without it, nothing is kept */
export function createRequests({ peers, isOn }: { readonly peers: Peers; readonly isOn: boolean }): Requests {
  const processId = randomBytes(6).toString("base64url");
  const recent = createRecentCalls();

  function answer(question: Question): ProcessAnswer {
    const { applicationId, positions, isBackward = false, filters, areAddressesShort } = question;
    const position = positions[processId];
    const dropped = recent.lastDropped(applicationId, isOfRefusals(filters));
    const part = { process: processId, worker: workerNumber ?? 1 };
    const until = recent.lastNumber;
    if (isBackward && position === undefined)
      return { ...part, calls: [], until, completeSince: dropped.at, hasEarlier: false };
    const matches = recent
      .list(applicationId, isBackward ? 0 : (position ?? 0))
      .filter(({ number }) => !isBackward || number < (position ?? 0))
      .filter(({ call }) => isMatch(call, filters, areAddressesShort));
    const isForward = !isBackward && position !== undefined;
    const found = isForward ? matches.slice(0, callsMax) : matches.slice(-callsAtFirst);
    const hasEarlier = !isForward && matches.length > found.length;
    const isMissing = !isForward || dropped.number > position;
    const completeSince = Math.max(dropped.at, hasEarlier ? (found[0]?.call.at ?? 0) : 0);
    return {
      ...part,
      calls: found.map(({ number, call }) => ({ number, at: call.at, shown: present(call, areAddressesShort) })),
      until: isForward && matches.length > callsMax ? lastOf(found) : until,
      ...(isMissing && { completeSince }),
      hasEarlier,
    };
  }
  peers.answer(questionName, (question) => answer(JSON.parse(question) as Question)); // of another worker

  return {
    keep(call) {
      if (!isOn) return;
      const caller = call.caller ?? call.refused;
      if (caller === undefined) recent.keep(call.applicationId, call);
      else if ("applicationId" in caller) recent.keep(caller.applicationId, call);
    },
    async ask(question) {
      return (await peers.ask(questionName, answerMsMax, JSON.stringify(question))) as readonly ProcessAnswer[]; // as above
    },
  };
}

/** Refusals are kept longer than other calls. */
function isOfRefusals({ refused, error, status = "" }: RequestFilters): boolean {
  return refused === true || error !== undefined || status.startsWith("4") || status.startsWith("5");
}

function lastOf(calls: readonly NumberedCall[]): number {
  return calls.at(-1)?.number ?? 0;
}

function isMatch(call: RecentCall, filters: RequestFilters, isAddressShort: boolean): boolean {
  const { status, operation, error, userID, deviceID, address, slowerThanMs, requestId, refused } = filters;
  const { device, user } = clientOf(call);
  const shorten = isAddressShort ? networkOf : (text: string) => text;
  return (
    (status === undefined || `${call.status}` === status || `${call.status}`[0] === status.replace("xx", "")) &&
    (operation === undefined || call.operation === operation) &&
    (error === undefined || call.error === error) &&
    (userID === undefined || user === userID) &&
    (deviceID === undefined || device === deviceID) &&
    (address === undefined || shorten(call.address) === shorten(address)) &&
    (slowerThanMs === undefined || call.ms > slowerThanMs) &&
    (requestId === undefined || call.requestId === requestId || call.batch === requestId) &&
    (refused !== true || call.status >= 400)
  );
}

function present(call: RecentCall, isAddressShort: boolean): ShownCall {
  const { requestId, batch, method, path, operation, status, error, message, rehearsed, ms, address } = call;
  const { device, user } = clientOf(call);
  return {
    requestId,
    ...(batch !== undefined && { batch }),
    ...(method !== undefined && { method }),
    ...(path !== undefined && { path }),
    ...(operation?.startsWith("(") === false && { operation }),
    status,
    ...(error !== undefined && { error }),
    ...(message && { message }),
    ...(rehearsed !== undefined && { rehearsed }),
    ms: Math.round(ms * 1_000) / 1_000,
    ...(device !== undefined && { device }),
    ...(user !== undefined && { user }),
    ...(address !== "" && { address: isAddressShort ? networkOf(address) : address }),
  };
}

function clientOf({ caller, refused }: RecentCall): { readonly device?: string; readonly user?: string | undefined } {
  const client = caller ?? refused;
  if (client === undefined || "operatorId" in client) return {};
  return { device: client.deviceId, user: client.userId };
}
