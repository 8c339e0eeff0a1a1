import {
  deleteApplicationRows,
  findLiveApplication,
  insertApplication,
  type ListedApplication,
  listApplications,
  type NewApplication,
  newApplication,
  updateApplicationDeleted,
} from "./applications/applications.store.ts";
import { requireAppid, requireName, revocations } from "./cli.applications.ts";
import { type Command, createMakers, print, table, UsageError, withDatabase } from "./cli.command.ts";
import { recordCommand } from "./cli.operators.ts";
import { type Config, mainRegion } from "./config.ts";
import type { Database } from "./db/database.ts";
import { lockApplication } from "./db/lock.ts";
import { ApiError } from "./errors.ts";
import { createLog } from "./log.ts";
import { cancelMove, MoveRefused, moveApplication } from "./moves/moves.departure.ts";
import { createRegionCalls, type RegionCalls } from "./regions/regions.calls.ts";
import {
  deleteApplicationRegion,
  findApplicationRegion,
  listApplicationRegions,
  putApplicationRegion,
} from "./regions/regions.directory.store.ts";
import { loadSecrets } from "./server-secret.ts";
import { openByteStore } from "./storage/open.ts";

/** The commands that may be a matter of another region. */
export const regionCommands: Readonly<Record<string, Command>> = {
  "apps create": (config, { name, region = config.region, json = false }) =>
    withDatabase(config, async (database) => {
      const wanted = requireName("apps create", name);
      const created = await (region === config.region
        ? createHere(wanted, database)
        : createElsewhere(wanted, region, config, database));
      print(json ? JSON.stringify(created) : `appid   ${created.appid}\nappkey  ${created.appkey}`);
    }),

  "apps list": (config, { json = false }) =>
    withDatabase(config, async (database) => {
      const elsewhere = (await listApplicationRegions(database.reads)).map((row) => ({
        appid: row.application_id,
        name: "",
        created: "",
        state: row.state === "there" ? "elsewhere" : row.state,
        region: row.region,
      }));
      const isMoving = new Set(elsewhere.filter(({ state }) => state === "handing over").map(({ appid }) => appid));
      const here = (await listApplications(database.reads))
        .filter(({ appid }) => !isMoving.has(appid))
        .map((application) => ({
          appid: application.appid,
          name: application.name,
          created: new Date(application.createdAt).toISOString(),
          state: stateOf(application),
        }));
      const rows = config.regions.size === 0 ? here : here.map((row) => ({ ...row, region: config.region }));
      const all = [...rows, ...elsewhere].toSorted((a, b) => (a.appid < b.appid ? -1 : 1));
      const names = ["appid", "name", "created", "state", ...(config.regions.size === 0 ? [] : ["region"])];
      print(json ? JSON.stringify(all) : table(names, all));
    }),

  "apps locate": (config, { region = "" }, [given]) =>
    withDatabase(config, async (database) => {
      const appid = requireAppid("apps locate", given);
      requireMain(config, "apps locate");
      if (region === config.region) throw new UsageError("apps locate needs --region, another one of REGIONS");
      requireRegion(config, region);
      const isThere = await withCalls(config, (calls) => calls.call(region, "hasApplication", { appid }));
      if (isThere !== true) throw new UsageError(`the region ${region} serves no application ${appid}`);
      await database.write(async ({ queries }) => {
        if ((await findLiveApplication(appid, queries)) !== undefined) {
          throw new UsageError(`${appid} lives in this region as well: delete it here first`);
        }
        const { clock } = createMakers();
        await putApplicationRegion({ application_id: appid, region, state: "there", changed_at: clock.now() }, queries);
        await recordCommand(
          { action: "locateApplication", applicationId: appid, target: appid, details: { region } },
          queries,
        );
      });
      print(`${appid} is in ${region}`);
    }),

  "apps move": (config, { region, cancel = false, force = false }, [given]) =>
    withDatabase(config, async (database) => {
      const appid = requireAppid("apps move", given);
      if (!cancel && (region === undefined || region === config.region || !config.regions.has(region))) {
        throw new UsageError("apps move needs --region, another one of REGIONS");
      }
      const bytes = await openByteStore(config);
      const secrets = loadSecrets(config);
      const { clock } = createMakers();
      const stopping = new AbortController();
      const stop = () => stopping.abort(new MoveRefused(`${appid} stays in the region ${config.region}`));
      process.once("SIGINT", stop).once("SIGTERM", stop);
      const event = { action: "moveApplication", applicationId: appid, target: appid };
      await withCalls(config, async (regionCalls) => {
        const services = { ...config, database, bytes, secrets, clock, regionCalls, revocations };
        try {
          if (region === undefined || cancel) await cancelMove(appid, services);
          else {
            await database.write(({ queries }) => recordCommand({ ...event, details: { to: region } }, queries));
            const { signal } = stopping;
            await moveApplication(appid, region, services, { signal, onProgress: showBytes, isWithoutLost: force });
          }
        } catch (error) {
          throw error instanceof MoveRefused ? new UsageError(error.message) : error;
        }
      });
      print(cancel ? `${appid} stays in ${config.region}` : `moved ${appid} to ${region}`);
    }),

  "apps delete": (config, { yes = false }, [given]) =>
    withDatabase(config, async (database) => {
      const appid = requireAppid("apps delete", given);
      if (!yes) throw new UsageError("apps delete erases everything the application owns: confirm with --yes");
      const { isHere, host } = await database.write(async ({ queries }) => {
        await lockApplication(database.dialect, appid, queries); // a move begins before, or after this
        const here = await findLiveApplication(appid, queries);
        if (here !== undefined && here.moving_to !== null) {
          throw new UsageError(`${appid} is moving to the region ${here.moving_to}: see apps move`);
        }
        const host = await findApplicationRegion(appid, queries);
        const isMarked = await updateApplicationDeleted(appid, createMakers().clock.now(), queries);
        if (!isMarked && host === undefined) throw new UsageError(`there is no application ${appid}`);
        await recordCommand({ action: "deleteApplication", applicationId: appid, target: appid }, queries);
        return { isHere: isMarked, host };
      });
      if (isHere) {
        const bytes = await openByteStore(config);
        await deleteApplicationRows(appid, { database, bytes }, { onStep: showProgress });
      }
      if (host !== undefined) await deleteElsewhere(appid, host.region, config, database);
      print(`deleted ${appid}`);
    }),
};

