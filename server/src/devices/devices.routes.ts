import { findCredentials } from "../auth/credentials.ts";
import type { Tokens } from "../auth/tokens.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import { type Route, route } from "../http/route.ts";
import type { Clock } from "../lib/clock.ts";
import { type IdGenerator, kindOfId } from "../lib/ids.ts";
import { DeviceRegistration, RegisterDevice } from "./devices.contract.ts";
import { insertOrUpdateDevice } from "./devices.store.ts";

/** Registration with an application's credentials (service.md "POST /devices", surface.md section 4). */
export function devicesRoutes(services: {
  readonly database: Database;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, tokens, clock, ids } = services;

  const registerDevice = route({
    method: "POST",
    path: "/devices",
    operation: "registerDevice",
    summary: "Register a device",
    tag: "Devices",
    caller: "anyone",
    parameters: RegisterDevice,
    status: 201,
    result: DeviceRegistration,
    errors: ["ApplicationIdMalformed", "AuthAppCredentialsInvalid"],
    async handle({ parameters: { appid, appkey, platform, uniqueId } }) {
      if (kindOfId(appid) !== "App") throw new ApiError("ApplicationIdMalformed");
      const credentials = await findCredentials(appid, appkey, database);
      if (credentials === undefined) throw new ApiError("AuthAppCredentialsInvalid");

      const now = clock.now();
      const device = await database.write(({ queries }) =>
        insertOrUpdateDevice(
          {
            application_id: appid,
            id: ids.newId("Device"),
            unique_id: uniqueId ?? null,
            platform,
            token_version: 0,
            created_at: now,
            modified_at: now,
          },
          queries,
        ),
      );
      return tokens.issueDeviceToken({
        applicationId: appid,
        applicationKeyId: credentials.keyId,
        deviceId: device.id,
        versions: {
          application: credentials.applicationVersion,
          key: credentials.keyVersion,
          device: device.token_version,
        },
      });
    },
  });

  return [registerDevice];
}
