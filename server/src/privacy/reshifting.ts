import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import type { Fuzzing } from "./fuzzing.ts";

const rowsPerStep = 250;

/**
 * Brings the shifted points of what a user owns, or has located, in line with the user's locationFuzzing after it has changed: makes them
 * or drops them, a bounded number of rows in each transaction. Until a row has its shifted point others do not see it; until
 * it is dropped they see the shifted one. Can be stopped at any moment and begun again.
 *
 * @returns false when it stopped after `stepsMax` transactions with more to do
 */
export async function reshiftUser(
  applicationId: string,
  userId: string,
  { database, fuzzing }: { database: Database; fuzzing: Fuzzing },
  { stepsMax = Number.POSITIVE_INFINITY, signal }: { stepsMax?: number; signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  let after: Reached | undefined;
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

/** Where a user has located something: in whose rows, and by what they are gone through, one after the other. */
const places = [
  { table: "checkins", user: "user_id", order: ["created_at", "id"] },
  { table: "files", user: "user_id", order: ["user_id", "id"] },
  { table: "metadata", user: "setter_id", order: ["object_id", "key"] },
] as const;

/** How far the steps have come, and the setting that they went by. */
interface Reached {
  readonly place: number;
  /** Absent at the beginning of a place. */
  readonly key?: readonly [number | string, string];
  readonly isFuzzed: boolean;
}

interface FoundRow {
  readonly first: number | string;
  readonly second: string;
  readonly lat: number | null;
  readonly lng: number | null;
  readonly seen_lat: number | null;
  readonly setter_id: string | null;
}

/** @returns undefined when the setting has changed since the step before, so that it all begins again */
async function reshiftSome(
  applicationId: string,
  userId: string,
  after: Reached | undefined,
  { database, fuzzing }: { database: Database; fuzzing: Fuzzing },
  queries: Queries,
): Promise<Reached | "done" | undefined> {
  const at = after?.place ?? 0;
  const { table, user, order } = places[at] ?? places[0];
  const [first, second] = [sql.ref(order[0]), sql.ref(order[1])];
  const isOfUser = sql`application_id = ${applicationId} and ${sql.ref(user)} = ${userId}`;
  const isBeyond =
    after?.key === undefined ? sql`` : sql`and (${first}, ${second}) > (${after.key[0]}, ${after.key[1]})`;
  // Who moves one of them meanwhile waits, and has locked it before anything that a step waits for.
  const lock = database.dialect.hasRowLocks ? sql`for update` : sql``;
  const { rows } = await sql<FoundRow>`
    select ${first} as first, ${second} as second, lat, lng, seen_lat, setter_id from ${sql.table(table)}
    where ${isOfUser} ${isBeyond} order by ${first}, ${second} limit ${rowsPerStep} ${lock}`.execute(queries);

  const isEnd = rows.length === 0 && at === places.length - 1;
  // At the end the user is written: two that had both locked it as readers would wait for each other.
  if (isEnd) await lockRow(database.dialect, "users", applicationId, userId, queries);
  const isFuzzed = await fuzzing.isFuzzed(applicationId, userId, queries);
  if (after !== undefined && after.isFuzzed !== isFuzzed) return undefined;
  for (const { lat, lng, seen_lat, setter_id, ...row } of rows) {
    if (lat === null || lng === null || (seen_lat !== null) === isFuzzed) continue;
    const placing = { applicationId, userId, setterId: setter_id ?? userId, location: { lat, lng } };
    const { seen_lat: seenLat, seen_lng: seenLng, seen_cell } = await fuzzing.locateAs(isFuzzed, placing, queries);
    await sql`
      update ${sql.table(table)} set seen_lat = ${seenLat}, seen_lng = ${seenLng}, seen_cell = ${seen_cell}
      where ${isOfUser} and ${first} = ${row.first} and ${second} = ${row.second}`.execute(queries);
  }
  const last = rows.at(-1);
  if (last !== undefined) return { place: at, key: [last.first, last.second], isFuzzed };
  if (!isEnd) return { place: at + 1, isFuzzed };
  await updateReshifted(applicationId, userId, isFuzzed, queries);
  return "done";
}

/** Unless the setting has changed again meanwhile: then somebody else is at it. */
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
