import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { type Condition, condition, equals, numberOrder, within } from "../db/search/conditions.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { Stream } from "../db/search/stream.ts";
import type { LocationFlagRow } from "../db/tables.ts";
import type { DateRange } from "../lib/dates.ts";

/** Stores a user's flag of a location, replacing an earlier one. */
export async function putFlag(flag: LocationFlagRow, queries: Queries): Promise<void> {
  const { reason, comment, modified_at } = flag;
  await queries
    .insertInto("location_flags")
    .values(flag)
    .onConflict((conflict) =>
      conflict.columns(["application_id", "object_id", "user_id"]).doUpdateSet({ reason, comment, modified_at }),
    )
    .execute();
}

interface FlagFilters {
  readonly locationID?: string;
  readonly userID?: string;
  readonly created?: DateRange;
}

/** Streams the flags of an application, newest first. */
export function flagsStream(
  applicationId: string,
  { locationID, userID, created = {} }: FlagFilters,
  queries: Queries,
): Stream<LocationFlagRow> {
  const conditions: Condition[] = [equals("application_id", applicationId), ...within("created_at", created)];
  if (locationID !== undefined) conditions.push(equals("object_id", locationID));
  if (userID !== undefined) conditions.push(equals("user_id", userID));
  conditions.push(
    condition("user is there", { applicationId }, (parameter) => isUserThere(parameter("applicationId"))),
  );
  const scope = { shape: "flags", from: sql`location_flags`, select: sql`location_flags.*`, conditions };
  return scopeStream<LocationFlagRow>(scope, numberOrder("created_at"), true, queries);
}

/** Whether the user of a flag is not being deleted; a subquery for the reason of `isShownToOthers`. */
function isUserThere(applicationId: never): RawBuilder<boolean> {
  return sql<boolean>`(
    select 1 from users as flagging
    where flagging.application_id = ${applicationId} and flagging.id = location_flags.user_id
      and flagging.deleted_at is null
  ) <> 0`;
}
