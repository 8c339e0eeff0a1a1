import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, named, type Static, Type } from "../contract/schema.ts";
import { IdInput, Text, WireDate } from "../contract/wire.ts";
import { formatDate } from "../lib/dates.ts";
import type { ApplicationKey, KeyUse, NewApplicationKey } from "./applications.keys.store.ts";
import { nameRule } from "./applications.names.ts";

export const KeysPath = Type.Object(applicationPathParameters);
export const KeyPath = Type.Object({ ...applicationPathParameters, keyId: IdInput("ApplicationKey") });

export const ListKeys = Type.Object(pagingParameters);
export const CreateKey = Type.Object({
  label: Type.Optional(Text({ description: `The purpose of the key. It ${nameRule}.` })),
});
export const ChangeKey = Type.Object({ label: Text({ description: `The purpose of the key. It ${nameRule}.` }) });
export const RetireKey = Type.Object({
  confirm: Type.Optional(Text({ description: "The id of the key, required to retire the last active one." })),
});

const KeyState = enumeration("KeyState", "Whether devices can register with a key.", {
  active: "Devices register with it.",
  retired: "It was taken out of use.",
  compromised: "All keys were taken out of use at once.",
});

const Key = named(
  "ApplicationKey",
  "A key of an application.",
  Type.Object({
    id: Type.String(),
    label: Type.Optional(Type.String({ description: "Its purpose." })),
    created: WireDate,
    state: KeyState,
    retired: Type.Optional({ ...WireDate, description: "The time at which it was retired." }),
    devices: Type.Integer({ description: "Devices whose latest registration used this key." }),
    lastRegistered: Type.Optional({ ...WireDate, description: "The time of the latest of these registrations." }),
  }),
);
export const KeyPage = PageOf(Key);

/** A key without the number of its devices. */
export const ChangedKey = named(
  "ChangedApplicationKey",
  "A key of an application, after a change.",
  Type.Object({
    id: Key.properties.id,
    label: Key.properties.label,
    created: Key.properties.created,
    state: Key.properties.state,
    retired: Key.properties.retired,
  }),
);

export const NewKey = named(
  "CreatedApplicationKey",
  "A new key of an application.",
  Type.Object({
    id: Type.String(),
    appkey: Type.String({ description: "Shown only once." }),
    label: Type.Optional(Type.String({ description: "Its purpose." })),
    created: WireDate,
  }),
);

export function presentKey(key: ApplicationKey): Static<typeof ChangedKey> {
  const { id, label, created_at, retired_at } = key;
  return {
    id,
    ...(label !== null && { label }),
    created: formatDate(created_at),
    state: stateOf(key),
    ...(retired_at !== null && { retired: formatDate(retired_at) }),
  };
}

export function presentUsedKey(key: ApplicationKey & KeyUse): Static<typeof Key> {
  const { devices, lastRegisteredAt } = key;
  const lastRegistered = lastRegisteredAt === undefined ? {} : { lastRegistered: formatDate(lastRegisteredAt) };
  return { ...presentKey(key), devices, ...lastRegistered };
}

export function presentNewKey({ id, appkey, label, created_at }: NewApplicationKey): Static<typeof NewKey> {
  return { id, appkey, ...(label !== null && { label }), created: formatDate(created_at) };
}

/** Returns the state of a key. A retired key stays retired when all keys are replaced. */
function stateOf({ retired_at, generation, key_generation }: ApplicationKey): Static<typeof KeyState> {
  if (retired_at !== null) return "retired";
  return generation === key_generation ? "active" : "compromised";
}
