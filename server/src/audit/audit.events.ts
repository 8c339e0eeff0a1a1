import { actorOf, systemOperator } from "../contract/actors.ts";
import type { Call } from "../contract/call.ts";
import type { AnyCaller } from "../contract/route.ts";
import type { AuditRow } from "../db/tables.ts";
import type { Actor } from "../lib/current-call.ts";
import { type ErrorCondition, errorRow } from "../lib/errors.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Changes } from "./audit.changes.ts";

/** The actor of an event. */
export interface AuditActor extends Actor {
  /** For operators only: the log names no other actor. */
  readonly name?: string;
}

/**
 * An event. It never contains names of users, passwords, tokens or keys, because the log outlives them and has other
 * readers.
 */
export interface AuditEvent {
  readonly actor: AuditActor;
  /** The id of an operation, or a separate name for events outside of operations. */
  readonly action: string;
  /** Absent for events that concern no application. */
  readonly applicationId?: string | undefined;
  /** The id of the object that changed. */
  readonly target?: string | undefined;
  /** The address of the actor; absent for events that did not come over the network. */
  readonly call?: Pick<Call, "address" | "requestId"> | undefined;
  /** Further details; `error` is the error of a refusal. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  /** The values before and after a change, within bounds; part of the details of the entry. */
  readonly changes?: Changes | undefined;
}

/** The actor of commands at the terminal. */
export const atTerminal = { actor: { kind: "cli" } } as const;

/** Starts an event with the caller and its application. */
export function calledBy(
  caller: AnyCaller | undefined,
  { address, requestId }: Pick<Call, "address" | "requestId">,
): Pick<AuditEvent, "actor" | "applicationId" | "call"> {
  const call = { address, requestId };
  const actor = actorOf(caller);
  if (caller === systemOperator) return atTerminal;
  if (caller === undefined) return { actor, call };
  if ("operatorId" in caller) return { actor: { ...actor, name: caller.name }, call };
  return { actor, applicationId: caller.applicationId, call };
}

/** The details of a refusal: only the name of the error. */
export function refusedWith(condition: ErrorCondition): Pick<AuditEvent, "details"> {
  return { details: { error: errorRow(condition).error } };
}

/** Longer than any real id or address, because index entries have a bounded size. */
const charactersMax = 256;

/** The row of an event. */
export function newAuditRow(event: AuditEvent, at: number, ids: IdGenerator): AuditRow {
  const { actor, action, applicationId = "", target = "", call, details = {}, changes } = event;
  const boundedDetails = Object.entries(details).map(([name, value]) => [
    name,
    typeof value === "string" ? bounded(value) : value,
  ]);
  return {
    id: ids.newId("AuditEntry"),
    at,
    actor_kind: actor.kind,
    actor_id: actor.id ?? actor.kind,
    actor_name: actor.name ?? "",
    action,
    application_id: applicationId,
    target: bounded(target),
    address: bounded(call?.address ?? ""),
    request_id: call?.requestId ?? "",
    details: JSON.stringify({ ...Object.fromEntries(boundedDetails), ...(changes && { changes }) }),
    count: 1,
    last_at: null,
  };
}

function bounded(text: string): string {
  return text.length <= charactersMax ? text : [...text].slice(0, charactersMax).join("");
}
