import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../config/config.ts";
import { PlainFailure } from "../config/failure.ts";
import { loadSecrets, replaceSecretFile } from "../config/server-secret.ts";
import type { Database, Transaction } from "../db/database.ts";
import { migrate } from "../db/migrate.ts";
import { openDatabase } from "../db/open.ts";
import type { StoredRow } from "../db/snapshot.ts";
import { createLogRenaming, finishRestoredLogs } from "../event-log/restored-logs.ts";
import type { Clock } from "../lib/clock.ts";
import { type ByteStore, isKey } from "../storage/byte-store.ts";
import { openByteStore } from "../storage/open.ts";
import { sealSigningSecret } from "../tenancy/policies.ts";
import { type BufferFile, createBufferFile } from "./buffer-file.ts";
import { FileLoader } from "./file-loader.ts";
import { ArchiveError, type ArchiveHead, type MissingObject } from "./format.ts";
import { type LoadedArchive, loadArchive } from "./load.ts";
import { removeDeleted } from "./missing-objects.ts";
import { isOccupied } from "./occupied.ts";
import { requireSecrets } from "./restore.secrets.ts";
import { createTokenRevocation } from "./restore.tokens.ts";
import { beginRestoring, endRestoring, isEmptyDatabase, requireRestoring } from "./restoring.ts";
import { RowLoader } from "./row-loader.ts";
import { schemaOf } from "./schema.ts";
import { sealSettingsRow } from "./settings-row.ts";

/** A statement may drop a large table. */
const timeoutMs = 3_600_000;

export interface RestoreOptions {
  /** Replaces existing data. */
  readonly isForced: boolean;
  /** Accepts another secret: tokens and other sealed data become unreadable. */
  readonly isOtherSecret: boolean;
  /**
   * Keeps tokens, operator sessions and reset codes as they were in the backup; those revoked since are valid again.
   */
  readonly isKeepingTokens?: boolean;
  readonly clock: Clock;
  /** Runs in the transaction that ends the restore, after which the database can be served. */
  readonly finish?: (head: ArchiveHead, transaction: Transaction) => Promise<void>;
}

/**
 * Restores an archive into the deployment that the settings describe, on either engine. The whole archive is verified
 * before anything is written. Until the restore is complete, the database is marked and cannot be served.
 *
 * @param read opens the archive from its beginning; called twice
 * @throws PlainFailure if the restore is refused, before anything is written
 */
export async function restore(
  read: () => AsyncIterable<Uint8Array>,
  config: Config,
  { isForced, isOtherSecret, isKeepingTokens = false, clock, finish }: RestoreOptions,
): Promise<LoadedArchive> {
  if (config.databasePooled) {
    throw new PlainFailure(
      "DATABASE_URL: restore cannot detect other users of the database through a pooler. Use PostgreSQL's own address.",
    );
  }
  let archivedSecret: string | undefined;
  let signingSecret: string | undefined;
  let smtpUrl: string | undefined;
  const checked = await loadArchive(read(), {
    async secret(content) {
      archivedSecret = content;
    },
    async signingSecret(content) {
      signingSecret = content;
    },
    async smtpUrl(content) {
      smtpUrl = content;
    },
  });
  const { head } = checked;
  const secretToWrite = requireSecrets(head, archivedSecret, { config, isOtherSecret, isForced });
  if (await isOccupied(config.databaseUrl)) {
    throw new PlainFailure("The database is in use. Stop the processes that use it first.");
  }
  // An archive without files needs the stored ones.
  const files = head.isWithoutFiles ? [] : await listStoredFiles(config);
  const database = await openDatabase(config.databaseUrl, { connectionsMax: 2, timeoutMs });
  try {
    if (!isForced) await requireEmpty(database, files, config);
    const mark = await beginRestoring(head.migrations, database);
    for (const path of files) await rm(path, { recursive: true });
    if (secretToWrite !== undefined) replaceSecretFile(config.dataDir, secretToWrite);

    const bytes = await openByteStore(config);
    const [deleted, written] = [
      await createBufferFile<MissingObject>(config.dataDir),
      await createBufferFile<string>(config.dataDir),
    ];
    const schema = schemaOf(head.migrations);
    const loader = new RowLoader(schema);
    const revoke = isKeepingTokens ? (_table: string, row: StoredRow) => row : createTokenRevocation();
    const rename = createLogRenaming();
    const seal = (row: StoredRow) => sealSecrets(row, { signingSecret, smtpUrl }, config);
    const fileLoader = new FileLoader({ database, bytes }, { hasUploads: schema.has("upload_segments") });
    try {
      const loaded = await loadArchive(read(), {
        async rows(part) {
          const { table, rows } = part;
          const kept = rows
            .map((row) => revoke(table, row))
            .filter((row) => row !== undefined)
            .map((row) => rename(table, row));
          const sealed = table === "applications" ? kept.map(seal) : kept;
          await database.write(async ({ queries }) => {
            await requireRestoring(mark, queries);
            await loader.insert({ ...part, rows: sealed }, queries);
          });
        },
        async file(file) {
          await written.add(file.key);
          await fileLoader.write(file);
        },
        async missing(object) {
          fileLoader.note(object);
          if (object.why === "deleted") await deleted.add(object);
        },
      });
      fileLoader.finish();
      await migrate(database, undefined, { isRestoring: true });
      for await (const object of deleted.items()) await removeDeleted(object, { database, bytes, clock });
      await database.write(({ queries }) => finishRestoredLogs(database, queries));
      await database.write(async (transaction) => {
        await finish?.(head, transaction);
        await endRestoring(mark, transaction.queries);
      });
      return loaded;
    } catch (error) {
      if (error instanceof ArchiveError) await dropRestored(mark, head, database, { bytes, written });
      throw error;
    } finally {
      await deleted.close();
      await written.close();
    }
  } finally {
    await database.close();
  }
}

/**
 * Drops what was loaded from an invalid archive. The database stays marked: a server that started on an empty one would
 * create a new deployment with its own key and password.
 */
async function dropRestored(
  mark: string,
  { migrations }: ArchiveHead,
  database: Database,
  { bytes, written }: { readonly bytes: ByteStore; readonly written: BufferFile<string> },
): Promise<void> {
  await database.write(({ queries }) => requireRestoring(mark, queries));
  await beginRestoring(migrations, database);
  for await (const key of written.items()) if (isKey(key)) await bytes.deleteAll(key);
}

/** Seals the secrets of an exported application, which its archive contains in plain text. */
function sealSecrets(
  row: StoredRow,
  { signingSecret, smtpUrl }: { readonly signingSecret: string | undefined; readonly smtpUrl: string | undefined },
  config: Config,
): StoredRow {
  const id = String(row["application_id"]);
  return {
    ...(smtpUrl === undefined ? row : sealSettingsRow(row, smtpUrl, loadSecrets(config))),
    ...(signingSecret !== undefined && { signing_secret: sealSigningSecret(id, signingSecret, loadSecrets(config)) }),
  };
}

/** Lists the stored files of a folder; none of a bucket, where objects with the same key are overwritten. */
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
  if (!(await isEmptyDatabase(database))) there.push("the database contains data");
  if (files.length > 0) there.push(`${fileURLToPath(config.filesUrl)} contains files`);
  if (there.length === 0) return;
  throw new PlainFailure(`The target is not empty: ${there.join(", ")}. Use --force to delete its contents.`);
}
