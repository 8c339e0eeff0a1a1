import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import type { Fuzzing } from "./fuzzing.ts";

const rowsPerStep = 250;

/**
 * Brings the shifted points of what a user owns in line with the user's locationFuzzing after it has changed: makes them
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

/** How far the steps have come, in order of creation, and the setting that they went by. */
interface Reached {
  readonly created_at: number;
  readonly id: string;
  readonly isFuzzed: boolean;
}

/** @returns undefined when the setting has changed since the step before, so that it all begins again */
async function reshiftSome(
  applicationId: string,
  userId: string,
  after: Reached | undefined,
  { database, fuzzing }: { database: Database; fuzzing: Fuzzing },
  queries: Queries,
): Promise<Reached | "done" | undefined> {
  let some = queries
    .selectFrom("checkins")
    .select(["created_at", "id", "lat", "lng", "seen_lat", "setter_id"])
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .orderBy("created_at")
    .orderBy("id")
    .limit(rowsPerStep);
  if (after !== undefined) some = some.where(sql<boolean>`(created_at, id) > (${after.created_at}, ${after.id})`);
  // Who moves one of them meanwhile waits, and has locked it before anything else as well.
  if (database.dialect.hasRowLocks) some = some.forUpdate();
  const rows = await some.execute();
  // At the end the user is written: two that had both locked it as readers would wait for each other.
  if (rows.length === 0) await lockRow(database.dialect, "users", applicationId, userId, queries);
  const isFuzzed = await fuzzing.isFuzzed(applicationId, userId, queries);
  if (after !== undefined && after.isFuzzed !== isFuzzed) return undefined;
  for (const { id, lat, lng, seen_lat, setter_id } of rows) {
    if ((seen_lat !== null) === isFuzzed) continue;
    const placing = { applicationId, userId, setterId: setter_id ?? userId, location: { lat, lng } };
    await queries
      .updateTable("checkins")
      .set(await fuzzing.locateAs(isFuzzed, placing, queries))
      .where("application_id", "=", applicationId)
      .where("id", "=", id)
      .execute();
  }
  const last = rows.at(-1);
  if (last !== undefined) return { created_at: last.created_at, id: last.id, isFuzzed };
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
