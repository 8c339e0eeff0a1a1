import { setTimeout as sleep } from "node:timers/promises";
import { type Call, callWith } from "../contract/call.ts";
import type { ApplicationPolicy } from "../contract/policy.ts";
import { type AnyCaller, conditionsOf, type Route } from "../contract/route.ts";
import { ApiError, type ErrorCondition, errorCatalogue, errorRow } from "../lib/errors.ts";
import { errorReply, type Reply, successReply } from "./envelope.ts";

/** Answers calls with the failure in their header Rollcall-Rehearse (spec/rehearsal). */
export interface Rehearsals {
  /**
   * Runs a call that has the header. Real failures are not replaced.
   *
   * @throws ApiError AuthAPICallDisabledByDeveloper, ParameterOutOfRange, ServiceUnavailable
   */
  rehearse(
    header: string,
    route: Route,
    call: Call,
    caller: AnyCaller | undefined,
    work: (call: Call) => Promise<Reply>,
  ): Promise<Reply>;
}

/** The response header that names the rehearsed failure. */
export const rehearsedHeader = "Rollcall-Rehearsed";

export const headerCharactersMax = 200;
export const slowMsMax = 30_000;
const retryAfterSecondsMax = 3_600;
/** The maximum number of calls that a process delays concurrently. */
const slowMax = 100;

const faults = ["cut", "truncated", "html", "slow"] as const;
type Fault = (typeof faults)[number];

/** The parsed header. */
interface RehearsalRequest {
  readonly what: Fault | ErrorCondition;
  readonly isAfter: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly slowMs: number;
  /** The key of the rehearsed item of a batch. */
  readonly item: string | undefined;
}

/** @param isAllowed false to switch rehearsal off for all applications */
export function createRehearsals({ isAllowed }: { readonly isAllowed: boolean }): Rehearsals {
  let slowCount = 0;

  /** @throws ApiError ServiceUnavailable */
  function beginSlow(): () => void {
    if (slowCount >= slowMax) throw new ApiError("ServiceUnavailable", "Too many slow calls are rehearsed.");
    slowCount += 1;
    return () => {
      slowCount -= 1;
    };
  }

  function requireAllowed(policy: Pick<ApplicationPolicy, "allowsRehearsal">): void {
    if (isAllowed && policy.allowsRehearsal) return;
    throw new ApiError("AuthAPICallDisabledByDeveloper", "Rehearsal is switched off for the application.");
  }

  return {
    async rehearse(header, route, call, caller, work) {
      const begun: { requested?: RehearsalRequest } = {};
      let end = () => {};

      async function begin(policy: Pick<ApplicationPolicy, "allowsRehearsal">): Promise<void> {
        requireAllowed(policy);
        const requested = readHeader(header, route);
        begun.requested = requested;
        if (requested.item !== undefined) return;
        if (requested.what === "slow") {
          end = beginSlow();
          if (!requested.isAfter) await pause(requested, call);
        } else if (!requested.isAfter)
          throw new Answered(rehearsedReply(requested, successReply(route.status, "null")));
      }

      try {
        if (caller !== undefined && "policy" in caller) await begin(caller.policy);
        const reply = await work(callWith(call, { beginRehearsal: begin, rehearsedItem: itemOf(begun.requested) }));
        return begun.requested === undefined ? reply : await replaced(reply, begun.requested, call);
      } catch (error) {
        if (error instanceof Answered) return error.reply;
        throw error;
      } finally {
        end();
      }
    },
  };
}

/** Thrown to answer a call without performing it. */
class Answered extends Error {
  readonly reply: Reply;

  constructor(reply: Reply) {
    super();
    this.reply = reply;
  }
}

async function replaced(reply: Reply, requested: RehearsalRequest, call: Call): Promise<Reply> {
  if (requested.item !== undefined) return reply;
  if (requested.what === "slow") {
    if (requested.isAfter) await pause(requested, call);
    return { ...reply, rehearsed: { what: requested.what } };
  }
  return reply.isSuccess ? { ...reply, instead: rehearsedReply(requested, reply) } : reply;
}

/** Waits for `slowMs`, or until the client disconnects. */
async function pause({ slowMs }: RehearsalRequest, call: Call): Promise<void> {
  const signal = call.whenGone?.();
  await sleep(slowMs, undefined, signal && { signal }).catch(() => {});
}

