import { existsSync, statSync } from "node:fs";
import { styleText } from "node:util";
import { findLiveApplication } from "./applications/applications.store.ts";
import type { ArchiveProgress } from "./archives/archive.ts";
import { readArchiveFile, writeArchiveFile } from "./archives/archive-file.ts";
import { backUp } from "./archives/backup.ts";
import { archiveApplication } from "./archives/export-application.ts";
import type { ArchiveEnd, ArchiveHead } from "./archives/format.ts";
import { importApplication } from "./archives/import-application.ts";
import { loadArchive } from "./archives/load.ts";
import { Pace } from "./archives/pace.ts";
import { restore } from "./archives/restore.ts";
import { requireName } from "./cli.applications.ts";
import { type Command, createMakers, print, UsageError, withDatabase } from "./cli.command.ts";
import { recordCommand } from "./cli.operators.ts";
import { withCalls } from "./cli.regions.ts";
import { type Config, mainRegion } from "./config.ts";
import { migrations } from "./db/migrations/list.ts";
import { openDatabase } from "./db/open.ts";
import { openSnapshot } from "./db/open-snapshot.ts";
import { PlainFailure } from "./failure.ts";
import { kindOfId } from "./lib/ids.ts";
import { giveProcessorsWay } from "./lib/thread-priority.ts";
import { findApplicationRegion } from "./regions/regions.directory.store.ts";
import { loadSecrets } from "./server-secret.ts";
import { openByteStore } from "./storage/open.ts";

/** The commands that write and read archives. */
export const archiveCommands: Readonly<Record<string, Command>> = {
  backup: async (config, { json = false, "without-files": isWithoutFiles = false }, [given]) => {
    const file = requireFile("backup", given);
    const pace = giveWay();
    await recordBackup(config);
    const bytes = await openByteStore(config);
    const services = { bytes, pace, secrets: loadSecrets(config), ...createMakers() };
    const end = await writeArchiveFile(file, backUp(config, services, { isWithoutFiles, onProgress: showProgress }));
    printWritten(file, end, json);
  },

  "verify-backup": async (_config, { json = false }, [given]) => {
    const file = requireArchive("verify-backup", given);
    const { head, end } = await loadArchive(readArchiveFile(file), {});
    print(json ? JSON.stringify({ head, end }) : describe(head, end));
  },

  restore: async (config, { force = false, "other-secret": isOtherSecret = false, json = false }, [given]) => {
    const file = requireArchive("restore", given);
    // It is read twice, and what there was is gone by the second time.
    if (!statSync(file).isFile()) throw new PlainFailure(`${file} is no file that can be read twice, as restore does.`);
    const { head, end } = await restore(() => readArchiveFile(file), config, {
      isForced: force,
      isOtherSecret,
      clock: createMakers().clock,
      onProgress: showProgress,
      finish: ({ created, applicationId }, { queries }) =>
        recordCommand({ action: "restore", applicationId, details: { created, force } }, queries),
    });
    clearProgress();
    if (head.region !== config.region) {
      warn(`the backup is of the region ${head.region}, and REGION is ${config.region}: its tokens are not good here`);
    }
    print(json ? JSON.stringify({ head, end }) : `restored ${summary(end)}`);
  },

  "apps export": async (config, { json = false }, [appid, given]) => {
    if (appid === undefined || kindOfId(appid) !== "App") throw new UsageError("apps export needs an APPID");
    const file = requireFile("apps export", given);
    const pace = giveWay();
    const bytes = await openByteStore(config);
    const services = { ...config, bytes, pace, secrets: loadSecrets(config), ...createMakers() };
    await withDatabase(config, async (database) => {
      await database.write(async ({ queries }) => {
        const found = await findLiveApplication(appid, queries);
        if (found === undefined) throw new UsageError(`there is no application ${appid}`);
        await recordCommand({ action: "exportApplication", applicationId: appid, target: appid }, queries);
      });
      const end = await writeArchiveFile(file, archiveApplication(appid, services, showProgress));
      printWritten(file, end, json);
    });
  },

  "apps import": async (config, { json = false, name }, [given]) => {
    const file = requireArchive("apps import", given);
    const wanted = name === undefined ? undefined : requireName("apps import", name);
    giveWay();
    const { clock } = createMakers();
    const secrets = loadSecrets(config);
    const bytes = await openByteStore(config);
    await withDatabase(config, async (database) => {
      const imported = await importApplication(
        readArchiveFile(file),
        { database, bytes, clock, region: config.region, secrets },
        {
          name: wanted,
          admit: (applicationId) => requireKnownHere(applicationId, config),
          async finish(applicationId, { queries }) {
            const elsewhere = await findApplicationRegion(applicationId, queries);
            if (elsewhere !== undefined) {
              throw new UsageError(
                `${applicationId} lives in the region ${elsewhere.region}: it would be served in both`,
              );
            }
            await recordCommand({ action: "importApplication", applicationId, target: applicationId }, queries);
          },
          onProgress: showProgress,
        },
      );
      clearProgress();
      const { applicationId, end, hasTokens } = imported;
      print(json ? JSON.stringify(imported) : `imported ${applicationId}: ${summary(end)}`);
      if (!hasTokens)
        warn("the archive is of another ROLLCALL_SECRET or another region: devices register and users sign in anew");
    });
  },
};

