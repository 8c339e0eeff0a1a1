import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../config.ts";
import type { Database, Transaction } from "../db/database.ts";
import { migrate } from "../db/migrate.ts";
import { migrations } from "../db/migrations/list.ts";
import { isOccupied } from "../db/occupied.ts";
import { openDatabase } from "../db/open.ts";
import { beginRestoring, endRestoring, isEmptyDatabase, requireRestoring } from "../db/restoring.ts";
import type { StoredRow } from "../db/snapshot.ts";
import { PlainFailure } from "../failure.ts";
import type { Clock } from "../lib/clock.ts";
import { loadSecrets, replaceSecretFile } from "../server-secret.ts";
import { openByteStore } from "../storage/open.ts";
import { sealSigningSecret } from "../tenancy/policies.ts";
import { ArchiveError, type ArchiveHead, type MissingObject } from "./format.ts";
import { type LoadedArchive, loadArchive } from "./load.ts";
import { removeDeleted } from "./missing-objects.ts";
import { requireSecrets } from "./restore.secrets.ts";
import { RowLoader } from "./row-loader.ts";
import { createSpool } from "./spool.ts";

/** A statement may drop a large table. */
const timeoutMs = 3_600_000;

export interface RestoreOptions {
  /** Replaces what there is. */
  readonly isForced: boolean;
  /** Goes on under another secret: tokens and whatever else is sealed do not open any more. */
  readonly isOtherSecret: boolean;
  readonly clock: Clock;
  readonly onProgress?: (done: { readonly rows: number; readonly files: number }) => void;
  /** Runs in the transaction that makes the database one that can be served. */
  readonly finish?: (head: ArchiveHead, transaction: Transaction) => Promise<void>;
}

/**
 * Makes the deployment that the settings name out of an archive, on either engine. The whole archive is checked before
 * anything is written. Until it has come to its end the database is marked, and is not served.
 *
 * @param read opens the archive from its beginning; called twice
 * @throws PlainFailure when it is refused; nothing has been written then
 */
export async function restore(
  read: () => AsyncIterable<Uint8Array>,
  config: Config,
  { isForced, isOtherSecret, clock, onProgress = () => {}, finish }: RestoreOptions,
): Promise<LoadedArchive> {
  if (config.databasePooled) {
    throw new PlainFailure(
      "restore has to see who uses the database: give it PostgreSQL's own address, not a pooler's.",
    );
  }
  let archivedSecret: string | undefined;
  let signingSecret: string | undefined;
  const checked = await loadArchive(read(), {
    head: async (head) => requireKnownSchema(head),
    async secret(content) {
      archivedSecret = content;
    },
    async signingSecret(content) {
      signingSecret = content;
    },
  });
  const { head } = checked;
  const secretToWrite = requireSecrets(head, archivedSecret, { config, isOtherSecret, isForced });
  if (await isOccupied(config.databaseUrl)) {
    throw new PlainFailure("The database is in use: stop what runs on it first.");
  }
  const files = head.isWithoutFiles ? [] : await listStoredFiles(config); // what is there is what it goes with
  const database = await openDatabase(config.databaseUrl, { connectionsMax: 2, timeoutMs });
  try {
    if (!isForced) await requireEmpty(database, files, config);
    const mark = await beginRestoring(head.migrations, database);
    for (const path of files) await rm(path, { recursive: true });
    if (secretToWrite !== undefined) replaceSecretFile(config.dataDir, secretToWrite);

    const bytes = await openByteStore(config);
    const deleted = await createSpool<MissingObject>();
    const loader = new RowLoader();
    const done = { rows: 0, files: 0 };
    try {
      const loaded = await loadArchive(read(), {
        async rows(table, stored) {
          const rows =
            signingSecret === undefined ? stored : stored.map(withSigningSecret(table, signingSecret, config));
          await database.write(async ({ queries }) => {
            await requireRestoring(mark, queries);
            await loader.insert(table, rows, queries);
          });
          done.rows += rows.length;
          onProgress(done);
        },
        async file(key, content) {
          await bytes.write(key, content);
          done.files += 1;
          onProgress(done);
        },
        async missing(object) {
          if (object.why === "deleted") await deleted.add(object);
        },
      });
      await migrate(database, undefined, { isRestoring: true });
      for await (const object of deleted.items()) await removeDeleted(object, { database, bytes, clock });
      await database.write(async (transaction) => {
        await finish?.(head, transaction);
        await endRestoring(mark, transaction.queries);
      });
      return loaded;
    } finally {
      await deleted.close();
    }
  } finally {
    await database.close();
  }
}

/** @throws ArchiveError when it was made by a release that knows more than this one */
function requireKnownSchema({ migrations: theirs }: ArchiveHead): void {
  const applied = migrations.slice(0, theirs.length).map(({ name }) => name);
  const isOurs = theirs.length > 0 && theirs.every((name) => applied.includes(name));
  if (!isOurs)
    throw new ArchiveError("The archive was made by a newer release than this one: restore it with that one");
}

/** An application of an export brings its shared secret in clear. */
function withSigningSecret(table: string, secret: string, config: Config): (row: StoredRow) => StoredRow {
  if (table !== "applications") return (row) => row;
  const secrets = loadSecrets(config);
  return (row) => ({ ...row, signing_secret: sealSigningSecret(String(row["application_id"]), secret, secrets) });
}

/** What lies in the folder of files; of a bucket nothing: objects of the same key are replaced there. */
async function listStoredFiles({ filesUrl }: Config): Promise<string[]> {
  if (!filesUrl.startsWith("file:")) return [];
  const folder = fileURLToPath(filesUrl);
  if (!existsSync(folder)) return [];
  const names = await readdir(folder);
  return names.filter((name) => name !== ".incoming").map((name) => join(folder, name));
}

/** @throws PlainFailure */
async function requireEmpty(database: Database, files: readonly string[], config: Config): Promise<void> {
  const there: string[] = [];
  if (!(await isEmptyDatabase(database))) there.push("the database has data in it");
  if (files.length > 0) there.push(`${fileURLToPath(config.filesUrl)} has files in it`);
  if (there.length === 0) return;
  throw new PlainFailure(`There is something already: ${there.join(", ")}. With --force it is deleted.`);
}