/** @param reply the reply of the call */
function rehearsedReply({ what, retryAfterSeconds }: RehearsalRequest, reply: Reply): Reply {
  if (!isFault(what))
    return { ...errorReply(new ApiError(what, undefined, { retryAfterSeconds })), rehearsed: { what } };
  return { ...reply, rehearsed: what === "slow" ? { what } : { what, fault: what } };
}

function itemOf(requested: RehearsalRequest | undefined): Call["rehearsedItem"] {
  if (requested?.item === undefined) return undefined;
  const { item: key, what, isAfter, retryAfterSeconds } = requested;
  const retryAfter = retryAfterSeconds === undefined ? "" : `;retry-after=${retryAfterSeconds}`;
  return { key, header: `${what}${retryAfter};at=${isAfter ? "after" : "before"}` };
}

/**
 * Reads a token with parameters (RFC 8941).
 * @throws ApiError ParameterOutOfRange, which lists the valid values
 */
function readHeader(header: string, route: Route): RehearsalRequest {
  const requested = header.length > headerCharactersMax ? undefined : parse(header.trim());
  const isBatch = route.isBatchable === false && route.operation === "runBatch";
  if (requested === undefined || !isPossible(requested, isBatch ? requested.item : undefined, route))
    throw notPossible(route, isBatch);
  return requested;
}

const tokenForm = /^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*/;
const parameterForm = /; *([a-z*][a-z0-9_.*-]*)=("(?:[ !#-[\]-~]|\\["\\])*"|[\w-]+)/y;

function parse(text: string): RehearsalRequest | undefined {
  const what = tokenForm.exec(text)?.[0] ?? "";
  const given = new Map<string, string>();
  for (parameterForm.lastIndex = what.length; parameterForm.lastIndex < text.length; ) {
    const [, name = "", value = ""] = parameterForm.exec(text) ?? [];
    if (name === "") return undefined;
    given.set(name, value);
  }
  const { at = "before", ms, item, "retry-after": retryAfter, ...others } = Object.fromEntries(given);
  const isKnown = isFault(what) || isCondition(what);
  const isText = item === undefined || item.startsWith('"');
  if (!isKnown || !isText || !["before", "after"].includes(at) || Object.keys(others).length > 0) return undefined;
  const slowMs = readInteger(ms, 1, slowMsMax);
  const retryAfterSeconds = readInteger(retryAfter, 0, retryAfterSecondsMax);
  if (Number.isNaN(slowMs) || Number.isNaN(retryAfterSeconds) || (what === "slow") !== (ms !== undefined))
    return undefined;
  return {
    what,
    isAfter: at === "after",
    retryAfterSeconds,
    slowMs: slowMs ?? 0,
    item: item?.slice(1, -1).replaceAll(/\\(.)/g, "$1"),
  };
}

/** @returns undefined if it is absent, NaN if it is not a number within the bounds */
function readInteger(text: string | undefined, minimum: number, maximum: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return value >= minimum && value <= maximum ? value : Number.NaN;
}

/** @param itemOfBatch the key of the item, whose operation decides which conditions are possible */
function isPossible(
  { what, item, retryAfterSeconds }: RehearsalRequest,
  itemOfBatch: string | undefined,
  route: Route,
): boolean {
  if (item !== itemOfBatch) return false;
  if (isFault(what)) return item === undefined && retryAfterSeconds === undefined;
  if (retryAfterSeconds !== undefined && !isTemporary(what)) return false;
  return item !== undefined || conditionsOf(route).includes(what);
}

function notPossible(route: Route, isBatch: boolean): ApiError {
  const item = isBatch ? ' For one item of the batch: a condition of its operation, with item="<key>".' : "";
  return new ApiError(
    "ParameterOutOfRange",
    `Rollcall-Rehearse must be cut, truncated, html, slow;ms=<1 to ${slowMsMax}> or one of ${conditionsOf(route).join(", ")}, ` +
      `each with ;at=before or ;at=after, and conditions of status 429 or 503 with ;retry-after=<0 to ${retryAfterSecondsMax}>.${item}`,
  );
}

/** Whether responses have the header Retry-After. */
function isTemporary(condition: ErrorCondition): boolean {
  return [429, 503].includes(errorRow(condition).status);
}

function isFault(what: string): what is Fault {
  return faults.some((fault) => fault === what);
}

function isCondition(what: string): what is ErrorCondition {
  return Object.hasOwn(errorCatalogue, what);
}
