import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { deleteApplicationRows, updateApplicationDeleted } from "../applications/applications.store.ts";
import type { Revocations } from "../auth/revocations.ts";
import { mainRegion } from "../config/regions.ts";
import type { Database, Queries } from "../db/database.ts";
import type { ApplicationRegionRow } from "../db/tables.ts";
import { originalKey } from "../files/files.uploads.ts";
import { ApiError } from "../lib/errors.ts";
import { fieldsOf } from "../lib/fields.ts";
import type { RegionCalls } from "../regions/regions.calls.ts";
import {
  deleteApplicationRegion,
  findApplicationRegion,
  putApplicationRegion,
} from "../regions/regions.directory.store.ts";
import type { ArchiveProgress } from "./archive.ts";
import { archiveApplication, type ExportServices } from "./export-application.ts";
import type { ArchiveEnd } from "./format.ts";
import { decideMove, findPresence, markMoving, unmarkMoving } from "./moves.store.ts";

export interface MoveServices extends ExportServices {
  readonly database: Database;
  readonly regionCalls: RegionCalls;
  /** The folder for a temporary file. */
  readonly dataDir?: string;
  readonly revocations: Pick<Revocations, "invalidatePolicies">;
}

/** The application cannot move, or not now, and is still served here. */
export class MoveRefused extends Error {
  override name = "MoveRefused";
}

export interface MoveOptions {
  /** Moves the application even if files are missing in the store, and loses those files. */
  readonly isWithoutLost?: boolean;
  /** When aborted, cancels a move that is not decided yet. */
  readonly signal?: AbortSignal;
  /** Receives the progress of the transfer. */
  readonly onProgress?: (progress: ArchiveProgress) => void;
}

const roomMsMax = 600_000;

/**
 * Moves an application with everything that it owns to another region. Does nothing if it is already there.
 *
 * 1. The other region is asked whether it can accept the application.
 * 2. The application is marked: from here on every call is refused with ServiceUnavailable, and no write is accepted.
 * 3. It is sent as an archive. The other region imports it without serving it, and returns the digest of the received
 * bytes. Missing files cancel the move, because this process may use another store than the server, or the store may be
 * unreachable.
 * 4. If the digest matches, the decision is stored. An earlier failure cancels the move; from here on it can only be
 * completed, by {@link finishMove}.
 *
 * @throws MoveRefused, ApiError
 */
export async function moveApplication(
  applicationId: string,
  to: string,
  services: MoveServices,
  options: MoveOptions = {},
): Promise<void> {
  const { database, region: own, regionCalls, clock } = services;
  const { signal } = options;
  const known = await findApplicationRegion(applicationId, database.reads);
  if (known?.state === "handing over") {
    if (known.region !== to) throw new MoveRefused(`${applicationId} is moving to the region ${known.region} already`);
    await finishMove(applicationId, services);
    return;
  }
  const here = await findPresence(applicationId, database.reads);
  if (here === undefined || here.deleted_at !== null) {
    if (known?.region === to && known.state === "there") return; // moved by an earlier call
    const hint = known === undefined ? "" : `, it is in the region ${known.region}`;
    throw new MoveRefused(`there is no application ${applicationId} in the region ${own}${hint}`);
  }
  if (here.moving_to === own)
    throw new MoveRefused(`${applicationId} has not arrived here yet: its former region completes the move`);

  await requireKnownHere(applicationId, services);
  await requestRoom(
    { appid: applicationId, key: await findAnyKey(applicationId, database.reads) },
    to,
    services,
    signal,
  );
  if (!(await database.write(({ queries }) => markMoving(applicationId, to, queries)))) {
    throw new MoveRefused(`${applicationId} is moving to another region already, or being deleted`);
  }
  try {
    await send(applicationId, to, services, options);
    signal?.throwIfAborted();
    const isDecided = await database.write(({ queries }) => decideMove(applicationId, to, clock.now(), queries));
    if (!isDecided) throw new MoveRefused(`${applicationId} was deleted or served again meanwhile`);
  } catch (error) {
    if (!(await giveUp(applicationId, database))) {
      // If this call fails, the next attempt deletes the imported data.
      await regionCalls.call(to, "dropApplication", { appid: applicationId }).catch(() => {});
      throw error;
    }
  }
  await finishMove(applicationId, services);
}

/**
 * Continues a decided move until the application is erased here. Can be repeated.
 *
 * 5. The main region records the new region.
 * 6. The other region starts to serve the application.
 * 7. It is deleted here. The name of its new region stays, so that old tokens are refused with the new address, and
 * registrations are forwarded.
 */
