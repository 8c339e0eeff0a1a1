import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, extended, named, type Static, Type } from "../contract/schema.ts";
import { sortOrders } from "../contract/search.ts";
import { Choice, DateRangeInput, IdInput, Text, WireDate } from "../contract/wire.ts";
import type { DeviceRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { Device, presentDevice, textCharactersMax } from "./devices.contract.ts";

export const OperatedDevicesPath = Type.Object(applicationPathParameters);
export const OperatedDevicePath = Type.Object({ ...applicationPathParameters, deviceId: IdInput("Device") });

export const DevicesOfUserPath = Type.Object({ ...applicationPathParameters, userId: IdInput("User") });
export const ListDevicesOfUser = Type.Object(pagingParameters);

const Include = enumeration("DeviceInclude", "Additional members of the result.", {
  users: "The user who is signed in on each device.",
});

export const SearchOperatedDevices = Type.Object({
  include: Type.Optional(Choice(Include, { description: "Additional members of the result." })),
  uniqueId: Type.Optional(Text({ maxLength: textCharactersMax, description: "Exact." })),
  platform: Type.Optional(Text({ maxLength: textCharactersMax, description: "Exact." })),
  tag: Type.Optional(Text({ maxLength: textCharactersMax, description: "Exact." })),
  keyId: Type.Optional(IdInput("ApplicationKey")),
  appVersion: Type.Optional(Text({ maxLength: textCharactersMax, description: "Exact." })),
  userID: Type.Optional({
    ...IdInput("User"),
    description: "Devices that have a token of this user: one of the newest 1,000.",
  }),
  created: Type.Optional(DateRangeInput({ description: "When it was created." })),
  lastModified: Type.Optional(DateRangeInput({ description: "When it was changed last." })),
  sortOrder: Type.Optional(
    Choice(sortOrders("CreatedSortOrder", ["created"]), {
      description: "The order of the devices.",
      default: "-created",
    }),
  ),
  ...pagingParameters,
});

/** Tokens of a device that are read to find the user of the last one. */
export const tokensOfDeviceMax = 100;

const SignedIn = named(
  "SignedInUsers",
  "The users who are signed in on a device.",
  Type.Object({
    id: Type.String({ description: "Of the user whose token was used last." }),
    userName: Type.String({ description: "Of this user." }),
    users: Type.Integer({ description: `The number of users; at most ${tokensOfDeviceMax}, then a minimum.` }),
  }),
);

/** A device as operators see it: what the device reads about itself, its last registration, and the key it used. */
export const OperatedDevice = extended("OperatedDevice", "A device, as operators see it.", Device, {
  keyID: Type.Optional(Type.String({ description: "Of the application key that it registered with last." })),
  registered: Type.Optional({ ...WireDate, description: "Its last registration." }),
  lastSeen: Type.Optional({ ...WireDate, description: "Its last activity, up to an hour late." }),
  signedIn: Type.Optional({ ...SignedIn, description: "With `include=users`, if a user is signed in." }),
});
export const OperatedDevicePage = PageOf(OperatedDevice);

export function presentOperatedDevice(
  device: DeviceRow,
  signedIn?: Static<typeof SignedIn>,
): Static<typeof OperatedDevice> {
  return {
    ...presentDevice(device),
    ...(device.key_id !== null && { keyID: device.key_id }),
    ...(device.registered_at !== null && { registered: formatDate(device.registered_at) }),
    ...(device.last_seen_at !== null && { lastSeen: formatDate(device.last_seen_at) }),
    ...(signedIn !== undefined && { signedIn }),
  };
}
