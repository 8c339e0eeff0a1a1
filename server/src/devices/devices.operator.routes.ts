import { sql } from "kysely";
import { applicationPathParameters, isUser, requireApplication } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, extended, named, type Static, Type } from "../contract/schema.ts";
import { sortOrders } from "../contract/search.ts";
import { Choice, DateRangeInput, IdInput, Text, WireDate } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import { type Condition, condition, equals, numberOrder, textEquals, within } from "../db/search/conditions.ts";
import type { Scope } from "../db/search/scope.ts";
import { type Search, searchPage } from "../db/search/search.ts";
import type { DeviceRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices } from "../operations/services.ts";
import { Device, presentDevice, textCharactersMax } from "./devices.contract.ts";
import { deviceRevokedEvent } from "./devices.events.ts";
import { findDevice } from "./devices.store.ts";

const OperatedDevicesPath = Type.Object(applicationPathParameters);
const OperatedDevicePath = Type.Object({ ...applicationPathParameters, deviceId: IdInput("Device") });

const DevicesOfUserPath = Type.Object({ ...applicationPathParameters, userId: IdInput("User") });
const ListDevicesOfUser = Type.Object(pagingParameters);

const Include = enumeration("DeviceInclude", "Additional members of the result.", {
  users: "The user who is signed in on each device.",
});

const SearchOperatedDevices = Type.Object({
  include: Type.Optional(Choice(Include, { description: "Additional members of the result." })),
  uniqueId: Type.Optional(Text({ maxLength: textCharactersMax, description: "The exact value." })),
  platform: Type.Optional(Text({ maxLength: textCharactersMax, description: "The exact value." })),
  tag: Type.Optional(Text({ maxLength: textCharactersMax, description: "The exact value." })),
  keyId: Type.Optional(IdInput("ApplicationKey")),
  appVersion: Type.Optional(Text({ maxLength: textCharactersMax, description: "The exact value." })),
  userID: Type.Optional({
    ...IdInput("User"),
    description: "Only devices that have one of the newest 1,000 tokens of this user.",
  }),
  created: Type.Optional(DateRangeInput({ description: "The time of the creation." })),
  lastModified: Type.Optional(DateRangeInput({ description: "The time of the last change." })),
  sortOrder: Type.Optional(
    Choice(sortOrders("CreatedSortOrder", ["created"]), {
      description: "The order of the devices.",
      default: "-created",
    }),
  ),
  ...pagingParameters,
});

/** The maximum number of tokens that are read for each device. */
const tokensOfDeviceMax = 100;

const SignedIn = named(
  "SignedInUsers",
  "The users who are signed in on a device.",
  Type.Object({
    id: Type.String({ description: "The id of the user whose token was used last." }),
    userName: Type.String({ description: "The name of this user." }),
    users: Type.Integer({ description: `The number of users; at most ${tokensOfDeviceMax}, then a minimum.` }),
  }),
);

/** A device with its last registration, for operators. */
const OperatedDevice = extended("OperatedDevice", "A device, as operators see it.", Device, {
  keyID: Type.Optional(Type.String({ description: "The id of the application key of its latest registration." })),
  registered: Type.Optional({ ...WireDate, description: "The time of its latest registration." }),
  lastSeen: Type.Optional({ ...WireDate, description: "The time of its last activity, accurate to an hour." }),
  signedIn: Type.Optional({ ...SignedIn, description: "With `include=users`, if a user is signed in." }),
});
const OperatedDevicePage = PageOf(OperatedDevice);

function presentOperatedDevice(device: DeviceRow, signedIn?: Static<typeof SignedIn>): Static<typeof OperatedDevice> {
  return {
    ...presentDevice(device),
    ...(device.key_id !== null && { keyID: device.key_id }),
    ...(device.registered_at !== null && { registered: formatDate(device.registered_at) }),
    ...(device.last_seen_at !== null && { lastSeen: formatDate(device.last_seen_at) }),
    ...(signedIn !== undefined && { signedIn }),
  };
}