export async function finishMove(
  applicationId: string,
  services: Pick<MoveServices, "database" | "region" | "regionCalls" | "revocations" | "bytes" | "clock">,
  signal?: AbortSignal,
): Promise<void> {
  const { database, region: own, regionCalls, revocations, clock } = services;
  const decided = await findApplicationRegion(applicationId, database.reads);
  if (decided?.state !== "handing over") return;
  const { region: to } = decided;
  const appid = applicationId;
  const tellMain = async (region: string, was: string) => {
    if (own === mainRegion || to === mainRegion) return;
    await regionCalls.call(mainRegion, "setRegion", { appid, region, was }).catch((error) => {
      // The application has already moved on.
      if (!(error instanceof ApiError && error.condition === "ObjectPermissionDenied")) throw error;
    });
  };
  await tellMain(to, own);
  if ((await regionCalls.call(to, "openApplication", { appid })) !== true) {
    // No other region has it, so it is still here.
    await tellMain(own, to);
    const isLost = await database.write(async (transaction) => {
      if (!(await isStillDecided(decided, transaction.queries))) return false;
      await revocations.invalidatePolicies(appid, transaction);
      await deleteApplicationRegion(appid, transaction.queries);
      await unmarkMoving(appid, transaction.queries);
      return true;
    });
    if (!isLost) return;
    throw new MoveRefused(`the region ${to} has lost ${appid}: it is served here again`);
  }
  const isGone = await database.write(async (transaction) => {
    const { queries } = transaction;
    const at = clock.now();
    if (!(await isStillDecided(decided, queries))) return false;
    await revocations.invalidatePolicies(appid, transaction);
    await updateApplicationDeleted(appid, at, queries);
    await putApplicationRegion({ application_id: appid, region: to, state: "there", changed_at: at }, queries);
    return true;
  });
  if (!isGone) return;
  await deleteApplicationRows(appid, services, { signal });
}

/** False if another process has finished the move. The application may even have returned and be moving again. */
async function isStillDecided(decided: ApplicationRegionRow, queries: Queries): Promise<boolean> {
  const now = await findApplicationRegion(decided.application_id, queries);
  return now?.state === "handing over" && now.region === decided.region && now.changed_at === decided.changed_at;
}

/** Cancels a move that was interrupted before the decision. @throws MoveRefused if the application is not moving */
export async function cancelMove(applicationId: string, services: MoveServices): Promise<void> {
  const { database, region: own, regionCalls } = services;
  const to = await database.write(async ({ queries }) => {
    const here = await findPresence(applicationId, queries);
    const decided = await findApplicationRegion(applicationId, queries);
    const moving = here?.deleted_at === null ? here.moving_to : null;
    if (moving === null || moving === own) throw new MoveRefused(`${applicationId} is not moving away from here`);
    if (decided?.state === "handing over") {
      throw new MoveRefused(`${applicationId} is in the region ${moving} already: run apps move again to finish it`);
    }
    await unmarkMoving(applicationId, queries);
    return moving;
  });
  await regionCalls.call(to, "dropApplication", { appid: applicationId }).catch(() => {}); // the next move drops it
}

/**
 * Serves the application here again, unless the move is decided: the commit may have succeeded although its response was
 * lost.
 *
 * @returns whether the move is decided
 */
function giveUp(applicationId: string, database: Database): Promise<boolean> {
  return database.write(async ({ queries }) => {
    const known = await findApplicationRegion(applicationId, queries);
    if (known?.state === "handing over") return true;
    await unmarkMoving(applicationId, queries);
    return false;
  });
}

/** Requires that the main region directs clients to this region. @throws MoveRefused */
async function requireKnownHere(appid: string, { region: own, regionCalls }: MoveServices): Promise<void> {
  if (own === mainRegion) return;
  const known = await regionCalls.call(mainRegion, "findRegion", { appid });
  if (known !== null && known !== own) {
    throw new MoveRefused(`the region ${mainRegion} says that ${appid} lives in the region ${String(known)}`);
  }
}

/**
 * Finds the key of one of the application's objects, from which the other region detects that both regions share a store.
 */
async function findAnyKey(appid: string, queries: Queries): Promise<string | undefined> {
  const file = await queries
    .selectFrom("files")
    .select("id")
    .where("application_id", "=", appid)
    .limit(1)
    .executeTakeFirst();
  return file && originalKey(appid, file.id);
}

/** Waits until the other region has erased the data of an earlier attempt. @throws MoveRefused, ApiError */
async function requestRoom(
  asked: { readonly appid: string; readonly key: string | undefined },
  to: string,
  { regionCalls }: MoveServices,
  signal: AbortSignal | undefined,
): Promise<void> {
  const deadline = performance.now() + roomMsMax;
  const message = { appid: asked.appid, ...(asked.key !== undefined && { key: asked.key }) };
  for (;;) {
    const { isFree } = fieldsOf(await regionCalls.call(to, "makeRoom", message));
    if (isFree === true) return;
    if (performance.now() > deadline) throw new MoveRefused(`${asked.appid} is still being erased in the region ${to}`);
    await sleep(250, undefined, signal && { signal });
  }
}

/** @throws MoveRefused; ApiError ServiceUnavailable, and refusals of the other region */
async function send(appid: string, to: string, services: MoveServices, options: MoveOptions): Promise<void> {
  const { isWithoutLost = false, signal, onProgress } = options;
  let end: ArchiveEnd | undefined;
  async function* archive() {
    end = yield* archiveApplication(appid, { ...services, bufferFolder: services.dataDir }, onProgress);
  }
  const digest = createHash("sha256");
  async function* measured() {
    for await (const chunk of archive()) {
      signal?.throwIfAborted();
      digest.update(chunk);
      yield chunk;
    }
  }
  const answer = fieldsOf(await services.regionCalls.send(to, "takeIn", appid, measured()));
  if (answer["digest"] !== digest.digest("hex") || answer["isWhole"] !== true) {
    throw new ApiError("ServiceUnavailable", `The region ${to} received other data than was sent`);
  }
  const lost = end?.missing.lost ?? 0;
  if (lost > 0 && !isWithoutLost) {
    throw new MoveRefused(
      `${appid} was not moved: ${lost} files have no bytes in the store. Check that FILES_URL is that of the server. apps export lists the files; use --force to move without them`,
    );
  }
}
