import type { Database, Queries } from "../db/database.ts";
import { type Tables, tablesInErasureOrder } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { digestSecret, newApplicationKey } from "../lib/secrets.ts";

/** What a client registers its devices with. The key is told this once; only its digest is stored. */
export interface NewApplication {
  readonly appid: string;
  readonly appkey: string;
}

/** Creates an application with its first key, to be committed with the caller's transaction. */
export async function insertApplication(
  name: string,
  { clock, ids }: { readonly clock: Clock; readonly ids: IdGenerator },
  queries: Queries,
): Promise<NewApplication> {
  const appid = ids.newId("App");
  const appkey = newApplicationKey();
  const created_at = clock.now();
  await queries
    .insertInto("applications")
    .values({ application_id: appid, name, token_version: 0, created_at, deleted_at: null })
    .execute();
  await queries
    .insertInto("application_keys")
    .values({
      application_id: appid,
      id: ids.newId("ApplicationKey"),
      digest: digestSecret(appkey),
      token_version: 0,
      created_at,
    })
    .execute();
  return { appid, appkey };
}

export interface ListedApplication {
  readonly appid: string;
  readonly name: string;
  readonly createdAt: number;
  readonly isBeingDeleted: boolean;
}

/** All applications, oldest first. */
export async function listApplications(queries: Queries): Promise<ListedApplication[]> {
  const rows = await queries.selectFrom("applications").selectAll().orderBy("application_id").execute();
  return rows.map((row) => ({
    appid: row.application_id,
    name: row.name,
    createdAt: row.created_at,
    isBeingDeleted: row.deleted_at !== null,
  }));
}

/**
 * Marks an application as deleted: from now on its key registers nothing and none of its tokens is accepted.
 *
 * @returns false when there is no such application
 */
export async function updateApplicationDeleted(applicationId: string, at: number, queries: Queries): Promise<boolean> {
  const updated = await queries
    .updateTable("applications")
    .set({ deleted_at: at })
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  return updated.numUpdatedRows === 1n;
}

const rowsPerStep = 1_000;

/**
 * Erases a deleted application's rows in bounded steps, the application itself last. Can be stopped at any moment and
 * begun again.
 *
 * @param onStep hears of every step how many rows have been erased so far
 */
export async function deleteApplicationRows(
  applicationId: string,
  database: Database,
  { onStep, signal }: { onStep?: (rowsErased: number) => void; signal?: AbortSignal | undefined } = {},
): Promise<void> {
  let erased = 0;
  for (const table of tablesInErasureOrder) {
    let step: number;
    do {
      signal?.throwIfAborted();
      step = await database.write(({ queries }) => deleteSomeRows(table, applicationId, queries));
      erased += step;
      onStep?.(erased);
    } while (step > 0);
  }
  await database.write(({ queries }) =>
    queries.deleteFrom("applications").where("application_id", "=", applicationId).execute(),
  );
}

const idColumns = {
  checkins: "id",
  identities: "identifier",
  revoked_tokens: "token_id",
  users: "id",
  devices: "id",
  application_keys: "id",
} as const satisfies Record<(typeof tablesInErasureOrder)[number], string>;

async function deleteSomeRows(
  table: (typeof tablesInErasureOrder)[number],
  applicationId: string,
  queries: Queries,
): Promise<number> {
  // Every one of these tables has both columns; Kysely cannot see that through a union of tables.
  const column = queries.dynamic.ref<string>(idColumns[table]);
  const some = queries
    .selectFrom(table as keyof Tables & "checkins")
    .select(column as never)
    .where("application_id", "=", applicationId)
    .limit(rowsPerStep);
  const deleted = await queries
    .deleteFrom(table as keyof Tables & "checkins")
    .where("application_id", "=", applicationId)
    .where(column as never, "in", some as never)
    .executeTakeFirst();
  return Number(deleted.numDeletedRows);
}