/** Searches the devices of an application, for operators. */
export function operatedDeviceSearch(
  applicationId: string,
  filters: Omit<Static<typeof SearchOperatedDevices>, "include" | "pageSize" | "pagingToken">,
): Search<DeviceRow> {
  const { uniqueId, platform, tag, keyId, appVersion, userID, created, lastModified } = filters;
  const conditions: Condition[] = [equals("application_id", applicationId)];
  if (uniqueId !== undefined) conditions.push(hasUniqueId(uniqueId));
  if (platform !== undefined) conditions.push(textEquals("platform", platform));
  if (tag !== undefined) conditions.push(textEquals("tag", tag));
  if (keyId !== undefined) conditions.push(hasKey(keyId));
  if (appVersion !== undefined) conditions.push(textEquals("app_version", appVersion));
  const ofUser = userID === undefined ? undefined : devicesOf(applicationId, userID);
  conditions.push(...(ofUser?.conditions ?? []));
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));
  return {
    scopes: [{ shape: "devices all", from: sql`devices`, select: sql`devices.*`, ...ofUser, conditions }],
    order: numberOrder("created_at"),
    isDescending: filters.sortOrder !== "created",
  };
}

/** Matches at most one device. */
function hasUniqueId(uniqueId: string): Condition {
  return condition("has unique id", { uniqueId }, (parameter) => sql`unique_id = ${parameter("uniqueId")}`);
}

/** Uses the expression of the index. */
function hasKey(keyId: string): Condition {
  return condition("has key", { keyId }, (parameter) => sql`coalesce(key_id, '') = ${parameter("keyId")}`);
}

const tokensOfUserMax = 1_000;

/** The devices of a user's newest tokens. */
function devicesOf(applicationId: string, userId: string): Pick<Scope, "few" | "conditions"> {
  const values = { tokenApplication: applicationId, tokenUser: userId };
  return {
    few: (parameter) => sql`
      select distinct device_id as few_id from (
        select device_id from user_tokens
        where application_id = ${parameter("tokenApplication")} and user_id = ${parameter("tokenUser")}
        order by id desc limit ${sql.lit(tokensOfUserMax)}
      ) as token`,
    conditions: [condition("has token of", values, () => sql`devices.id = few.few_id`)],
  };
}

const searchDevices = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/devices",
  operation: "searchOperatedDevices",
  summary: "Search the devices of an application",
  description: "Finds devices by the data that they reported, or by the key of their registration.",
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
  description: "Returns the device with the key of its latest registration.",
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
  description: "Returns the devices on which the user is signed in, and those whose token has expired recently.",
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
  summary: "Revoke all tokens of a device and of the users on it; it must register again",
  description: "Use it for a lost device.",
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

/** The user whose token was used last on a device, and the number of users who are signed in on it. */
interface SignedInUsers {
  readonly id: string;
  readonly userName: string;
  readonly users: number;
}

/** Finds the signed-in users of some devices; reads a bounded number of tokens per device. */
export async function findSignedInUsers(
  applicationId: string,
  deviceIds: readonly string[],
  now: number,
  queries: Queries,
): Promise<ReadonlyMap<string, SignedInUsers>> {
  if (deviceIds.length === 0) return new Map();
  // The inner statement is index-only. Otherwise SQLite, without statistics, would scan the tokens of all devices.
  const tokens = sql`
    select token.user_id, token.last_used_at from (
      select listed.user_id, listed.id from user_tokens as listed
      where listed.application_id = ${applicationId} and listed.device_id = device.id
      order by listed.user_id, listed.id limit ${sql.lit(tokensOfDeviceMax)}
    ) as listed
    cross join user_tokens as token
    where token.application_id = ${applicationId} and token.user_id = listed.user_id and token.id = listed.id
      and token.expires_at > ${now} and token.user_version = (
        select token_version from users where application_id = ${applicationId} and id = token.user_id
      )`;
  const statement = sql<{ device_id: string; id: string; user_name: string; users: number }>`
    select found.device_id, found.users, owner.id, owner.user_name
    from (
      select device.id as device_id,
        (select recent.user_id from (${tokens}) as recent order by recent.last_used_at desc limit 1) as user_id,
        (select count(distinct each_token.user_id) from (${tokens}) as each_token) as users
      from devices as device
      where device.application_id = ${applicationId} and device.id in (${sql.join(deviceIds)})
    ) as found
    join users as owner on owner.application_id = ${applicationId} and owner.id = found.user_id`;
  const { rows } = await queries.executeQuery(statement.compile(queries));
  return new Map(
    rows.map(({ device_id, id, user_name, users }) => [device_id, { id, userName: user_name, users: Number(users) }]),
  );
}
