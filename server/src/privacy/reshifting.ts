import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
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
    after = await database.write(({ queries }) => reshiftSome(applicationId, userId, after, fuzzing, queries));
    if (after === undefined) return true;
  }
}

/** How far the steps have come, in order of creation. */
interface Reached {
  readonly created_at: number;
  readonly id: string;
}

/** @returns undefined when nothing is left */
async function reshiftSome(
  applicationId: string,
  userId: string,
  after: Reached | undefined,
  fuzzing: Fuzzing,
  queries: Queries,
): Promise<Reached | undefined> {
  const isFuzzed = await fuzzing.isFuzzed(applicationId, userId, queries);
  let some = queries
    .selectFrom("checkins")
    .select(["created_at", "id", "lat", "lng", "seen_cell"])
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .orderBy("created_at")
    .orderBy("id")
    .limit(rowsPerStep);
  if (after !== undefined) some = some.where(sql<boolean>`(created_at, id) > (${after.created_at}, ${after.id})`);
  const rows = await some.execute();
  for (const { id, lat, lng, seen_cell } of rows) {
    if ((seen_cell !== null) === isFuzzed) continue;
    const placing = { applicationId, userId, setterId: userId, location: { lat, lng } };
    await queries
      .updateTable("checkins")
      .set(await fuzzing.locateAs(isFuzzed, placing, queries))
      .where("application_id", "=", applicationId)
      .where("id", "=", id)
      .execute();
  }
  if (rows.length === 0) await updateReshifted(applicationId, userId, isFuzzed, queries);
  return rows.at(-1);
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
