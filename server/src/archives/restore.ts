import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import type { Config } from "../config/config.ts";
import { PlainFailure } from "../config/failure.ts";
import { loadSecrets, readSecretFile, replaceSecretFile, secretFile, secretLines } from "../config/server-secret.ts";
import type { Database, Transaction } from "../db/database.ts";
import { isSqliteBusy } from "../db/dialect.ts";
import { migrate } from "../db/migrate.ts";
import { openDatabase } from "../db/open.ts";
import { addressOf } from "../db/postgres/connection-settings.ts";
import type { StoredRow } from "../db/snapshot.ts";
import { createLogRenaming, finishRestoredLogs } from "../event-log/restored-logs.ts";
import type { Clock } from "../lib/clock.ts";
import { fingerprintOf } from "../lib/secret-ring.ts";
import { type ByteStore, isKey } from "../storage/byte-store.ts";
import { openByteStore } from "../storage/open.ts";
import { sealSigningSecret } from "../tenancy/policies.ts";
import { type BufferFile, createBufferFile } from "./buffer-file.ts";
import { FileLoader } from "./file-loader.ts";
import { ArchiveError, type ArchiveHead, type MissingObject } from "./format.ts";
import { type LoadedArchive, loadArchive } from "./load.ts";
import { removeDeleted } from "./missing-objects.ts";
import { beginRestoring, endRestoring, isEmptyDatabase, requireRestoring } from "./restoring.ts";
import { RowLoader } from "./row-loader.ts";
import { schemaOf } from "./schema.ts";
import { sealSettingsRow } from "./settings-row.ts";

/**
 * Tables of credentials. Restoring them would make credentials valid again that were revoked or used after the backup.
 */
const credentialTables: ReadonlySet<string> = new Set([
  ...["user_tokens", "operator_sessions", "password_resets", "email_codes"],
]);

/**
 * Creates a change of restored rows that invalidates all earlier credentials, because a backup lacks later revocations.
 *
 * The token version of each application, the root of the kill tree, grows by a random number that is larger than any number
 * of revocations. A small step could reach a version whose tokens were issued and revoked after the backup; it is random,
 * so that two restores of a backup have different versions.
 *
 * @returns the change of a row; undefined omits the row
 */
function createTokenRevocation(): (table: string, row: StoredRow) => StoredRow | undefined {
  const versionsMoved = 2 ** 31 + randomInt(2 ** 31);
  return (table, row) => {
    if (credentialTables.has(table)) return undefined;
    if (table === "mail_outbox" && String(row["kind"]).endsWith("Code")) return undefined; // its code is invalid
    if (table !== "applications") return row;
    return { ...row, token_version: Number(row["token_version"]) + versionsMoved };
  };
}

/** The statement timeout, because a statement may drop a large table. */
const timeoutMs = 3_600_000;

export interface RestoreOptions {
  /** Deletes existing data. */
  readonly isForced: boolean;
  /** Accepts another secret, under which tokens and other sealed data are unreadable. */
  readonly isOtherSecret: boolean;
  /**
   * Restores tokens, operator sessions and reset codes, including those that were revoked after the backup.
   */
  readonly isKeepingTokens?: boolean;
  readonly clock: Clock;
  /** Called in the last transaction of the restore, after which the database can be served. */
  readonly finish?: (head: ArchiveHead, transaction: Transaction) => Promise<void>;
}

/**
 * Restores an archive into the deployment of `config`, on either engine, after verifying the complete archive. Until the
 * restore is complete, the database is marked and cannot be served.
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
          const restored = rows
            .map((row) => revoke(table, row))
            .filter((row) => row !== undefined)
            .map((row) => rename(table, row));
          const sealed = table === "applications" ? restored.map(seal) : restored;
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
 * Deletes everything that was loaded from an invalid archive. The database stays marked, because a server that starts on
 * an empty database creates a new deployment with its own key and password.
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

/** Lists the files of a store in a folder. A bucket is not listed; its objects with the same key are overwritten. */
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

/** True if another process has the database open, such as a running server. */
async function isOccupied(url: string): Promise<boolean> {
  return url.startsWith("file:") ? isOccupiedFile(fileURLToPath(url)) : isOccupiedServer(url);
}

/** Tries to acquire an exclusive lock on the file, which any open connection prevents. */
function isOccupiedFile(file: string): boolean {
  if (!existsSync(file)) return false;
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("pragma locking_mode = exclusive; begin exclusive; commit");
    return false;
  } catch (error) {
    if (isSqliteBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

async function isOccupiedServer(url: string): Promise<boolean> {
  const address = addressOf(url);
  const client = postgres(address.url, {
    ...address.options,
    max: 1,
    connection: { application_name: "rollcall archive" },
    onnotice: () => {},
  });
  try {
    const [row] = await client`
      select count(*)::int as connections from pg_stat_activity
      where datname = current_database() and application_name = 'rollcall'`;
    return row?.["connections"] > 0;
  } finally {
    await client.end({ timeout: 5 });
  }
}

/**
 * Requires that the restored deployment can unseal the archived data.
 *
 * @param archived the file `secret` of the archive, if its secrets were stored in DATA_DIR
 * @returns the new content of the file `secret` in DATA_DIR, if any
 * @throws PlainFailure if the secrets differ
 */
function requireSecrets(
  { kind, secrets: wanted }: ArchiveHead,
  archived: string | undefined,
  options: {
    readonly config: Pick<Config, "secrets" | "dataDir">;
    readonly isForced: boolean;
    readonly isOtherSecret: boolean;
  },
): string | undefined {
  const { config, isForced, isOtherSecret } = options;
  if (kind === "application" || isOtherSecret) return undefined; // an exported application contains nothing that is sealed
  const file = secretFile(config.dataDir);
  const there = config.secrets ?? (existsSync(file) ? readSecretFile(file) : undefined);
  const isSame = there?.some((secret) => fingerprintOf(secret) === wanted[0]) === true;
  if (isSame) return undefined;
  const givenUp =
    "With --other-secret it is restored anyway: then all tokens become invalid, users and operators have to sign in again";
  if (archived === undefined) {
    throw new PlainFailure(
      `The secret of this backup came from its environment: set ROLLCALL_SECRET to the same value.\n${givenUp}, and shared secrets of signed requests and \`mail.smtpUrl\` have to be set again.`,
    );
  }
  if (config.secrets !== undefined) {
    throw new PlainFailure(
      `ROLLCALL_SECRET is not the secret of this backup, which \`tar -xOf FILE secret\` prints.\n${givenUp}, and shared secrets of signed requests and \`mail.smtpUrl\` have to be set again.`,
    );
  }
  if (there !== undefined && !isForced) {
    throw new PlainFailure(`${file} contains another secret. Use --force to replace it.`);
  }
  if (secretLines(archived).length === 0) throw new PlainFailure("The backup contains no secret");
  return archived;
}
