import { enumeration, named, type Static, Type } from "../contract/schema.ts";
import {
  AppIdInput,
  Choice,
  ClearableText,
  changedText,
  Flag,
  LocationInput,
  Text,
  WireDate,
  WireLocation,
} from "../contract/wire.ts";
import type { DeviceRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";

export const textCharactersMax = 256;
const pushTokenCharactersMax = 4_096;

const ConnectionType = enumeration("ConnectionType", "The connection of a device.", {
  Unknown: "Not known.",
  Carrier: "Over a mobile network.",
  Wifi: "Over a wireless local network.",
});
/** A connection type is stored as its index in this list. */
const connectionTypes = ConnectionType.enum;

/** The data that an app reports about its device, at registration and later (spec/devices#register). */
function deviceParameters(text: typeof ClearableText) {
  return {
    model: Type.Optional(text({ maxLength: textCharactersMax })),
    osVersion: Type.Optional(text({ maxLength: textCharactersMax })),
    appVersion: Type.Optional(text({ maxLength: textCharactersMax })),
    pushToken: Type.Optional(
      text({ maxLength: pushTokenCharactersMax, alias: "deviceToken", description: "Also accepted as deviceToken." }),
    ),
    tag: Type.Optional(text({ maxLength: textCharactersMax, description: "A free text of the app." })),
    location: Type.Optional(LocationInput()),
    connectionType: Type.Optional(Choice(ConnectionType)),
    isProduction: Type.Optional(Flag({ description: "Whether the app is a released version." })),
  };
}

export const RegisterDevice = Type.Object({
  appid: AppIdInput({ description: "Application id." }),
  // Unbounded, because a key that is too long or cannot be stored is reported as a wrong key.
  appkey: Text({ description: "Application key.", refusedAs: "AuthAppCredentialsInvalid" }),
  platform: Text({ maxLength: textCharactersMax, description: "Client platform name." }),
  uniqueId: Type.Optional(
    Text({
      maxLength: textCharactersMax,
      description: "A random unique value, which identifies the device when it registers again.",
    }),
  ),
  ...deviceParameters(Text),
});

/** The result of a registration (spec/devices#register). */
export const DeviceRegistration = named(
  "DeviceRegistration",
  "The result of a registration.",
  Type.Object({
    accessToken: Type.String({ description: "Device access token, opaque." }),
    accessTokenExpires: WireDate,
    serviceRoot: Type.Optional(
      Type.String({
        format: "uri",
        description: "The base address of all other calls, if the application is in a remote region.",
      }),
    ),
    serverSignature: Type.Optional(
      Type.String({ description: "Proves that the server has the shared secret of the application, if there is one." }),
    ),
  }),
);

export const ChangeDevice = Type.Object(deviceParameters(ClearableText));

export const Device = named(
  "Device",
  "A device, as its app reported it.",
  Type.Object({
    id: Type.String(),
    platform: Type.String(),
    uniqueId: Type.Optional(Type.String({ description: "The unique value that the device registered with." })),
    model: Type.Optional(Type.String()),
    osVersion: Type.Optional(Type.String()),
    appVersion: Type.Optional(Type.String()),
    pushToken: Type.Optional(Type.String({ description: "Returned to clients only with the token that set it." })),
    tag: Type.Optional(Type.String({ description: "A free text of the app." })),
    location: Type.Optional(WireLocation),
    connectionType: Type.Optional(ConnectionType),
    isProduction: Type.Optional(Type.Boolean({ description: "Whether the app is a released version." })),
    created: WireDate,
    lastModified: WireDate,
  }),
);

/** The columns that an app may set. */
export type DeviceFields = Pick<
  DeviceRow,
  | "model"
  | "os_version"
  | "app_version"
  | "push_token"
  | "push_token_by"
  | "tag"
  | "lat"
  | "lng"
  | "connection_type"
  | "is_production"
>;

const nothingReported: DeviceFields = {
  model: null,
  os_version: null,
  app_version: null,
  push_token: null,
  push_token_by: null,
  tag: null,
  lat: null,
  lng: null,
  connection_type: null,
  is_production: null,
};

/** Applies parameters to the stored columns. A push token is bound to the access token `tokenId`. */
export function changedFields(
  given: Static<typeof ChangeDevice>,
  tokenId: string,
  now: DeviceFields = nothingReported,
): DeviceFields {
  const { location, connectionType, isProduction } = given;
  return {
    model: changedText(now.model, given.model),
    os_version: changedText(now.os_version, given.osVersion),
    app_version: changedText(now.app_version, given.appVersion),
    push_token: changedText(now.push_token, given.pushToken),
    push_token_by: given.pushToken === undefined ? now.push_token_by : tokenId,
    tag: changedText(now.tag, given.tag),
    lat: location?.lat ?? now.lat,
    lng: location?.lng ?? now.lng,
    connection_type: connectionType === undefined ? now.connection_type : connectionTypes.indexOf(connectionType),
    is_production: isProduction === undefined ? now.is_production : Number(isProduction),
  };
}

export function presentDevice(device: DeviceRow): Static<typeof Device> {
  const { lat, lng } = device;
  const connectionType = connectionTypes[device.connection_type ?? -1];
  return {
    id: device.id,
    platform: device.platform,
    ...(device.unique_id !== null && { uniqueId: device.unique_id }),
    ...(device.model !== null && { model: device.model }),
    ...(device.os_version !== null && { osVersion: device.os_version }),
    ...(device.app_version !== null && { appVersion: device.app_version }),
    ...(device.push_token !== null && { pushToken: device.push_token }),
    ...(device.tag !== null && { tag: device.tag }),
    ...(lat !== null && lng !== null && { location: { lat, lng } }),
    ...(connectionType !== undefined && { connectionType }),
    ...(device.is_production !== null && { isProduction: device.is_production === 1 }),
    created: formatDate(device.created_at),
    lastModified: formatDate(device.modified_at),
  };
}

/**
 * Presents a device to a client. Only the access token that set the push token reads it, because it is a secret of the
 * installation, and any client that knows the uniqueId can get a token for the device.
 */
export function presentOwnDevice(device: DeviceRow, tokenId: string): Static<typeof Device> {
  return presentDevice(device.push_token_by === tokenId ? device : { ...device, push_token: null });
}
