import type { DeviceRow } from "../db/tables.ts";
import type { NewEvent } from "../event-log/recorder.ts";

/** The columns of each field of a result. */
const fieldColumns: Readonly<Record<string, readonly (keyof DeviceRow)[]>> = {
  model: ["model"],
  osVersion: ["os_version"],
  appVersion: ["app_version"],
  pushToken: ["push_token"],
  tag: ["tag"],
  location: ["lat", "lng"],
  connectionType: ["connection_type"],
  isProduction: ["is_production"],
};

export function deviceChangedEvent(before: DeviceRow, after: DeviceRow): NewEvent {
  const isOther = (columns: readonly (keyof DeviceRow)[]) => columns.some((column) => before[column] !== after[column]);
  const fields = Object.entries(fieldColumns).filter(([, columns]) => isOther(columns));
  return { type: "device.changed", objectId: after.id, changed: fields.map(([name]) => name) };
}

/** The registration of a new device, which is also the actor, because its app calls without a token. */
export function deviceRegisteredEvent(deviceId: string): NewEvent {
  return { type: "device.registered", objectId: deviceId, actor: { kind: "device", id: deviceId } };
}

/** The revocation of all tokens of a device. */
export function deviceRevokedEvent(deviceId: string): NewEvent {
  return { type: "device.revoked", objectId: deviceId };
}