function createHere(name: string, database: Database): Promise<NewApplication> {
  return database.write(async ({ queries }) => {
    const application = await insertApplication(name, createMakers(), queries);
    const { appid } = application;
    await recordCommand({ action: "createApplication", applicationId: appid, target: appid }, queries);
    return application;
  });
}

/**
 * Asks the other region for it. Id and key are made here, and where it lives is written down first, so that whatever is
 * lost on the way there is an entry to delete it by.
 */
async function createElsewhere(
  name: string,
  region: string,
  config: Config,
  database: Database,
): Promise<NewApplication> {
  requireMain(config, "apps create --region");
  requireRegion(config, region);
  const { clock, ids } = createMakers();
  const application = newApplication(ids);
  const { appid } = application;
  const row = (state: "being made" | "there") => ({ application_id: appid, region, state, changed_at: clock.now() });
  await database.write(async ({ queries }) => {
    await putApplicationRegion(row("being made"), queries);
    const event = { action: "createApplication", applicationId: appid, target: appid, details: { region } };
    await recordCommand(event, queries);
  });
  await withCalls(config, async (calls) => {
    try {
      await calls.call(region, "createApplication", { ...application, name });
    } catch (error) {
      if (isKnownNotMade(error)) await database.write(({ queries }) => deleteApplicationRegion(appid, queries));
      else console.error(`It may be there or not: apps delete ${appid} --yes drops whatever came of it.`);
      throw error;
    }
  });
  await database.write(({ queries }) => putApplicationRegion(row("there"), queries));
  return application;
}

/** True when the other region has refused it, or has never heard of it. */
function isKnownNotMade(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { code } = Object(error.cause) as { code?: unknown }; // of the system
  return error.condition !== "ServiceUnavailable" || code === "ECONNREFUSED" || code === "ENOTFOUND";
}

async function deleteElsewhere(appid: string, region: string, config: Config, database: Database): Promise<void> {
  requireRegion(config, region);
  // Elsewhere than in the main region an entry only says whereto it has moved: it is not ours to delete.
  requireMain(config, `${appid} lives in the region ${region}: apps delete of it`);
  await withCalls(config, (calls) => calls.call(region, "deleteApplication", { appid }));
  await database.write(({ queries }) => deleteApplicationRegion(appid, queries));
}

/** @throws UsageError */
function requireMain({ region }: Config, what: string): void {
  if (region !== mainRegion) throw new UsageError(`${what} is for the region ${mainRegion}, this is ${region}`);
}

/** @throws UsageError */
function requireRegion({ regions }: Config, region: string): void {
  if (!regions.has(region)) throw new UsageError(`REGIONS names no region ${region}`);
}

/** Calls other regions for as long as the work takes. */
export async function withCalls<T>(config: Config, work: (calls: RegionCalls) => Promise<T>): Promise<T> {
  const calls = createRegionCalls(config, { clock: createMakers().clock, log: createLog("silent") });
  try {
    return await work(calls);
  } finally {
    calls.close();
  }
}

function stateOf({
  isSuspended,
  isBeingDeleted,
  importingUntil,
  movingTo,
}: Omit<ListedApplication, "appid" | "name" | "createdAt">) {
  if (importingUntil !== null) return "being imported";
  if (isBeingDeleted) return "being deleted";
  if (movingTo !== null) return `moving to ${movingTo}`;
  return isSuspended ? "suspended" : "active";
}

let shownAt = 0;

function showBytes(bytes: number): void {
  if (!process.stderr.isTTY || performance.now() - shownAt < 200) return;
  shownAt = performance.now();
  process.stderr.write(`\r${bytes} bytes sent `);
}

function showProgress(rowsErased: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${rowsErased} rows erased `);
}
