import { sql } from "kysely";
import { applicationPathParameters, requireApplication } from "../auth/operated-application.ts";
import { pagingParameters } from "../contract/paging.ts";
import { Type } from "../contract/schema.ts";
import { IdInput } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import { condition, equals, type Order } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { type Scope, scopeStream } from "../db/search/scope.ts";
import type { Stream } from "../db/search/stream.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import { OperatedUserPage, presentOperatedUser } from "./users.operator.contract.ts";

const DevicePath = Type.Object({ ...applicationPathParameters, deviceId: IdInput("Device") });

const listUsersOfDevice = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/devices/{deviceId}/users",
  operation: "listUsersOfDevice",
  summary: "List the users who have a token on a device",
  description: "The users who are signed in on it, and those whose token has expired a short while ago.",
  tag: "Operators",
  caller: "operator",
  pathParameters: DevicePath,
  parameters: Type.Object(pagingParameters),
  status: 200,
  result: OperatedUserPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, deviceId }, parameters, call }, { database: { reads }, paging }) {
    const listing = `users of ${deviceId} of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, reads);
    if (!(await isDevice(appid, deviceId, reads))) throw new ApiError("ItemDoesNotExist");
    const page = await readPage(usersOfDevice(appid, deviceId, reads), request.position, request.size, call.work);
    return paging.present(listing, caller, request, page, presentOperatedUser);
  },
});

async function isDevice(applicationId: string, id: string, queries: Queries): Promise<boolean> {
  const found = queries.selectFrom("devices").select("id").where("application_id", "=", applicationId);
  return (await found.where("id", "=", id).executeTakeFirst()) !== undefined;
}

/** Streams the users with a token on a device, once each, ordered by id. */
export function usersOfDevice(applicationId: string, deviceId: string, queries: Queries): Stream<UserRow> {
  const scope: Scope = {
    shape: "users of a device",
    from: sql`user_tokens as token
      join users as owner on owner.application_id = token.application_id and owner.id = token.user_id`,
    select: sql`owner.*`,
    conditions: [
      equals("token.application_id", applicationId),
      equals("token.device_id", deviceId),
      condition("is there", {}, () => sql`owner.deleted_at is null`),
      condition(
        "is the first of its user",
        {},
        (parameter) => sql`not exists (
          select 1 from user_tokens as other
          where other.application_id = ${parameter("token.application_id")} and other.device_id = token.device_id
            and other.user_id = token.user_id and other.id < token.id
        )`,
      ),
    ],
  };
  return scopeStream(scope, byUser, false, queries);
}

const byUser: Order<UserRow> = {
  shape: "user of a token",
  columns: [sql.ref("token.user_id")],
  keyOf: ({ id }) => [id],
};

/** The users of a device, for operators. */
export const usersOfDeviceOperations = [listUsersOfDevice];
