import { randomBytes } from "node:crypto";
import { workerNumber } from "../config/worker-number.ts";
import type { AnsweredCall } from "../http/request-observer.ts";
import { networkOf } from "../lib/ip-addresses.ts";
import type { Peers } from "../workers/peers.ts";
import type { AnsweredRequest, RequestFilters } from "./requests.contract.ts";

/** The bounds of the calls that a process stores. */
interface RecentCallsLimits {
  readonly callsPerApplication: number;
  /** Refused and failed calls, which are stored separately. */
  readonly refusalsPerApplication: number;
  readonly callsTotal: number;
  /** An estimate. */
  readonly bytesTotal: number;
}

export const recentCallsLimits: RecentCallsLimits = {
  callsPerApplication: 1_000,
  refusalsPerApplication: 200,
  callsTotal: 50_000,
  bytesTotal: 16 * 2 ** 20,
};

/** A call without its failure, whose stack trace would occupy memory. */
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

/** The latest calls that this process answered, by application. */
interface RecentCalls {
  /** Runs for each call, so it must be cheap. Ignores calls outside applications. */
  record(applicationId: string | undefined, call: AnsweredCall): void;
  /** Returns the calls of an application after a number, in order. */
  list(applicationId: string, after: number): NumberedCall[];
  /** The number of the latest call of any application. */
  readonly lastNumber: number;
  /**
   * Returns the last call of the application that was dropped, and when it was answered, in `Date.now()` milliseconds.
   *
   * @param isRefusal selects refused and failed calls
   */
  lastDropped(applicationId: string, isRefusal: boolean): DroppedCall;
  readonly statistics: { readonly calls: number; readonly bytes: number };
}

const pathCharactersMax = 256;
/** The estimated memory of a call, without its path. */
const callBytes = 256;

/** A ring buffer of the latest items. */
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

  /** @returns the call that it overwrites, if any */
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

interface ApplicationCalls {
  readonly all: Ring;
  readonly refused: Ring;
  /** The last call dropped before this entry was created. */
  readonly droppedBefore: DroppedCall;
}

export function createRecentCalls(limits: RecentCallsLimits = recentCallsLimits): RecentCalls {
  /** Ordered by latest call, the least recently active application first. */
  const applications = new Map<string, ApplicationCalls>();
  let latest: string | undefined;
  let lastNumber = 0;
  let calls = 0;
  let bytes = 0;
  /** The last call when applications were dropped; at first, the start of the process. */
  let dropped: DroppedCall = { number: 0, at: Date.now() };

  /** Moves the application to the end of the map, so that the least recently active one is first. */
  function find(applicationId: string): ApplicationCalls {
    const known = applications.get(applicationId);
    if (known !== undefined && applicationId === latest) return known;
    const current = known ?? {
      all: new Ring(limits.callsPerApplication),
      refused: new Ring(limits.refusalsPerApplication),
      droppedBefore: dropped,
    };
    applications.delete(applicationId);
    applications.set(applicationId, current);
    latest = applicationId;
    return current;
  }

  function push(ring: Ring, call: RecentCall): void {
    const overwritten = ring.push(lastNumber, call);
    bytes += bytesOf(call);
    if (overwritten === undefined) calls += 1;
    else bytes -= bytesOf(overwritten);
  }

  /** Drops the calls of the least recently active application. */
  function dropLeastActive(): void {
    const [leastActive] = applications;
    if (leastActive === undefined) return;
    const [applicationId, current] = leastActive;
    for (const ring of [current.all, current.refused]) {
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
    record(applicationId, call) {
      if (applicationId === undefined) return;
      lastNumber += 1;
      const { all, refused } = find(applicationId);
      const stored = call.status >= 400 || (call.path?.length ?? 0) > pathCharactersMax ? cutDown(call) : call;
      push(all, stored);
      if (call.status >= 400) push(refused, stored);
      while (applications.size > 1 && (calls > limits.callsTotal || bytes > limits.bytesTotal)) dropLeastActive();
    },
    list(applicationId, after) {
      const current = applications.get(applicationId);
      if (current === undefined) return [];
      const found = new Map<number, NumberedCall>();
      for (const ring of [current.refused, current.all]) {
        for (const entry of ring.entries()) if (entry.number > after) found.set(entry.number, entry);
      }
      return [...found.values()].sort((a, b) => a.number - b.number);
    },
    lastDropped(applicationId, isRefusal) {
      const current = applications.get(applicationId);
      if (current === undefined) return dropped;
      return (isRefusal ? current.refused : current.all).overwritten ?? current.droppedBefore;
    },
  };
}

function cutDown({ failure, ...call }: AnsweredCall): RecentCall {
  // Copied, so that the complete path can be freed.
  const path = call.path && Buffer.from(call.path.slice(0, pathCharactersMax)).toString();
  return { ...call, path, ...(failure !== undefined && { error: failure.condition, message: failure.message }) };
}

function bytesOf({ path, message }: RecentCall): number {
  return callBytes + 2 * ((path?.length ?? 0) + (message?.length ?? 0));
}

/** The number of the last call that was read from each process, by process id. */
export type Positions = Readonly<Record<string, number>>;

/** A request to one process, sent as JSON. */
export interface Question {
  readonly applicationId: string;
  readonly positions: Positions;
  /**
   * Reads the calls before the positions instead of those after them. A process without a position has no earlier
   * calls.
   */
  readonly isBackward?: boolean;
  readonly filters: RequestFilters;
  /** Whether addresses are compared and shown as networks. */
  readonly areAddressesShort: boolean;
}

/** The response of one process, sent as JSON. */
export interface ProcessAnswer {
  readonly process: string;
  readonly worker: number;
  readonly calls: readonly { readonly number: number; readonly at: number; readonly shown: ShownCall }[];
  /** Every matching call up to this number is in the response. */
  readonly until: number;
  /** Absent if no call is missing since the position. */
  readonly completeSince?: number;
  /** Whether there are calls before those of the response. */
  readonly hasEarlier: boolean;
}
type ShownCall = Omit<AnsweredRequest, "time" | "worker" | "platform">;

/** The latest calls that the processes of this machine answered (spec/statistics#recent-requests). */
export interface Requests {
  record(call: AnsweredCall): void;
  /** Queries all processes of this machine. */
  ask(question: Question): Promise<readonly ProcessAnswer[]>;
}

/** The maximum number of calls in a response. */
export const callsMax = 500;
const callsAtFirst = 100;
const answerMsMax = 2_000;
const questionName = "requests";

/** @param isOn whether calls are stored */
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
  peers.answer(questionName, (question) => answer(JSON.parse(question) as Question)); // sent by another worker

  return {
    record(call) {
      if (!isOn) return;
      const caller = call.caller ?? call.refused;
      if (caller === undefined) recent.record(call.applicationId, call);
      else if ("applicationId" in caller) recent.record(caller.applicationId, call);
    },
    async ask(question) {
      // Serialized above.
      return (await peers.ask(questionName, answerMsMax, JSON.stringify(question))) as readonly ProcessAnswer[];
    },
  };
}

/** Refusals are stored longer than other calls. */
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
