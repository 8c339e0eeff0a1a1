import { randomBytes } from "node:crypto";
import { workerNumber } from "../config/worker-number.ts";
import type { AnsweredCall } from "../http/request-observer.ts";
import { networkOf } from "../lib/ip-addresses.ts";
import type { Peers } from "../workers/peers.ts";
import { createRecentCalls, type NumberedCall, type RecentCall } from "./recent-calls.ts";
import type { AnsweredRequest, RequestFilters } from "./requests.contract.ts";

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
