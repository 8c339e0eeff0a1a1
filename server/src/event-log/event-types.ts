import { type OwnedIdKind, ownedIdKinds } from "../lib/kinds.ts";

type OwnedKindName = Lowercase<OwnedIdKind>;
type OwnedChange = "created" | "changed" | "deleted";

const otherClientTypes = [
  ...(["metadata.changed", "metadata.deleted", "user.changed", "user.deleted"] as const),
  ...(["identity.added", "identity.removed", "user.signed_in", "user.signed_out"] as const),
  ...(["device.registered", "device.changed", "device.revoked"] as const),
] as const;

/** The types that only operators and their systems receive. */
const operationEventTypes = [
  ...(["user.created", "user.disabled", "user.enabled", "crash_group.opened", "location.flagged"] as const),
  ...(["application.settings_changed", "application.keys_changed", "application.compromised"] as const),
  ...(["application.suspended", "application.resumed"] as const),
  ...(["webhook.disabled", "webhook.gap", "webhook.test"] as const),
] as const;

/** The kinds of events, and the actions of each (spec/events#types). */
export type EventType =
  | `${OwnedKindName}.${OwnedChange}`
  | (typeof otherClientTypes)[number]
  | (typeof operationEventTypes)[number];

/** The types that clients may subscribe to. */
export const clientEventTypes: readonly EventType[] = [
  ...ownedIdKinds.flatMap((kind) => [
    ownedEventType(kind, "created"),
    ownedEventType(kind, "changed"),
    ownedEventType(kind, "deleted"),
  ]),
  ...otherClientTypes,
];

/** All types, which operators and webhooks may subscribe to. */
export const eventTypes: readonly EventType[] = [...clientEventTypes, ...operationEventTypes];

const clientTypes: ReadonlySet<string> = new Set(clientEventTypes);

/** Whether clients may receive events of a type. */
export function isForClients(type: string): boolean {
  return clientTypes.has(type);
}

/** The event type of an action on an owned object. */
export function ownedEventType(kind: OwnedIdKind, change: OwnedChange): EventType {
  return `${kind.toLowerCase() as OwnedKindName}.${change}`; // toLowerCase loses the literal type
}

/** Whether events of this type include the current object (spec/events#form). */
export function showsObject(type: string): boolean {
  return objectTypes.has(type);
}

const objectTypes: ReadonlySet<string> = new Set([
  ...clientEventTypes.filter((type) => /\.(created|changed)$/.test(type)),
  "device.registered",
]);

/** Returns the types that match a pattern: a type, `<kind>.*` or `*`, in any case. */
export function matchTypes<EventType extends string>(
  pattern: string,
  types: readonly EventType[],
): readonly EventType[] {
  const given = pattern.trim().toLowerCase();
  return types.filter((type) => given === "*" || given === type || given === `${kindOf(type)}.*`);
}

function kindOf(type: string): string {
  return type.split(".", 1)[0] ?? "";
}
