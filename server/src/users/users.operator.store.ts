import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { ownedTableNames } from "../db/owned-tables.ts";
import { prepare } from "../db/prepared.ts";
import { countMax, type UserCounts } from "./users.operator.contract.ts";

/** Counts a user's objects up to `countMax`; the number of files is stored. */
export async function countOfUser(applicationId: string, userId: string, queries: Queries): Promise<UserCounts> {
  const [counts] = await countAll(queries, { applicationId, userId });
  if (counts === undefined) throw new Error("A select of numbers has a row");
  const numbers = Object.entries(counts).map(([name, count]) => [name, Number(count)] as const);
  return Object.fromEntries(numbers) as UserCounts; // the columns have the names of the fields
}

const some = sql.lit(countMax);

const countAll = prepare<{ applicationId: string; userId: string }, UserCounts>((queries, parameter) => {
  const own = (table: string) =>
    sql`select 1 from ${sql.table(table)} as own
      where own.application_id = ${parameter("applicationId")} and own.user_id = ${parameter("userId")}`;
  const goodTokens = sql`${own("user_tokens")} and own.user_version = (
    select token_version from users where application_id = ${parameter("applicationId")} and id = ${parameter("userId")}
  )`;
  // Repeats the condition of the partial index, because SQLite cannot infer it from a bound value.
  const metadata = sql`
    select 1 from metadata where application_id = ${parameter("applicationId")} and slot = ${parameter("userId")} and slot <> ''
    union all
    select 1 from metadata
    where application_id = ${parameter("applicationId")} and object_id = ${parameter("userId")} and slot = ''`;
  const upTo = (rows: typeof goodTokens) => sql<number>`(select count(*) from (${rows} limit ${some}) as counted)`;
  const used = (column: string) => sql<number>`coalesce((
    select own.${sql.ref(column)} from file_usage as own
    where own.application_id = ${parameter("applicationId")} and own.user_id = ${parameter("userId")}
  ), 0)`;
  return queries.selectNoFrom([
    upTo(goodTokens).as("tokens"),
    upTo(own("identities")).as("identities"),
    ...ownedTableNames.filter((table) => table !== "files").map((table) => upTo(own(table)).as(table)),
    upTo(metadata).as("metadata"),
    used("files").as("files"),
    used("bytes").as("fileBytes"),
  ]);
});
