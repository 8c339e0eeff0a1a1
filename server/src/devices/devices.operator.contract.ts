import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { extended, type Static, Type } from "../contract/schema.ts";
import { sortOrders } from "../contract/search.ts";
import { Choice, DateRangeInput, IdInput, Text, WireDate } from "../contract/wire.ts";
import type { DeviceRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { Device, presentDevice, textCharactersMax } from "./devices.contract.ts";

export const OperatedDevicesPath = Type.Object(applicationPathParameters);
export const OperatedDevicePath = Type.Object({ ...applicationPathParameters, deviceId: IdInput("Device") });

export const DevicesOfUserPath = Type.Object({ ...applicationPathParameters, userId: IdInput("User") });
export const ListDevicesOfUser = Type.Object(pagingParameters);

export const SearchOperatedDevices = Type.Object({
  uniqueId: Type.Optional(Text({ maxLength: textCharactersMax, description: "Exact." })),
  platform: Type.Optional(Text({ maxLength: textCharactersMax, description: "Exact." })),
  tag: Type.Optional(Text({ maxLength: textCharactersMax, description: "Exact." })),
  keyId: Type.Optional(IdInput("ApplicationKey")),
  appVersion: Type.Optional(Text({ maxLength: textCharactersMax, description: "Exact." })),
  userID: Type.Optional({ ...IdInput("User"), description: "Devices that have a token of this user." }),
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

/** A device as operators see it: what the device reads about itself, its last registration, and the key it used. */
export const OperatedDevice = extended("OperatedDevice", "A device, as operators see it.", Device, {
  keyID: Type.Optional(Type.String({ description: "Of the application key that it registered with last." })),
  registered: Type.Optional({ ...WireDate, description: "Its last registration." }),
  lastSeen: Type.Optional({ ...WireDate, description: "Its last activity, up to an hour late." }),
});
export const OperatedDevicePage = PageOf(OperatedDevice);

export function presentOperatedDevice(device: DeviceRow): Static<typeof OperatedDevice> {
  return {
    ...presentDevice(device),
    ...(device.key_id !== null && { keyID: device.key_id }),
    ...(device.registered_at !== null && { registered: formatDate(device.registered_at) }),
    ...(device.last_seen_at !== null && { lastSeen: formatDate(device.last_seen_at) }),
  };
}
