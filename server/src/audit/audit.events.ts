import type { AuditRow } from "../db/tables.ts";
import { type ErrorCondition, errorRow } from "../errors.ts";
import type { Call } from "../http/call.ts";
import type { AnyCaller } from "../http/route.ts";
import type { IdGenerator } from "../lib/ids.ts";

/** Who did it. */
export interface AuditActor {
  readonly kind: AuditRow["actor_kind"];
  /** Absent for a kind that has none. */
  readonly id?: string;
  /** Of operators alone: nobody else is named in the log. */
  readonly name?: string;
}

/**
 * What happened. Never names of users, passwords, tokens or keys: it is kept longer than they are, and read by others.
 */
export interface AuditEvent {
  readonly actor: AuditActor;
  /** The name of an operation; another one where there is none. */
  readonly action: string;
  /** Absent for a matter of no application. */
  readonly applicationId?: string | undefined;
  /** What it was done to: an id. */
  readonly target?: string | undefined;
  /** Where it came from; absent for what came over no network. */
  readonly call?: Pick<Call, "address" | "requestId"> | undefined;
  /** A few more words; `error` is that of what was refused. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
}

/** The beginning of an event: who calls, of which application. */
export function calledBy(
  caller: AnyCaller | undefined,
  { address, requestId }: Pick<Call, "address" | "requestId">,
): Pick<AuditEvent, "actor" | "applicationId" | "call"> {
  const call = { address, requestId };
  if (caller === undefined) return { actor: { kind: "nobody" }, call };
  if ("operatorId" in caller) return { actor: { kind: "operator", id: caller.operatorId, name: caller.name }, call };
  const { applicationId, deviceId, userId } = caller;
  const actor: AuditActor = userId === undefined ? { kind: "device", id: deviceId } : { kind: "user", id: userId };
  return { actor, applicationId, call };
}

/** What is told of a refusal: never more than the name of the error. */
export function refusedWith(condition: ErrorCondition): Pick<AuditEvent, "details"> {
  return { details: { error: errorRow(condition).error } };
}

/** Of whoever is at the terminal. */
export const atTerminal = { actor: { kind: "cli" } } as const;

/** More than an id, or an address, ever has. Index entries have a bounded size. */
const charactersMax = 256;

/** The row of an event. */
export function newAuditRow(event: AuditEvent, at: number, ids: IdGenerator): AuditRow {
  const { actor, action, applicationId = "", target = "", call, details = {} } = event;
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
    details: JSON.stringify(details, (_name, value) => (typeof value === "string" ? bounded(value) : value)),
  };
}

function bounded(text: string): string {
  return text.length <= charactersMax ? text : [...text].slice(0, charactersMax).join("");
}
