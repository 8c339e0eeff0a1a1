import type { Static } from "../../../server/src/contract/schema.ts";
import type { OperatedDevice, OperatedDevicePage } from "../../../server/src/devices/devices.operator.routes.ts";
import type { OperatedUserPage } from "../../../server/src/users/users.operator.contract.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type Device = Static<typeof OperatedDevice>;
export type UserOfDevice = Static<typeof OperatedUserPage>["pageResults"][number];

interface InApplication {
  readonly appid: string;
}

export interface OfDevice extends InApplication {
  readonly deviceId: string;
}

export interface DeviceFilters {
  readonly uniqueId?: string;
  readonly platform?: string;
  readonly tag?: string;
  readonly keyId?: string;
  readonly appVersion?: string;
  readonly created?: string;
  readonly sortOrder?: string;
}

export const listDevices = operation<
  InApplication & DeviceFilters & PageParameters & { readonly include?: "users" },
  Static<typeof OperatedDevicePage>
>("GET", "/applications/{appid}/devices", [
  "appid",
  "include",
  "uniqueId",
  "platform",
  "tag",
  "keyId",
  "appVersion",
  "created",
  "sortOrder",
  "pageSize",
  "pagingToken",
]);

export const getDevice = operation<OfDevice, Device>("GET", "/applications/{appid}/devices/{deviceId}", [
  "appid",
  "deviceId",
]);

export const listUsersOfDevice = operation<OfDevice & PageParameters, Static<typeof OperatedUserPage>>(
  "GET",
  "/applications/{appid}/devices/{deviceId}/users",
  ["appid", "deviceId", "pageSize", "pagingToken"],
);

export const endTokensOfDevice = operation<OfDevice, true>(
  "POST",
  "/applications/{appid}/devices/{deviceId}/revoke-tokens",
  ["appid", "deviceId"],
);
