import { createApplication, deleteApplication } from "../applications/applications.operator.routes.ts";
import {
  deleteApplicationRows,
  findLiveApplication,
  type ListedApplication,
  listApplications,
  type NewApplication,
  newApplication,
  updateApplicationDeleted,
} from "../applications/applications.store.ts";
import { cancelMove, MoveRefused, moveApplication } from "../archives/moves.export.ts";
import type { Config } from "../config/config.ts";
import { isRegionKey, keysOfRegion } from "../config/region-keys.ts";
import { mainRegion } from "../config/regions.ts";
import { openSecrets } from "../config/server-secret.ts";
import type { Database } from "../db/database.ts";
import { findRecordedSecret } from "../db/deployment-facts.ts";
import { lockApplication } from "../db/lock.ts";
import { ApiError } from "../lib/errors.ts";
import { fieldsOf } from "../lib/fields.ts";
import type { CommandServices } from "../operations/services.ts";
import { createRegionCalls, type RegionCalls } from "../regions/regions.calls.ts";
import {
  deleteApplicationRegion,
  findApplicationRegion,
  listApplicationRegions,
  putApplicationRegion,
} from "../regions/regions.directory.store.ts";
import { openByteStore } from "../storage/open.ts";
import { requireName } from "./applications.ts";
import { reportArchive } from "./archive-progress.ts";
import { type Command, createClockAndIds, recordCommand, requireId, UsageError, withDatabase } from "./command.ts";
import { asOperator } from "./operator.ts";
import type { Notices } from "./output.ts";
import { formatCount } from "./progress.ts";
import { log } from "./services.ts";

/** The commands that may involve another region. */
export const commands = {
  "apps create": (config, { name, region = config.region }, _rest, notices) =>
    asOperator(config, async ({ perform, services: { database } }) => {
      const wanted = requireName("apps create", name);
      const { appid, appkey } = await (region === config.region
        ? perform(createApplication, { parameters: { name: wanted } })
        : createRemotely(wanted, region, { config, database, notices }));
      return { json: { appid, appkey }, text: `appid   ${appid}\nappkey  ${appkey}` };
    }),

  "apps list": (config) =>
    withDatabase(config, async (database) => {
      const remote = (await listApplicationRegions(database.reads)).map((row) => ({
        appid: row.application_id,
        name: "",
        created: "",
        state: row.state === "there" ? "elsewhere" : row.state,
        region: row.region,
      }));
      const isMoving = new Set(remote.filter(({ state }) => state === "handing over").map(({ appid }) => appid));
      const here = (await listApplications(database.reads))
        .filter(({ appid }) => !isMoving.has(appid))
        .map((application) => ({
          appid: application.appid,
          name: application.name,
          created: new Date(application.createdAt).toISOString(),
          state: stateOf(application),
        }));
      const rows = config.regions.size === 0 ? here : here.map((row) => ({ ...row, region: config.region }));
      const all = [...rows, ...remote].toSorted((a, b) => (a.appid < b.appid ? -1 : 1));
      const columns = ["appid", "name", "created", "state", ...(config.regions.size === 0 ? [] : ["region"])];
      return { json: all, text: { columns, rows: all } };
    }),

  "regions key": async (config, { region }) => {
    if (config.regions.size === 0) throw new UsageError("regions key needs REGIONS");
    if (region === undefined) throw new UsageError("regions key needs --region, one of REGIONS");
    requireRegion(config, region);
    const secrets = config.regionSecrets.filter((entry) => !isRegionKey(entry));
    if (secrets.length === 0) throw new UsageError("regions key needs the shared REGION_SECRET, not keys made from it");
    const others = [...config.regions.keys()].filter((name) => name !== region);
    const value = keysOfRegion(region, others, secrets).join(",");
    return { json: { REGION_SECRET: value }, text: `REGION_SECRET=${value}` };
  },

  "apps locate": (config, { region }, [given]) =>
    withDatabase(config, async (database) => {
      const appid = requireId("apps locate", "App", given);
      requireMain(config, "apps locate");
      if (region === undefined || region === config.region)
        throw new UsageError("apps locate needs --region, another one of REGIONS");
      requireRegion(config, region);
      const isThere = await withCalls(config, (calls) => calls.call(region, "hasApplication", { appid }));
      if (isThere !== true) throw new UsageError(`the region ${region} serves no application ${appid}`);
      await database.write(async ({ queries }) => {
        if ((await findLiveApplication(appid, queries)) !== undefined) {
          throw new UsageError(`${appid} exists in this region as well: delete it here first`);
        }
        const { clock } = createClockAndIds();
        await putApplicationRegion({ application_id: appid, region, state: "there", changed_at: clock.now() }, queries);
        await recordCommand(
          { action: "locateApplication", applicationId: appid, target: appid, details: { region } },
          queries,
        );
      });
      return { json: { appid, region }, text: `${appid} is in ${region}` };
    }),

  "apps move": (config, { region, cancel = false, force = false }, [given], { progress }) =>
    asOperator(config, async ({ services: { database, clock, revocations } }) => {
      const appid = requireId("apps move", "App", given);
      if (!cancel && (region === undefined || region === config.region || !config.regions.has(region))) {
        throw new UsageError("apps move needs --region, another one of REGIONS");
      }
      const bytes = await openByteStore(config);
      const secrets = openSecrets(config, await findRecordedSecret(database));
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
            await moveApplication(appid, region, services, {
              signal,
              onProgress: reportArchive(progress),
              isWithoutLost: force,
            });
          }
        } catch (error) {
          throw error instanceof MoveRefused ? new UsageError(error.message) : error;
        } finally {
          process.off("SIGINT", stop).off("SIGTERM", stop);
        }
      });
      if (region === undefined || cancel)
        return { json: { appid, region: config.region }, text: `${appid} stays in ${config.region}` };
      return { json: { appid, region }, text: `moved ${appid} to ${region}` };
    }),

  "apps delete": (config, { yes = false }, [given], { progress }) =>
    asOperator(config, async ({ perform, services }) => {
      const { database } = services;
      const appid = requireId("apps delete", "App", given);
      if (!yes) throw new UsageError("apps delete erases everything the application owns: confirm with --yes");
      const here = await findLiveApplication(appid, database.reads);
      if (here !== undefined && here.moving_to !== null) {
        throw new UsageError(
          `${appid} is moving to the region ${here.moving_to}: finish or cancel the move first (apps move)`,
        );
      }
      const host = await findApplicationRegion(appid, database.reads);
      if (here !== undefined) await perform(deleteApplication, { path: { appid }, parameters: { confirm: appid } });
      else await deleteUnfinished(appid, host !== undefined, services);
      await deleteApplicationRows(appid, services, {
        onStep: (rows) => progress.report({ name: "erased", done: rows, detail: `${formatCount(rows)} rows` }),
      });
      if (host !== undefined) await deleteRemote(appid, host.region, config, database);
      return { json: { appid, deleted: true }, text: `deleted ${appid}` };
    }),
} satisfies Readonly<Record<string, Command>>;

