import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { findLiveApplication } from "../applications/applications.store.ts";
import { writeArchiveFile } from "../archives/archive-file.ts";
import { backUp } from "../archives/backup.ts";
import { archiveApplication } from "../archives/export-application.ts";
import type { ArchiveEnd, ArchiveHead } from "../archives/format.ts";
import { importApplication } from "../archives/import-application.ts";
import { loadArchive } from "../archives/load.ts";
import { restore } from "../archives/restore.ts";
import { Throttle } from "../archives/throttle.ts";
import type { Config } from "../config/config.ts";
import { PlainFailure } from "../config/failure.ts";
import { mainRegion } from "../config/regions.ts";
import { openSecrets } from "../config/server-secret.ts";
import { type Backup, findRecordedSecret, putBackup } from "../db/deployment-facts.ts";
import { migrations, withBaseline } from "../db/migrations/list.ts";
import { openSnapshot } from "../db/open.ts";
import { lowerThreadPriorities } from "../lib/thread-priority.ts";
import { findApplicationRegion } from "../regions/regions.directory.store.ts";
import { openByteStore } from "../storage/open.ts";
import { requireName } from "./applications.ts";
import { readWithProgress, reportArchive } from "./archive-progress.ts";
import {
  type Command,
  createClockAndIds,
  openForCommand,
  recordCommand,
  requireId,
  UsageError,
  withDatabase,
} from "./command.ts";
import type { CommandResult, Notices } from "./output.ts";
import { withCalls } from "./regions.ts";

/** The commands that write and read archives. */
export const commands = {
  backup: async (config, { "without-files": isWithoutFiles = false, fast: isFast }, [given], notices) => {
    const file = requireFile("backup", given);
    const throttle = isFast ? undefined : lowerPriority();
    const begun = await recordBackup(config, notices);
    const bytes = await openByteStore(config);
    const secrets = openSecrets(config, begun?.secret);
    const services = { bytes, throttle, secrets, bufferFolder: dirname(file), ...createClockAndIds() };
    const onProgress = reportArchive(notices.progress);
    const end = await writeArchiveFile(file, backUp(config, services, { isWithoutFiles, onProgress }));
    const finished = { at: services.clock.now(), bytes: statSync(file).size, isWithoutFiles };
    if (begun !== undefined) await recordFinishedBackup(finished, config, notices);
    return describeWritten(file, end);
  },

  "verify-backup": async (_config, _values, [given], { progress }) => {
    const file = requireArchive("verify-backup", given);
    const { head, end } = await loadArchive(readWithProgress(file, "checked", progress), {});
    return { json: { head, end }, text: describe(head, end) };
  },

  restore: async (config, values, [given], notices) => {
    const { force = false, "other-secret": isOtherSecret = false, "keep-tokens": isKeepingTokens = false } = values;
    const file = requireArchive("restore", given);
    // A restore verifies the complete file before it deletes anything, and then reads it again.
    if (!statSync(file).isFile())
      throw new PlainFailure(`${file} is not a regular file. restore reads it twice: save it as a file first.`);
    const passes = ["checked", "restored"];
    const read = () => readWithProgress(file, passes.shift() ?? "", notices.progress);
    const { head, end } = await restore(read, config, {
      isForced: force,
      isOtherSecret,
      isKeepingTokens,
      clock: createClockAndIds().clock,
      finish: ({ created, applicationId }, { queries }) =>
        recordCommand(
          { action: "restore", applicationId, details: { created, force, keepTokens: isKeepingTokens } },
          queries,
        ),
    });
    if (isKeepingTokens && head.region !== config.region) {
      notices.warn(
        `the backup is from the region ${head.region}, but REGION is ${config.region}: its tokens are not valid here`,
      );
    }
    const ended = "\nall tokens have ended: devices must register again, users and operators must sign in again";
    return { json: { head, end }, text: `restored ${summary(end)}${isKeepingTokens ? "" : ended}` };
  },

  "apps export": async (config, { fast: isFast }, [givenId, given], notices) => {
    const appid = requireId("apps export", "App", givenId);
    const file = requireFile("apps export", given);
    const throttle = isFast ? undefined : lowerPriority();
    const bytes = await openByteStore(config);
    return withDatabase(config, async (database) => {
      const secrets = openSecrets(config, await findRecordedSecret(database));
      const services = { ...config, bytes, throttle, secrets, bufferFolder: dirname(file), ...createClockAndIds() };
      await database.write(async ({ queries }) => {
        const found = await findLiveApplication(appid, queries);
        if (found === undefined) throw new UsageError(`there is no application ${appid}`);
        await recordCommand({ action: "exportApplication", applicationId: appid, target: appid }, queries);
      });
      const end = await writeArchiveFile(file, archiveApplication(appid, services, reportArchive(notices.progress)));
      return describeWritten(file, end);
    });
  },

  "apps import": async (config, { name }, [given], notices) => {
    const file = requireArchive("apps import", given);
    const wanted = name === undefined ? undefined : requireName("apps import", name);
    lowerPriority();
    const { clock } = createClockAndIds();
    const bytes = await openByteStore(config);
    return withDatabase(config, async (database) => {
      const secrets = openSecrets(config, await findRecordedSecret(database));
      const imported = await importApplication(
        readWithProgress(file, "imported", notices.progress),
        { ...config, database, bytes, clock, secrets },
        {
          name: wanted,
          admit: (applicationId) => requireKnownHere(applicationId, config),
          async finish(applicationId, { queries }) {
            const remote = await findApplicationRegion(applicationId, queries);
            if (remote !== undefined) {
              throw new UsageError(
                `${applicationId} lives in the region ${remote.region}: delete it there before you import it here`,
              );
            }
            await recordCommand({ action: "importApplication", applicationId, target: applicationId }, queries);
          },
        },
      );
      const { applicationId, end, hasTokens } = imported;
      if (!hasTokens)
        notices.warn(
          "the archive has another ROLLCALL_SECRET or another region: devices must register again, and users must sign in again",
        );
      return { json: imported, text: `imported ${applicationId}: ${summary(end)}` };
    });
  },
} satisfies Readonly<Record<string, Command>>;

