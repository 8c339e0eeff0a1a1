import { setImmediate } from "node:timers/promises";
import { deleteApplicationRows } from "../applications/applications.store.ts";
import type { Database, Transaction } from "../db/database.ts";
import { isUniqueViolation } from "../db/dialect.ts";
import { migrations } from "../db/migrations/list.ts";
import type { StoredRow } from "../db/snapshot.ts";
import { PlainFailure } from "../failure.ts";
import type { Clock } from "../lib/clock.ts";
import { type ByteStore, isKey } from "../storage/byte-store.ts";
import { findTaker } from "../storage/loose-bytes.ts";
import { ApplicationSettingsError, parseApplicationSettings } from "../tenancy/application-settings.ts";
import { sealSigningSecret } from "../tenancy/policies.ts";
import { type ArchiveEnd, ArchiveError, type ArchiveHead, fingerprintOf } from "./format.ts";
import {
  findAnyApplication,
  giveUpImport,
  hiddenColumns,
  type Import,
  renewImport,
  showImported,
  updateUserUnfinished,
} from "./imports.store.ts";
import { loadArchive } from "./load.ts";
import { removeDeleted } from "./missing-objects.ts";
import { piecesOf, RowLoader } from "./row-loader.ts";
import { exportedTables } from "./tables.ts";

export interface ImportServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly clock: Clock;
  /** The name of this one: tokens are good in that which issued them. */
  readonly region: string;
  /** Newest first. */
  readonly secrets: readonly string[];
}

export interface ImportOptions {
  /** In place of the name that it had. */
  readonly name?: string | undefined;
  /** Runs before anything is written. @throws whatever the import is to be refused with */
  readonly admit?: (applicationId: string) => Promise<void>;
  /** Runs in the transaction that shows the application to everybody: what has to happen with that, or not at all. */
  readonly finish?: (applicationId: string, transaction: Transaction) => Promise<void>;
  readonly onProgress?: (done: { readonly rows: number; readonly files: number }) => void;
}

export interface ImportedApplication {
  readonly applicationId: string;
  readonly rows: number;
  readonly end: ArchiveEnd;
  /** False when the other deployment had another secret, or is another region: then users sign in anew. */
  readonly hasTokens: boolean;
}

/** An application of this id is there, or what is left of one. */
export class ApplicationExists extends PlainFailure {
  override name = "ApplicationExists";
}

const renewMs = 30_000;
/** It may come from another region to a server: a part is a few MB, and the largest row of an application is small. */
const applicationPartBytesMax = 67_108_864;
/** Users on whom some work was under way at that moment; hardly ever one. */
const unfinishedUsersMax = 100_000;

/**
 * Makes an application of what `exportApplication` wrote, under the same ids, in one pass and in small transactions, while
 * its neighbours are served. Nobody sees anything of it until the archive has come to its end and was whole. When this
 * fails nothing stays, and when the process dies maintenance erases what there is within some minutes.
 *
 * @throws ArchiveError when it is no such archive, of another schema, or not whole
 * @throws ApplicationExists
 */
export async function importApplication(
  source: AsyncIterable<Uint8Array>,
  services: ImportServices,
  options: ImportOptions = {},
): Promise<ImportedApplication> {
  const { database, bytes, clock, region, secrets } = services;
  const loader = new RowLoader();
  const unfinished = new Map<string, UnfinishedUser>();
  const done = { rows: 0, files: 0 };
  let applicationId = "";
  let hasTokens = false;
  let signingSecret: string | null = null;
  /** Once there is something of it. */
  let begun: Import | undefined;

  const renewing = setInterval(() => {
    // A failure shows with the next rows, or at the end.
    const current = begun;
    if (current === undefined) return;
    database.write(({ queries }) => renewImport(current, clock.now(), queries)).catch(() => {});
  }, renewMs);
  renewing.unref();

  async function insert(current: Import, table: string, rows: readonly StoredRow[]): Promise<void> {
    for (const piece of piecesOf(rows)) {
      await database.write(async ({ queries }) => {
        await renewImport(current, clock.now(), queries);
        await loader.insert(table, piece, queries);
      });
      done.rows += piece.length;
      options.onProgress?.(done);
      await setImmediate();
    }
  }

  async function begin(rows: readonly StoredRow[]): Promise<void> {
    const [application, ...others] = rows;
    if (application === undefined || others.length > 0 || begun !== undefined)
      throw new ArchiveError("It is of no one application");
    requireSettings(application);
    const name = options.name ?? application["name"] ?? "";
    const current = { applicationId, begunAt: clock.now() };
    const row = { ...application, ...hiddenColumns(current.begunAt), name, signing_secret: signingSecret };
    await database
      .write(({ queries }) => loader.insert("applications", [row], queries))
      .catch(async (error) => {
        throw isUniqueViolation(error) ? await existsError(applicationId, database) : error;
      });
    begun = current;
    done.rows += 1;
  }

  try {
    const { end } = await loadArchive(source, {
      partBytesMax: applicationPartBytesMax,
      async head(head) {
        applicationId = requireApplication(head);
        hasTokens = head.region === region && secrets.some((secret) => fingerprintOf(secret) === head.secrets[0]);
        const found = await findAnyApplication(applicationId, database.reads);
        if (found !== undefined) throw await existsError(applicationId, database);
        await requireStoreOfItsOwn(head, bytes);
        await options.admit?.(applicationId);
      },
      async signingSecret(content) {
        signingSecret = sealSigningSecret(applicationId, content, secrets);
      },
      async rows(table, rows) {
        requireOwn(applicationId, table, rows);
        if (table === "applications") return begin(rows);
        if (begun === undefined) throw new ArchiveError("It is of no one application");
        if (table === "user_tokens" && !hasTokens) return;
        await insert(begun, table, table === "users" ? rows.map((row) => postpone(row, unfinished)) : rows);
      },
      async file(key, content) {
        const [ofApplication, id = ""] = key.split("/");
        const isOwn = ofApplication === applicationId && begun !== undefined;
        if (!isOwn || (await findTaker(applicationId, id, database.reads)) === undefined) {
          throw new ArchiveError(`The archive holds ${key}, which belongs to no file of it`);
        }
        await bytes.write(key, content);
        done.files += 1;
        options.onProgress?.(done);
      },
      async missing(object) {
        if (object.applicationId !== applicationId)
          throw new ArchiveError("Something of another application is missing");
        if (object.why === "deleted") await removeDeleted(object, services);
      },
    });
    const whole: Import | undefined = begun;
    if (whole === undefined) throw new ArchiveError("It is of no one application");
    // What has to be finished of users is theirs who serve from now on.
    for (const [id, columns] of unfinished) {
      await database.write(({ queries }) => updateUserUnfinished(applicationId, id, columns, queries));
    }
    await database.write(async (transaction) => {
      await showImported(whole, transaction.queries);
      await options.finish?.(applicationId, transaction);
    });
    return { applicationId, rows: done.rows, end, hasTokens };
  } catch (error) {
    if (begun !== undefined) await undo(begun, services).catch(() => {}); // then maintenance does
    throw error;
  } finally {
    clearInterval(renewing);
  }
}