/** Deletes an application that no operation can read: one with an unfinished import or deletion, or a remote one. */
function deleteUnfinished(appid: string, isRemote: boolean, { database, clock }: CommandServices): Promise<void> {
  return database.write(async ({ queries }) => {
    await lockApplication(database.dialect, appid, queries); // serializes with a move
    const isMarked = await updateApplicationDeleted(appid, clock.now(), queries);
    if (!isMarked && !isRemote) throw new UsageError(`there is no application ${appid}`);
    await recordCommand({ action: "deleteApplication", applicationId: appid, target: appid }, queries);
  });
}

/**
 * Creates an application in another region. Generates id and key and records the region before the call, so that the
 * application can be deleted even if the response is lost.
 */
async function createRemotely(
  name: string,
  region: string,
  services: { readonly config: Config; readonly database: Database; readonly notices: Notices },
): Promise<NewApplication> {
  const { config, database, notices } = services;
  requireMain(config, "apps create --region");
  requireRegion(config, region);
  const { clock, ids } = createClockAndIds();
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
      if (isCertainlyNotCreated(error)) await database.write(({ queries }) => deleteApplicationRegion(appid, queries));
      else
        notices.warn(
          `The region ${region} may have created ${appid}. To remove it: rollcall apps delete ${appid} --yes`,
        );
      throw error;
    }
  });
  await database.write(({ queries }) => putApplicationRegion(row("there"), queries));
  return application;
}

/** Whether the other region cannot have created the application, because it refused or was never reached. */
function isCertainlyNotCreated(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { code } = fieldsOf(error.cause); // a system error code
  return error.condition !== "ServiceUnavailable" || code === "ECONNREFUSED" || code === "ENOTFOUND";
}

async function deleteRemote(appid: string, region: string, config: Config, database: Database): Promise<void> {
  requireRegion(config, region);
  // Outside of the main region, the entry is only a forwarding address; the other region owns the application.
  requireMain(config, `${appid} lives in the region ${region}: apps delete`);
  await withCalls(config, (calls) => calls.call(region, "deleteApplication", { appid }));
  await database.write(({ queries }) => deleteApplicationRegion(appid, queries));
}

/** @throws UsageError */
function requireMain({ region }: Config, action: string): void {
  if (region !== mainRegion)
    throw new UsageError(`${action} must run in the region ${mainRegion}, but REGION is ${region}`);
}

/** @throws UsageError */
function requireRegion({ regions }: Config, region: string): void {
  if (!regions.has(region)) throw new UsageError(`REGIONS names no region ${region}`);
}

/** Opens connections to other regions for the duration of `work`. */
export async function withCalls<T>(config: Config, work: (calls: RegionCalls) => Promise<T>): Promise<T> {
  const calls = createRegionCalls(config, { clock: createClockAndIds().clock, log });
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
