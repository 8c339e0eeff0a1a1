import { requireApplication } from "../auth/operated-application.ts";
import { isUser } from "../auth/operated-user.ts";
import { Type } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import { searchPage } from "../db/search/search.ts";
import type { DeviceRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices } from "../operations/services.ts";
import { deviceRevokedEvent } from "./devices.events.ts";
import {
  DevicesOfUserPath,
  ListDevicesOfUser,
  OperatedDevice,
  OperatedDevicePage,
  OperatedDevicePath,
  OperatedDevicesPath,
  presentOperatedDevice,
  SearchOperatedDevices,
} from "./devices.operator.contract.ts";
import { operatedDeviceSearch } from "./devices.operator.search.ts";
import { findSignedInUsers } from "./devices.operator.users.store.ts";
import { findDevice } from "./devices.store.ts";

const searchDevices = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/devices",
  operation: "searchOperatedDevices",
  summary: "Search the devices of an application",
  description: "Finds devices by their reported facts, or by the key of their registration.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedDevicesPath,
  parameters: SearchOperatedDevices,
  status: 200,
  result: OperatedDevicePage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters, call }, { database, paging, clock }) {
    const listing = `devices of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    const { include, ...filters } = request.filters;
    await requireApplication(appid, database.reads);
    const search = operatedDeviceSearch(appid, filters);
    const page = await searchPage(search, request.position, request.size, database.reads, call.work);
    const ids = include === "users" ? page.rows.map(({ id }) => id) : [];
    const users = await findSignedInUsers(appid, ids, clock.now(), database.reads);
    return paging.present(listing, caller, request, page, (device) =>
      presentOperatedDevice(device, users.get(device.id)),
    );
  },
});

const getDevice = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/devices/{deviceId}",
  operation: "getOperatedDevice",
  summary: "Read a device",
  description: "With the key that it registered with last.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedDevicePath,
  status: 200,
  result: OperatedDevice,
  errors: ["ItemDoesNotExist"],
  handle: async ({ path: { appid, deviceId } }, { database }) =>
    presentOperatedDevice(await requireDevice(appid, deviceId, database.reads)),
});

const listDevicesOfUser = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/users/{userId}/devices",
  operation: "listDevicesOfUser",
  summary: "List the devices that have a token of a user, newest first",
  description: "The devices that the user is signed in on, and those whose token has expired a short while ago.",
  tag: "Operators",
  caller: "operator",
  pathParameters: DevicesOfUserPath,
  parameters: ListDevicesOfUser,
  status: 200,
  result: OperatedDevicePage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, userId }, parameters, call }, { database, paging }) {
    const listing = `devices of ${userId} of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    if (!(await isUser(appid, userId, database.reads))) throw new ApiError("ItemDoesNotExist");
    const search = operatedDeviceSearch(appid, { userID: userId });
    const page = await searchPage(search, request.position, request.size, database.reads, call.work);
    return paging.present(listing, caller, request, page, (device) => presentOperatedDevice(device));
  },
});

export const endTokensOfDevice = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/devices/{deviceId}/revoke-tokens",
  operation: "endTokensOfDevice",
  summary: "End all tokens of a device and of the users on it; it has to register again",
  description: "Use it for a device that was lost.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedDevicePath,
  parameters: Type.Object({}),
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, deviceId } }, { database, revocations, events }: CommandServices) {
    await database.write(async (transaction) => {
      await requireDevice(appid, deviceId, transaction.queries);
      await revocations.endDeviceTokens(appid, deviceId, transaction);
      await events.record(appid, deviceRevokedEvent(deviceId), transaction.queries);
    });
    return true as const;
  },
});

/** @throws ApiError ItemDoesNotExist */
async function requireDevice(applicationId: string, deviceId: string, queries: Queries): Promise<DeviceRow> {
  await requireApplication(applicationId, queries);
  const device = await findDevice(applicationId, deviceId, queries);
  if (device === undefined) throw new ApiError("ItemDoesNotExist");
  return device;
}

/** The devices of an application for operators, and the revocation of their tokens. */
export const deviceOperatorOperations = [searchDevices, getDevice, listDevicesOfUser, endTokensOfDevice];
