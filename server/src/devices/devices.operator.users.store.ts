import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { tokensOfDeviceMax } from "./devices.operator.contract.ts";

/** The user of a device whose token was used last, and the number of users who are signed in on it. */
export interface SignedInUsers {
  readonly id: string;
  readonly userName: string;
  readonly users: number;
}

/** Finds the users who are signed in on each of a few devices; it reads a bounded number of tokens for each. */
export async function findSignedInUsers(
  applicationId: string,
  deviceIds: readonly string[],
  now: number,
  queries: Queries,
): Promise<ReadonlyMap<string, SignedInUsers>> {
  if (deviceIds.length === 0) return new Map();
  // The inner statement reads an index alone. Otherwise SQLite without statistics walks the tokens of all devices.
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
