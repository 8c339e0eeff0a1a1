import { type RawBuilder, sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import { listedBy, ownedTableNames } from "../db/owned-tables.ts";
import type { OwnedTableName } from "../db/tables.ts";
import type { Fuzzing, ShiftSecret } from "./fuzzing.ts";

const rowsPerStep = 250;

/**
 * Adapts the fuzzed locations of a user's objects to the user's locationFuzzing after a change: creates or removes
 * them, a bounded number of rows in each transaction. Others do not see a row until it has its fuzzed location, and see
 * the fuzzed one until it is removed. Can be stopped and resumed at any point.
 *
 * @returns false when it stopped after `stepsMax` transactions with more to do
 */
export async function reshiftUser(
  applicationId: string,
  userId: string,
  { database, fuzzing }: { database: Database; fuzzing: Fuzzing },
  { stepsMax = Number.POSITIVE_INFINITY, signal }: { stepsMax?: number; signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  let after: Progress | undefined;
  for (let steps = 0; ; steps += 1) {
    signal?.throwIfAborted();
    if (steps >= stepsMax) return false;
    const step = await database.write(({ queries }) =>
      reshiftSome(applicationId, userId, after, { database, fuzzing }, queries),
    );
    if (step === "done") return true;
    after = step;
  }
}

/**
 * The storage of a user's locations: the table, the column of the user, and the order in which its rows are processed.
 */
const locatedTables: readonly LocatedTable[] = [
  ...ownedTableNames.map((table): LocatedTable => {
    const first = listedBy(table) === "id" ? "user_id" : listedBy(table);
    return { table, user: "user_id", order: [first, "id"], isShared: sql`read_permission` };
  }),
  { table: "metadata", user: "setter_id", order: ["object_id", "key"], isShared: sql`1` }, // private ones have none
];

interface LocatedTable {
  readonly table: OwnedTableName | "metadata";
  readonly user: string;
  readonly order: readonly [string, string];
  readonly isShared: RawBuilder<unknown>;
}

/** The progress of the steps, and the setting that they apply. */
interface Progress {
  readonly table: number;
  /** Absent at the start of a table. */
  readonly key?: readonly [number | string, string];
  readonly isFuzzed: boolean;
}

interface FoundRow {
  readonly first: number | string;
  readonly second: string;
  readonly lat: number | null;
  readonly lng: number | null;
  readonly seen_lat: number | null;
  readonly seen_lng: number | null;
  readonly setter_id: string | null;
  readonly is_shared: number | null;
}

/** @returns undefined when the setting has changed since the previous step, so that the work starts again */
async function reshiftSome(
  applicationId: string,
  userId: string,
  after: Progress | undefined,
  { database, fuzzing }: { database: Database; fuzzing: Fuzzing },
  queries: Queries,
): Promise<Progress | "done" | undefined> {
  const at = after?.table ?? 0;
  const located = locatedTables[at];
  if (located === undefined) throw new Error("The previous step was the last one");
  const { table, user, order, isShared } = located;
  const [first, second] = [sql.ref(order[0]), sql.ref(order[1])];
  const isOfUser = sql`application_id = ${applicationId} and ${sql.ref(user)} = ${userId}`;
  const isBeyond =
    after?.key === undefined ? sql`` : sql`and (${first}, ${second}) > (${after.key[0]}, ${after.key[1]})`;
  // A concurrent writer locks its object before any row for which this step waits, so there is no deadlock.
  const lock = database.dialect.hasRowLocks ? sql`for update` : sql``;
  const { rows } = await sql<FoundRow>`
    select ${first} as first, ${second} as second, lat, lng, seen_lat, seen_lng, setter_id, ${isShared} as is_shared
    from ${sql.table(table)}
    where ${isOfUser} ${isBeyond} order by ${first}, ${second} limit ${rowsPerStep} ${lock}`.execute(queries);

  const isEnd = rows.length === 0 && at === locatedTables.length - 1;
  // The last step writes the user: two steps that had both locked it for reading would deadlock.
  if (isEnd) await lockRow(database.dialect, "users", applicationId, userId, queries);
  const { isFuzzed, generation } = await fuzzing.findSetting(applicationId, userId, queries);
  if (after !== undefined && after.isFuzzed !== isFuzzed) return undefined;
  for (const { lat, lng, seen_lat, seen_lng, setter_id, is_shared, ...row } of rows) {
    if (lat === null || lng === null || (seen_lat !== null) === isFuzzed) continue;
    const placing = { applicationId, userId, setterId: setter_id ?? userId, location: { lat, lng } };
    if (seen_lat !== null && seen_lng !== null && is_shared === 1) {
      await fuzzing.noteShown(placing, { lat: seen_lat, lng: seen_lng }, queries);
    }
    const secret: ShiftSecret = is_shared === 1 ? "shown" : `kept ${generation}`;
    const shifted = await fuzzing.locateAs(isFuzzed ? secret : undefined, placing, queries);
    const { seen_lat: seenLat, seen_lng: seenLng, seen_cell } = shifted;
    await sql`
      update ${sql.table(table)} set seen_lat = ${seenLat}, seen_lng = ${seenLng}, seen_cell = ${seen_cell}
      where ${isOfUser} and ${first} = ${row.first} and ${second} = ${row.second}`.execute(queries);
  }
  const last = rows.at(-1);
  if (last !== undefined) return { table: at, key: [last.first, last.second], isFuzzed };
  if (!isEnd) return { table: at + 1, isFuzzed };
  await updateReshifted(applicationId, userId, isFuzzed, queries);
  return "done";
}

/** Does nothing when the setting has changed again: then another run is responsible. */
async function updateReshifted(
  applicationId: string,
  userId: string,
  isFuzzed: boolean,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("users")
    .set({ is_reshifting: 0 })
    .where("application_id", "=", applicationId)
    .where("id", "=", userId)
    .where("location_fuzzing", "=", isFuzzed ? 1 : 0)
    .execute();
}
