import { type ApplicationCredentials, findCredentials } from "../auth/credentials.ts";
import { isServed } from "../auth/operated-application.ts";
import type { IssuedToken } from "../auth/tokens.ts";
import { requireEnabled } from "../contract/policy.ts";
import type { Static } from "../contract/schema.ts";
import { lockRow } from "../db/lock.ts";
import { ApiError } from "../lib/errors.ts";
import { kindOfId } from "../lib/ids.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { signRegistration } from "../operations/signatures.ts";
import {
  ChangeDevice,
  changedFields,
  Device,
  DeviceRegistration,
  presentOwnDevice,
  RegisterDevice,
} from "./devices.contract.ts";
import { deviceChangedEvent, deviceRegisteredEvent } from "./devices.events.ts";
import { findDevice, insertOrUpdateDevice, updateDevice } from "./devices.store.ts";

/** The properties of the operation that policies and rate limits match. */
const registration = { method: "POST", path: "/devices", addressLimit: "registrations" } as const;

const registerDevice = operation({
  ...registration,
  operation: "registerDevice",
  summary: "Register a device",
  description:
    "Takes the application's credentials and data about the device. Another registration with the same uniqueId returns a new token of the same device.",
  tag: "Devices",
  caller: "anyone",
  parameters: RegisterDevice,
  status: 201,
  result: DeviceRegistration,
  errors: ["ApplicationIdMalformed", "AuthAppCredentialsInvalid", "AuthAPICallDisabledByDeveloper"],
  async handle({ parameters, call }, services) {
    const { rateLimits, regions, remoteRegistration } = services;
    const { appid, appkey } = parameters;
    if (kindOfId(appid) !== "App") throw new ApiError("ApplicationIdMalformed");
    const credentials = await findCredentials(appid, appkey, services);
    if ((credentials === undefined || credentials.policy.isMoving) && !call.isForwarded) {
      // Also while the application is being imported here, because it stays in its former region if the move fails.
      const host = await regions.hostOf(appid);
      if (host !== undefined) return remoteRegistration.register(host, appid, call);
    }
    if (credentials === undefined) {
      if (await isServed(appid, services.database.reads)) call.countFor?.(appid);
      throw new ApiError("AuthAppCredentialsInvalid");
    }
    call.countFor?.(appid);
    const { policy } = credentials;
    requireEnabled(policy, registration, call.path);
    await rateLimits.admitTo({ id: appid, policy }, registration, call);
    await call.beginRehearsal?.(policy);
    const token = await registerHere(parameters, credentials, services);
    const { signing } = policy;
    const serviceRoot = regions.serviceRoot({ isForwarded: call.isForwarded === true });
    return {
      ...token,
      ...(serviceRoot !== undefined && { serviceRoot }),
      ...(signing !== undefined && { serverSignature: signRegistration(signing.secret, appkey) }),
    };
  },
});

/** Stores the device of an application of this region, and issues its token. */
async function registerHere(
  parameters: Static<typeof RegisterDevice>,
  { policy, keyId, applicationVersion, keyVersion }: ApplicationCredentials,
  { database, tokens, clock, ids, statistics, events }: Services,
): Promise<IssuedToken> {
  const { appid, platform, uniqueId } = parameters;
  const now = clock.now();
  const tokenId = ids.newId("Token");
  const newId = ids.newId("Device");
  const row = {
    application_id: appid,
    id: newId,
    unique_id: uniqueId ?? null,
    platform,
    ...changedFields(parameters, tokenId),
    token_version: 0,
    created_at: now,
    modified_at: now,
    key_id: keyId,
    registered_at: now,
    last_seen_at: now,
  };
  const device = await database.write(
    async ({ queries, afterCommit }) => {
      const stored = await insertOrUpdateDevice(row, queries);
      afterCommit(() => {
        statistics.countRegistration(appid, keyId);
        if (row.app_version !== null) statistics.countVersion(appid, row.app_version, row.platform);
      });
      if (stored.id !== newId) return stored;
      afterCommit(() => statistics.countNew(appid, "newDevices"));
      await events.record(appid, deviceRegisteredEvent(newId), queries);
      return stored;
    },
    { addsTo: appid },
  );
  const subject = {
    applicationId: appid,
    applicationKeyId: keyId,
    deviceId: device.id,
    versions: { application: applicationVersion, key: keyVersion, device: device.token_version },
    policy,
  };
  return tokens.issueDeviceToken(subject, tokenId);
}

const getDevice = operation({
  method: "GET",
  path: "/devices/current",
  operation: "getDevice",
  summary: "Read the device of the token",
  description: "Returns all data that the app has reported, the push token only to the token that set it.",
  tag: "Devices",
  caller: "device",
  status: 200,
  result: Device,
  errors: [],
  async handle({ caller: { applicationId, deviceId, tokenId } }, { database }) {
    const device = await findDevice(applicationId, deviceId, database.reads);
    if (device === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token was checked
    return presentOwnDevice(device, tokenId);
  },
});

const changeDevice = operation({
  method: "PATCH",
  path: "/devices/current",
  operation: "changeDevice",
  summary: "Change the device of the token",
  description: "Changes the fields that are sent; an empty string clears a field.",
  tag: "Devices",
  caller: "device",
  parameters: ChangeDevice,
  status: 200,
  result: Device,
  errors: [],
  async handle({ caller, parameters }, { database, clock, events, statistics }) {
    const { applicationId, deviceId, tokenId, isTest = false } = caller;
    const device = await database.write(async ({ queries, afterCommit }) => {
      await lockRow(database.dialect, "devices", applicationId, deviceId, queries);
      const found = await findDevice(applicationId, deviceId, queries);
      if (found === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token was checked
      const changed = { ...changedFields(parameters, tokenId, found), modified_at: clock.now() };
      await updateDevice(applicationId, deviceId, changed, queries);
      const now = { ...found, ...changed };
      const { app_version, platform } = now;
      if (!isTest && app_version !== null && app_version !== found.app_version)
        afterCommit(() => statistics.countVersion(applicationId, app_version, platform));
      await events.record(applicationId, deviceChangedEvent(found, now), queries);
      return now;
    });
    return presentOwnDevice(device, tokenId);
  },
});

/** Registration with an application's credentials, and the device of a token (spec/devices). */
export const deviceOperations = [registerDevice, getDevice, changeDevice];
