import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import {
  type Condition,
  condition,
  lowerBeginsWith,
  lowerOrder,
  lowerText,
  type Order,
} from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import { tablesInErasureOrder } from "../db/table-catalogue.ts";
import { leaseMsMax } from "../jobs/leases.ts";
import { deleteSomeRows } from "../jobs/owned-rows.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { newApplicationKey } from "../lib/secrets.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { newRevision } from "../tenancy/revision.ts";
import { insertKey } from "./applications.keys.store.ts";
import { nameCharactersMax } from "./applications.names.ts";

/** The credentials that a client registers its devices with. The key is shown only once; its digest is stored. */
export interface NewApplication {
  readonly appid: string;
  readonly appkey: string;
}

/** Generates the credentials of an application. */
export function newApplication(ids: IdGenerator): NewApplication {
  return { appid: ids.newId("App"), appkey: newApplicationKey() };
}

/**
 * Creates an application with its first key, in the caller's transaction.
 *
 * @param credentials credentials that were generated elsewhere
 */
export async function insertApplication(
  name: string,
  { clock, ids }: { readonly clock: Clock; readonly ids: IdGenerator },
  queries: Queries,
  credentials: NewApplication = newApplication(ids),
): Promise<NewApplication & { readonly keyId: string }> {
  const { appid, appkey } = credentials;
  await queries
    .insertInto("applications")
    .values({ application_id: appid, name, token_version: 0, created_at: clock.now(), deleted_at: null })
    .execute();
  const { id: keyId } = await insertKey(appid, null, { clock, ids }, queries, appkey);
  return { ...credentials, keyId };
}

export interface ListedApplication {
  readonly appid: string;
  readonly name: string;
  readonly createdAt: number;
  readonly isSuspended: boolean;
  readonly isBeingDeleted: boolean;
  /** Set during an import: the application must not be erased before this time. */
  readonly importingUntil: number | null;
  /** The region that the application is moving to. */
  readonly movingTo: string | null;
}

/** All applications, oldest first. */
export async function listApplications(queries: Queries): Promise<ListedApplication[]> {
  const rows = await queries.selectFrom("applications").selectAll().orderBy("application_id").execute();
  return rows.map((row) => ({
    appid: row.application_id,
    name: row.name,
    createdAt: row.created_at,
    isSuspended: row.suspended_at !== null,
    isBeingDeleted: row.deleted_at !== null,
    importingUntil: row.importing_until,
    movingTo: row.moving_to,
  }));
}

/** An application that is not being deleted, or one that is being imported. */
export interface LiveApplication {
  readonly application_id: string;
  readonly name: string;
  readonly created_at: number;
  readonly suspended_at: number | null;
  readonly moving_to: string | null;
  /** Null unless it is being imported, and therefore hidden. */
  readonly deleted_at: number | null;
  /** JSON. */
  readonly settings: string;
}

const liveColumns = [
  ...(["application_id", "name", "created_at", "suspended_at"] as const),
  ...(["moving_to", "deleted_at", "settings"] as const),
] as const;

export function findLiveApplication(applicationId: string, queries: Queries): Promise<LiveApplication | undefined> {
  return queries
    .selectFrom("applications")
    .select(liveColumns)
    .where("application_id", "=", applicationId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
}

/** Finds an application that is live, or hidden because it is being imported. */
export function findShownApplication(
  applicationId: string,
  now: number,
  queries: Queries,
): Promise<LiveApplication | undefined> {
  return queries
    .selectFrom("applications")
    .select(liveColumns)
    .where("application_id", "=", applicationId)
    .where((is) => is.or([is("deleted_at", "is", null), is("importing_until", ">", now)]))
    .executeTakeFirst();
}

/** Renames, suspends (`suspended_at`) or resumes (null) an application. @returns undefined if it does not exist */
export function updateApplication(
  applicationId: string,
  changed: { readonly name: string } | { readonly suspended_at: number | null },
  queries: Queries,
): Promise<LiveApplication | undefined> {
  return queries
    .updateTable("applications")
    .set({ ...changed, revision: newRevision() })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "is", null)
    .returning(liveColumns)
    .executeTakeFirst();
}

/** Filters and order of a listing of applications. */
export interface ListedBy {
  readonly namePrefix?: string | undefined;
  readonly state?: "active" | "suspended" | "moving" | "importing" | undefined;
  readonly sortOrder?: "created" | "-created" | "name" | "-name" | "busiest" | undefined;
  /** This region: an application that moves to it has arrived, and is not served yet. */
  readonly own: string;
  readonly now: number;
}