/** Requires that the main region records no other region for the application. @throws UsageError, ApiError */
async function requireKnownHere(appid: string, config: Config): Promise<void> {
  if (config.regions.size === 0 || config.region === mainRegion) return;
  const known = await withCalls(config, (calls) => calls.call(mainRegion, "findRegion", { appid }));
  if (known === null || known === config.region) return;
  throw new UsageError(`${appid} lives in the region ${String(known)}: delete it there before you import it here`);
}

/** Lowers the priority of this process below that of a running server. */
function lowerPriority(): Throttle {
  lowerThreadPriorities();
  return new Throttle();
}

/**
 * Records the backup in the audit log if possible. A backup must also work on an older schema, before its migration, and
 * with a full disk.
 *
 * @returns the fingerprint of the deployment's secret, if it is recorded; undefined for an older schema
 */
async function recordBackup(
  config: Config,
  { warn }: Notices,
): Promise<{ readonly secret: string | undefined } | undefined> {
  const snapshot = await openSnapshot(config.databaseUrl);
  await snapshot.close();
  const applied = withBaseline(snapshot.migrations);
  if (migrations.some(({ name }) => !applied.includes(name))) return undefined;
  const database = await openForCommand(config);
  try {
    await database.write(({ queries }) => recordCommand({ action: "backup" }, queries));
  } catch (error) {
    warn(`the backup is not in the audit log: ${error instanceof Error ? error.message : error}`);
  }
  const secret = await findRecordedSecret(database).finally(() => database.close());
  return { secret };
}

/** Records the time of the newest backup, so that operators can notice an outdated one. */
async function recordFinishedBackup(backup: Backup, config: Config, { warn }: Notices): Promise<void> {
  const database = await openForCommand(config);
  try {
    await database.write(({ queries }) => putBackup(backup, queries));
  } catch (error) {
    warn(`the deployment does not know of this backup: ${error instanceof Error ? error.message : error}`);
  } finally {
    await database.close();
  }
}

/** Describes a written archive; a failure if it lacks bytes of files. */
function describeWritten(file: string, end: ArchiveEnd): CommandResult {
  const result = { json: { file, ...end }, text: `wrote ${file}: ${summary(end)}` };
  const { lost, damaged } = end.missing;
  if (lost + damaged === 0) return result;
  const what = [
    ...(lost > 0 ? [`${lost} files have no bytes in the store`] : []),
    ...(damaged > 0 ? [`${damaged} files differ from what was uploaded`] : []),
  ];
  const names = `\`tar -xOf ${file} --wildcards 'missing/*'\` names them`;
  return { ...result, failure: `${what.join(", ")}. Everything else is in ${file}; ${names}.` };
}

function describe(head: ArchiveHead, end: ArchiveEnd): string {
  const { kind, created, release, applicationId, migrations: names, isWithoutFiles } = head;
  const what = kind === "backup" ? "a backup" : `the application ${applicationId}`;
  const { deleted, lost, damaged } = end.missing;
  return [
    `intact: ${what} of ${created}, written by release ${release}, schema ${names.at(-1)}`,
    summary(end),
    ...Object.entries(end.rows)
      .filter(([, rows]) => rows > 0)
      .map(([table, rows]) => `  ${table.padEnd(20)}  ${rows}`),
    ...(isWithoutFiles ? ["the bytes of files were left out"] : []),
    ...(deleted > 0 ? [`${deleted} files were deleted while it was written`] : []),
    ...(lost > 0 ? [`${lost} files had no bytes in the store`] : []),
    ...(damaged > 0 ? [`${damaged} files differed from what was uploaded`] : []),
  ].join("\n");
}

function summary({ rows, files, bytes }: ArchiveEnd): string {
  const count = Object.values(rows).reduce((sum, each) => sum + each, 0);
  return `${count} rows, ${files} files of ${bytes} bytes`;
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