/** The main region may know that it lives elsewhere. @throws UsageError, ApiError */
async function requireKnownHere(appid: string, config: Config): Promise<void> {
  if (config.regions.size === 0 || config.region === mainRegion) return;
  const known = await withCalls(config, (calls) => calls.call(mainRegion, "findRegion", { appid }));
  if (known === null || known === config.region) return;
  throw new UsageError(`${appid} lives in the region ${String(known)}: it would be served in both`);
}

/** Whoever is served comes first. */
function giveWay(): Pace {
  giveProcessorsWay();
  return new Pace();
}

/**
 * Leaves in the audit log that the whole deployment is being copied. Only if that can be written: a backup is made of an older
 * schema too, before it is brought up to date, and when the disk is full.
 */
async function recordBackup({ databaseUrl, databaseTimeoutMs, databasePooled }: Config): Promise<void> {
  const snapshot = await openSnapshot(databaseUrl);
  await snapshot.close();
  if (migrations.some(({ name }) => !snapshot.migrations.includes(name))) return;
  const database = await openDatabase(databaseUrl, {
    connectionsMax: 2,
    timeoutMs: databaseTimeoutMs,
    isPooled: databasePooled,
  });
  try {
    await database.write(({ queries }) => recordCommand({ action: "backup" }, queries));
  } catch (error) {
    warn(`the backup is not in the audit log: ${error instanceof Error ? error.message : error}`);
  } finally {
    await database.close();
  }
}

/** @throws PlainFailure when something that should be in it is not */
function printWritten(file: string, end: ArchiveEnd, isJson: boolean): void {
  clearProgress();
  print(isJson ? JSON.stringify({ file, ...end }) : `wrote ${file}: ${summary(end)}`);
  const { lost, damaged } = end.missing;
  if (lost + damaged === 0) return;
  const what = [
    ...(lost > 0 ? [`${lost} files have no bytes in the store`] : []),
    ...(damaged > 0 ? [`${damaged} files are not as they were uploaded`] : []),
  ];
  throw new PlainFailure(
    `${what.join(", ")}. Everything else is in ${file}; \`tar -xOf ${file} --wildcards 'missing/*'\` names them.`,
  );
}

function describe(head: ArchiveHead, end: ArchiveEnd): string {
  const { kind, created, release, applicationId, migrations: names, isWithoutFiles } = head;
  const what = kind === "backup" ? "a backup" : `the application ${applicationId}`;
  const { deleted, lost, damaged } = end.missing;
  return [
    `whole: ${what} of ${created}, written by release ${release}, schema ${names.at(-1)}`,
    summary(end),
    ...Object.entries(end.rows)
      .filter(([, rows]) => rows > 0)
      .map(([table, rows]) => `  ${table.padEnd(20)}  ${rows}`),
    ...(isWithoutFiles ? ["the bytes of files were left out"] : []),
    ...(deleted > 0 ? [`${deleted} files were deleted while it was written`] : []),
    ...(lost > 0 ? [`${lost} files had no bytes in the store`] : []),
    ...(damaged > 0 ? [`${damaged} files were not as they were uploaded`] : []),
  ].join("\n");
}

function summary({ rows, files, bytes }: ArchiveEnd): string {
  const count = Object.values(rows).reduce((sum, each) => sum + each, 0);
  return `${count} rows, ${files} files of ${bytes} bytes`;
}

let shownAt = 0;

function showProgress({ rows, files, bytes }: ArchiveProgress): void {
  if (!process.stderr.isTTY || performance.now() - shownAt < 200) return;
  shownAt = performance.now();
  const size = bytes === undefined ? "" : `, ${Math.round(bytes / 1_048_576)} MiB`;
  process.stderr.write(`\r${rows} rows, ${files} files${size} `);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
}

function warn(text: string): void {
  console.error(process.stderr.isTTY ? styleText("yellow", text) : text);
}

function requireFile(command: string, file: string | undefined): string {
  if (file === undefined) throw new UsageError(`${command} needs a FILE`);
  return file;
}

function requireArchive(command: string, given: string | undefined): string {
  const file = requireFile(command, given);
  if (!existsSync(file)) throw new PlainFailure(`There is no file ${file}.`);
  return file;
}
