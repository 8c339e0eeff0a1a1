import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, named, type Static, Type } from "../contract/schema.ts";
import { Choice, DateInput, Flag, IdInput, RawJson, Text, WireDate } from "../contract/wire.ts";
import type { AuditRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import type { AuditFilters } from "./audit.store.ts";

const ActorKind = enumeration<AuditRow["actor_kind"]>("AuditActorKind", "The actor.", {
  operator: "An operator.",
  user: "A user of the application.",
  device: "A device of the application.",
  cli: "A command on the machine of the server.",
  nobody: "A caller without a valid token.",
  system: "The server itself.",
});

const actionsMax = 20;

const auditFilters = {
  appid: Type.Optional(IdInput("App")),
  actor: Type.Optional(
    Text({ maxLength: 256, description: "The id of an operator, user or device, or cli, nobody or system." }),
  ),
  actorKind: Type.Optional(Choice(ActorKind, { description: "Only actions of this kind of actor." })),
  action: Type.Optional(
    Text({
      maxLength: 2_048,
      description: `The name of an operation, or up to ${actionsMax} names with commas in between.`,
    }),
  ),
  exceptAction: Type.Optional(
    Text({
      maxLength: 2_048,
      description: `Operations that are left out: a name, or up to ${actionsMax} names with commas in between.`,
    }),
  ),
  refused: Type.Optional(Flag({ description: "Only refusals, or only other entries." })),
  target: Type.Optional(Text({ maxLength: 256, description: "The id of its object." })),
  requestId: Type.Optional(Text({ maxLength: 64, description: "The `request_id` of the call." })),
  from: Type.Optional(DateInput({ description: "Entries whose first event was then or later." })),
  to: Type.Optional(DateInput({ description: "Entries whose first event was before then." })),
};

const CountedInterval = enumeration<"hour" | "day">("AuditInterval", "The length of an interval, in UTC.", {
  hour: "An hour; kept for eight days.",
  day: "A day; kept as long as entries.",
});

const { actor: _actor, target: _target, requestId: _requestId, from: _from, to: _to, ...countedFilters } = auditFilters;

export const CountAudit = Type.Object({
  ...countedFilters,
  from: Type.Optional(
    DateInput({ description: "A time in the first interval: by default a day or 30 days before `to`." }),
  ),
  to: Type.Optional(DateInput({ description: "The exclusive end of the range; now by default." })),
  interval: Type.Optional(Choice(CountedInterval, { default: "day", description: "The length of the intervals." })),
});

const entryCount = Type.Integer({ format: "int64", description: "The number of entries; equal refusals share one." });

export const AuditCounts = named(
  "AuditCounts",
  "The number of entries of the audit log by time and by action.",
  Type.Object({
    interval: CountedInterval,
    from: { ...WireDate, description: "The first moment of the first interval." },
    to: { ...WireDate, description: "The first moment after the last interval." },
    points: {
      ...Type.Array(
        named(
          "AuditCount",
          "The entries of one interval.",
          Type.Object({
            time: { ...WireDate, description: "The first moment of the interval." },
            entries: entryCount,
            refused: { ...entryCount, description: "The number of refusals among them." },
          }),
        ),
      ),
      description: "The intervals that have entries, the earliest first.",
    },
    actions: {
      ...Type.Array(
        named(
          "AuditActionCount",
          "The entries of one action.",
          Type.Object({
            action: Type.String({ description: "The name of the operation or command." }),
            entries: entryCount,
          }),
        ),
      ),
      description: "The 100 most frequent actions in the range.",
    },
    keptDays: Type.Integer({ description: "The number of days that entries are kept." }),
    isAtLeast: Type.Optional(
      Type.Boolean({ description: "True if there are more entries, which have not been counted yet." }),
    ),
  }),
);

export const ListAudit = Type.Object({ ...auditFilters, ...pagingParameters });
export const ExportAudit = Type.Object(auditFilters);

const AuditActor = named(
  "AuditActor",
  "The actor of an entry of the audit log.",
  Type.Object({
    kind: ActorKind,
    id: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
  }),
);

const AuditEntry = named(
  "AuditEntry",
  "An entry of the audit log.",
  Type.Object({
    id: Type.String(),
    at: { ...WireDate, description: "When it happened." },
    actor: AuditActor,
    action: Type.String({ description: "The name of the operation or command." }),
    appid: Type.Optional(Type.String({ description: "The application that it was done in." })),
    target: Type.Optional(Type.String({ description: "The id of its object." })),
    address: Type.Optional(Type.String({ description: "The IP address of the caller." })),
    requestId: Type.Optional(Type.String({ description: "The request_id of the answer." })),
    details: RawJson({
      description: "The parameters; changes has the values before and after; error of a refusal.",
    }),
    count: Type.Optional(
      Type.Integer({ description: "The number of equal refusals in the entry, if more than one. at is the first." }),
    ),
    lastSeen: Type.Optional({ ...WireDate, description: "The time of the last refusal." }),
  }),
);

export const AuditPage = PageOf(AuditEntry);

/** @throws ApiError ParameterOutOfRange */
export function readAuditFilters(given: Static<typeof ExportAudit>): AuditFilters {
  const { appid, actor, actorKind, action, exceptAction, refused, target, requestId, from, to } = given;
  const at = { ...(from !== undefined && { start: from }), ...(to !== undefined && { end: to - 1 }) };
  return {
    applicationId: appid,
    actor,
    actorKind,
    actions: readActions("action", action),
    exceptActions: readActions("exceptAction", exceptAction),
    isRefused: refused,
    target,
    requestId,
    at,
  };
}

function readActions(parameter: string, text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const actions = [...new Set(text.split(",").map((each) => each.trim()))];
  if (actions.length <= actionsMax) return actions;
  throw new ApiError("ParameterOutOfRange", `${parameter} must have at most ${actionsMax} names.`, { parameter });
}

export function presentAuditEntry(row: AuditRow): Static<typeof AuditEntry> {
  return {
    id: row.id,
    at: formatDate(row.at),
    actor: {
      kind: row.actor_kind,
      ...(row.actor_id !== row.actor_kind && { id: row.actor_id }),
      ...(row.actor_name !== "" && { name: row.actor_name }),
    },
    action: row.action,
    ...(row.application_id !== "" && { appid: row.application_id }),
    ...(row.target !== "" && { target: row.target }),
    ...(row.address !== "" && { address: row.address }),
    ...(row.request_id !== "" && { requestId: row.request_id }),
    details: row.details,
    ...(row.count > 1 && { count: row.count, lastSeen: formatDate(row.last_at ?? row.at) }),
  };
}