/** @throws ArchiveError */
function requireApplication({ kind, applicationId, migrations: theirs }: ArchiveHead): string {
  if (kind !== "application" || applicationId === undefined) {
    throw new ArchiveError("This is a backup of a whole deployment: see restore");
  }
  const names = migrations.map(({ name }) => name);
  const isNewer = theirs.some((name) => !names.includes(name));
  if (!isNewer && theirs.length === names.length) return applicationId;
  throw new ArchiveError(
    isNewer
      ? "The archive was made by a newer release than this one: import it with that one"
      : "The archive was made by an older release: restore it into an empty deployment of this release, and export it there",
  );
}

/** Whoever of the two erased it, or gave this up, would erase the files of both. @throws PlainFailure */
async function requireStoreOfItsOwn({ applicationId, storedKey }: ArchiveHead, bytes: ByteStore): Promise<void> {
  if (storedKey === undefined) return;
  if (!storedKey.startsWith(`${applicationId}/`) || !isKey(storedKey))
    throw new ArchiveError(`${storedKey} is no key of it`);
  if ((await bytes.size(storedKey)) === undefined) return;
  throw new PlainFailure(
    `the files of ${applicationId} are in the store already: give this deployment a FILES_URL other than that of the one it comes from`,
  );
}

/** Nothing of another application comes in. @throws ArchiveError */
function requireOwn(applicationId: string, table: string, rows: readonly StoredRow[]): void {
  const isExported = exportedTables.some((name) => name === table);
  if (!isExported || rows.some((row) => row["application_id"] !== applicationId)) {
    throw new ArchiveError(`The archive holds rows of ${table} that are not the application's`);
  }
}

/** What reads them takes them for checked. @throws ArchiveError */
function requireSettings({ settings }: StoredRow): void {
  try {
    parseApplicationSettings(String(settings));
  } catch (cause) {
    if (!(cause instanceof ApplicationSettingsError)) throw cause;
    throw new ArchiveError("The settings of the application are not right", { cause });
  }
}

type UnfinishedUser = Parameters<typeof updateUserUnfinished>[2];

/** A user on whom maintenance would go on with something, without it: its rows are not all there yet. */
function postpone(row: StoredRow, unfinished: Map<string, UnfinishedUser>): StoredRow {
  const { id, deleted_at, is_reshifting } = row;
  if (deleted_at === null && is_reshifting === 0) return row;
  if (unfinished.size >= unfinishedUsersMax) throw new Error("Too many users were just being deleted: export it again");
  unfinished.set(String(id), {
    deleted_at: typeof deleted_at === "number" ? deleted_at : null,
    is_reshifting: Number(is_reshifting),
  });
  return { ...row, deleted_at: null, is_reshifting: 0 };
}

async function existsError(applicationId: string, { reads }: Database): Promise<ApplicationExists> {
  const found = await findAnyApplication(applicationId, reads);
  if (found?.importing_until != null) return new ApplicationExists(`${applicationId} is being imported already`);
  if (found?.deleted_at != null)
    return new ApplicationExists(`${applicationId} is still being erased: try again later`);
  return new ApplicationExists(`there is an application ${applicationId} already`);
}

async function undo(begun: Import, services: ImportServices): Promise<void> {
  const isOurs = await services.database.write(({ queries }) => giveUpImport(begun, queries));
  if (isOurs) await deleteApplicationRows(begun.applicationId, services);
}
