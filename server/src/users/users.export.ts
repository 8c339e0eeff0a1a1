import { userTokensStream } from "../auth/user-tokens.ts";
import type { Database } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { eachRow } from "../db/search/stream.ts";
import type { DeviceRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import { formatDate } from "../lib/dates.ts";
import type { ExportOwner, UserExporter } from "../owned/export.ts";
import { presentOperatedToken, presentOperatedUser } from "./users.operator.contract.ts";
import { findUser } from "./users.store.ts";

const tokensAtOnce = 500;
/** Above this number of devices, a device may be exported twice. */
const devicesRememberedMax = 10_000;

/** Exports a user's profile, live tokens and their devices. */
export function usersExporter(services: { readonly database: Database; readonly clock: Clock }): UserExporter {
  const { database, clock } = services;

  function tokensOf({ applicationId, userId }: ExportOwner) {
    return eachRow(userTokensStream(applicationId, userId, clock.now(), database.reads), tokensAtOnce);
  }

  async function* profile({ applicationId, userId }: ExportOwner) {
    const user = await findUser(applicationId, userId, database.reads);
    if (user !== undefined) yield presentOperatedUser(user);
  }

  async function* tokens(owner: ExportOwner) {
    for await (const token of tokensOf(owner)) yield presentOperatedToken(token);
  }

  async function* devices(owner: ExportOwner) {
    const exported = new Set<string>();
    for await (const { device_id: id } of tokensOf(owner)) {
      if (exported.has(id)) continue;
      if (exported.size >= devicesRememberedMax) exported.clear();
      exported.add(id);
      const [device] = await findDevice(database.reads, { applicationId: owner.applicationId, id });
      if (device !== undefined) yield presentDevice(device);
    }
  }

  return async function* (owner) {
    yield { name: "profile.json", rows: profile(owner) };
    yield { name: "tokens.ndjson", rows: tokens(owner) };
    yield { name: "devices.ndjson", rows: devices(owner) };
  };
}

/** Without secrets that would allow impersonating the device or sending it messages. */
function presentDevice(device: DeviceRow): object {
  const { lat, lng } = device;
  return {
    id: device.id,
    platform: device.platform,
    ...(device.model !== null && { model: device.model }),
    ...(device.os_version !== null && { osVersion: device.os_version }),
    ...(device.app_version !== null && { appVersion: device.app_version }),
    ...(device.tag !== null && { tag: device.tag }),
    ...(lat !== null && lng !== null && { location: { lat, lng } }),
    created: formatDate(device.created_at),
    lastModified: formatDate(device.modified_at),
  };
}

const findDevice = prepare<{ applicationId: string; id: string }, DeviceRow>((queries, parameter) =>
  queries
    .selectFrom("devices")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);