/** A page of live applications or, by their state, of those that are being imported. */
export function listShownApplications(
  { namePrefix, state, sortOrder = "created", own, now }: ListedBy,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<LiveApplication>> {
  const scope = {
    shape: "live applications",
    from: sql`applications`,
    select: sql.join(liveColumns.map((column) => sql.ref(column))),
    conditions: [
      ...(state === "importing" ? [] : [condition("is live", {}, () => sql`deleted_at is null`)]),
      ...(namePrefix === undefined ? [] : lowerBeginsWith("name", namePrefix, nameCharactersMax)),
      ...(state === undefined ? [] : [inState(state, own, now)]),
    ],
  };
  const order = sortOrder.endsWith("name") ? byName : byCreation;
  return readPage(scopeStream(scope, order, sortOrder.startsWith("-"), queries), position, size);
}

/** The live ones of these applications that the filters find, in this order, on one page. */
export async function listApplicationsById(
  ids: readonly string[],
  { namePrefix = "", state, own }: ListedBy,
  size: number,
  queries: Queries,
): Promise<Page<LiveApplication>> {
  const found = await queries
    .selectFrom("applications")
    .select(liveColumns)
    .where("application_id", "in", [...ids, ""]) // an empty list is no SQL
    .where("deleted_at", "is", null)
    .execute();
  const rows = ids
    .flatMap((id) => found.filter(({ application_id }) => application_id === id))
    .filter((row) => state === undefined || isInState(row, state, own))
    .filter(({ name }) => lowerText(name).startsWith(lowerText(namePrefix)))
    .slice(0, size);
  return { rows, hasNext: false, hasPrevious: false, keyOf: ({ application_id }) => [application_id] };
}

/** True for an application that has arrived here from another region, or is still on its way. */
export function isBeingImported({ moving_to, deleted_at }: LiveApplication, own: string): boolean {
  return deleted_at !== null || moving_to === own;
}

function isInState(row: LiveApplication, state: NonNullable<ListedBy["state"]>, own: string): boolean {
  if (state === "suspended") return row.suspended_at !== null;
  if (state === "active") return row.suspended_at === null && row.moving_to === null;
  return row.moving_to !== null && (state === "importing") === isBeingImported(row, own);
}

function inState(state: NonNullable<ListedBy["state"]>, own: string, now: number): Condition {
  switch (state) {
    case "active":
      return condition(state, {}, () => sql`suspended_at is null and moving_to is null`);
    case "suspended":
      return condition(state, {}, () => sql`suspended_at is not null`);
    case "moving":
      return condition(state, { own }, (parameter) => sql`moving_to is not null and moving_to <> ${parameter("own")}`);
    case "importing": // begins with the condition of the index applications_arriving
      return condition(
        state,
        { own, now },
        (parameter) => sql`(importing_until is not null or moving_to is not null)
          and (importing_until > ${parameter("now")} or (deleted_at is null and moving_to = ${parameter("own")}))`,
      );
  }
}

const byName: Order<LiveApplication> = lowerOrder("name", "application_id");

const byCreation: Order<LiveApplication> = {
  shape: "created_at",
  columns: [sql.ref("created_at"), sql.ref("application_id")],
  keyOf: ({ created_at, application_id }) => [created_at, application_id],
};

/**
 * Marks an application as deleted: from now on devices cannot register, and none of its tokens is valid.
 *
 * @returns false if the application does not exist
 */
export async function updateApplicationDeleted(applicationId: string, at: number, queries: Queries): Promise<boolean> {
  const updated = await queries
    .updateTable("applications")
    .set({ deleted_at: at, importing_until: null, revision: newRevision() }) // also ends an import
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  return updated.numUpdatedRows === 1n;
}

/** Ends an import whose lease has lapsed, so that its data can be erased. @returns false if it is still running */
export async function endLapsedImport(applicationId: string, now: number, queries: Queries): Promise<boolean> {
  const ended = await queries
    .updateTable("applications")
    .set({ importing_until: null })
    .where("application_id", "=", applicationId)
    // The rule of `isHeld`.
    .where(({ or, eb }) => or([eb("importing_until", "<=", now), eb("importing_until", ">", now + leaseMsMax)]))
    .executeTakeFirst();
  return ended.numUpdatedRows === 1n;
}

const rowsPerStep = 1_000;

/**
 * Erases a deleted application's rows in bounded steps, the bytes of its files, and finally the application itself, with
 * the events of writes that ended meanwhile: no foreign key keeps these on PostgreSQL. Can
 * be interrupted and repeated. Several processes may do this: a late one does not touch an application that was
 * imported under the same id since.
 *
 * @param onStep is called after every step with the number of rows erased so far
 */
export async function deleteApplicationRows(
  applicationId: string,
  { database, bytes }: { readonly database: Database; readonly bytes: Pick<ByteStore, "deleteAll"> },
  { onStep, signal }: { onStep?: (rowsErased: number) => void; signal?: AbortSignal | undefined } = {},
): Promise<void> {
  let erased = 0;
  for (const table of tablesInErasureOrder) {
    let step: number;
    do {
      signal?.throwIfAborted();
      const done = await database.write(async ({ queries }) => {
        if (!(await isToBeErased(applicationId, database.dialect, queries))) return undefined;
        return deleteSomeRows(table, { application_id: applicationId }, rowsPerStep, queries);
      });
      if (done === undefined) return; // another process has finished
      step = done;
      erased += step;
      onStep?.(erased);
    } while (step > 0);
  }
  // The application comes last, so that after a crash its remaining bytes still belong to an application.
  if (!(await database.write(({ queries }) => isToBeErased(applicationId, database.dialect, queries)))) return;
  await bytes.deleteAll(`${applicationId}/`, signal);
  await database.write(async ({ queries }) => {
    // Waits for writes that refer to the application; those that changed rows of it have ended before these were erased.
    if (!(await isToBeErased(applicationId, database.dialect, queries, "for update"))) return;
    await queries.deleteFrom("events").where("application_id", "=", applicationId).execute(); // of the latest of them
    await queries.deleteFrom("applications").where("application_id", "=", applicationId).execute();
  });
}

/** True if it is marked as deleted, and not being imported; locks the row until the transaction ends. */
async function isToBeErased(
  applicationId: string,
  dialect: Dialect,
  queries: Queries,
  lock: "for key share" | "for update" = "for key share",
): Promise<boolean> {
  const { rows } = await sql`
    select 1 from applications
    where application_id = ${applicationId} and deleted_at is not null and importing_until is null
    ${dialect.hasRowLocks ? sql.raw(lock) : sql``}`.execute(queries);
  return rows.length > 0;
}
