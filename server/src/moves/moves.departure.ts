import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { deleteApplicationRows, updateApplicationDeleted } from "../applications/applications.store.ts";
import { archiveApplication, type ExportServices } from "../archives/export-application.ts";
import type { ArchiveEnd } from "../archives/format.ts";
import type { Revocations } from "../auth/revocations.ts";
import { mainRegion } from "../config.ts";
import type { Database, Queries } from "../db/database.ts";
import type { ApplicationRegionRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import { originalKey } from "../files/files.uploads.ts";
import type { RegionCalls } from "../regions/regions.calls.ts";
import {
  deleteApplicationRegion,
  findApplicationRegion,
  putApplicationRegion,
} from "../regions/regions.directory.store.ts";
import { decideMove, findPresence, markMoving, unmarkMoving } from "./moves.store.ts";

export interface MoveServices extends ExportServices {
  readonly database: Database;
  readonly regionCalls: RegionCalls;
  readonly revocations: Pick<Revocations, "judgeAgain">;
}

/** It cannot move, or not now; it is served where it was. */
export class MoveRefused extends Error {
  override name = "MoveRefused";
}

export interface MoveOptions {
  /** Moves it also when files of it have no bytes in the store, which are not to be had afterwards. */
  readonly isWithoutLost?: boolean;
  /** Ends it, as long as there is a way back. */
  readonly signal?: AbortSignal;
  /** Hears how many bytes have been sent. */
  readonly onProgress?: (bytes: number) => void;
}

const roomMsMax = 600_000;

/**
 * Moves an application of this region to another one, with everything that it owns. One that is there already is left there.
 *
 * 1. The other region is asked for room.
 * 2. It is marked: from here on every call is refused with ServiceUnavailable, and no write is answered any more.
 * 3. It is sent as an archive. The other region takes it in, serves none of it, and tells the digest of what arrived. When
 *    files have no bytes in the store it stays: the store may be another one than that of the server, or out of sight.
 * 4. That is right: it is decided, and written down. Before, any failure leaves it here; from here on this goes forward
 *    alone, by {@link finishMove}.
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
    if (known?.region === to && known.state === "there") return; // it has moved
    const elsewhere = known === undefined ? "" : `, it is in the region ${known.region}`;
    throw new MoveRefused(`there is no application ${applicationId} in the region ${own}${elsewhere}`);
  }
  if (here.moving_to === own)
    throw new MoveRefused(`${applicationId} has not come here yet: it is moved by where it was`);

  await requireKnownHere(applicationId, services);
  await askForRoom(
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
    if (!isDecided) throw new MoveRefused(`${applicationId} was served again meanwhile, or deleted`);
  } catch (error) {
    if (!(await giveUp(applicationId, database))) {
      await regionCalls.call(to, "dropApplication", { appid: applicationId }).catch(() => {}); // the next try drops it
      throw error;
    }
  }
  await finishMove(applicationId, services);
}

/**
 * Goes on with a move that has been decided, until nothing is left of the application here. Can be done as often as one
 * likes.
 *
 * 5. The main region is told.
 * 6. The other region serves it.
 * 7. Here it is deleted, but for where it is: old tokens are refused with that, and registrations carried out there.
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
      if (!(error instanceof ApiError && error.condition === "ObjectPermissionDenied")) throw error; // it has moved on
    });
  };
  await tellMain(to, own);
  if ((await regionCalls.call(to, "openApplication", { appid })) !== true) {
    // It is nowhere else, so it is here.
    await tellMain(own, to);
    const isLost = await database.write(async (transaction) => {
      if (!(await isStillDecided(decided, transaction.queries))) return false;
      revocations.judgeAgain(transaction);
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
    revocations.judgeAgain(transaction);
    await updateApplicationDeleted(appid, at, queries);
    await putApplicationRegion({ application_id: appid, region: to, state: "there", changed_at: at }, queries);
    return true;
  });
  if (!isGone) return;
  await deleteApplicationRows(appid, services, { signal });
}

/** False when somebody else has finished that move meanwhile: the application may be back by now, and be moving again. */
async function isStillDecided(decided: ApplicationRegionRow, queries: Queries): Promise<boolean> {
  const now = await findApplicationRegion(decided.application_id, queries);
  return now?.state === "handing over" && now.region === decided.region && now.changed_at === decided.changed_at;
}

/** Gives up a move that broke off before it was decided. @throws MoveRefused when there is none */
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
 * Serves it here again, unless it has been decided after all: a commit may be on disk that nobody was told of.
 *
 * @returns whether it has
 */
function giveUp(applicationId: string, database: Database): Promise<boolean> {
  return database.write(async ({ queries }) => {
    const known = await findApplicationRegion(applicationId, queries);
    if (known?.state === "handing over") return true;
    await unmarkMoving(applicationId, queries);
    return false;
  });
}

/** The main region would send clients elsewhere. @throws MoveRefused */
async function requireKnownHere(appid: string, { region: own, regionCalls }: MoveServices): Promise<void> {
  if (own === mainRegion) return;
  const known = await regionCalls.call(mainRegion, "findRegion", { appid });
  if (known !== null && known !== own) {
    throw new MoveRefused(`the region ${mainRegion} says that ${appid} lives in the region ${String(known)}`);
  }
}

/** Of an object that the application has in the store of this region, by which the other one tells whether it has the same. */
async function findAnyKey(appid: string, queries: Queries): Promise<string | undefined> {
  const file = await queries
    .selectFrom("files")
    .select("id")
    .where("application_id", "=", appid)
    .limit(1)
    .executeTakeFirst();
  return file && originalKey(appid, file.id);
}

/** Waits until what an earlier move has left there is gone. @throws MoveRefused, ApiError */
async function askForRoom(
  asked: { readonly appid: string; readonly key: string | undefined },
  to: string,
  { regionCalls }: MoveServices,
  signal: AbortSignal | undefined,
): Promise<void> {
  const deadline = performance.now() + roomMsMax;
  const message = { appid: asked.appid, ...(asked.key !== undefined && { key: asked.key }) };
  for (;;) {
    const { isFree } = Object(await regionCalls.call(to, "makeRoom", message)) as { isFree?: unknown }; // as it answers
    if (isFree === true) return;
    if (performance.now() > deadline) throw new MoveRefused(`${asked.appid} is still being erased in the region ${to}`);
    await sleep(250, undefined, signal && { signal });
  }
}

/** @throws MoveRefused; ApiError ServiceUnavailable, and whatever the other region refuses it for */
async function send(appid: string, to: string, services: MoveServices, options: MoveOptions): Promise<void> {
  const { isWithoutLost = false, signal, onProgress } = options;
  let end: ArchiveEnd | undefined;
  async function* archive() {
    end = yield* archiveApplication(appid, services);
  }
  const digest = createHash("sha256");
  let bytes = 0;
  async function* measured() {
    for await (const chunk of archive()) {
      signal?.throwIfAborted();
      digest.update(chunk);
      bytes += chunk.length;
      onProgress?.(bytes);
      yield chunk;
    }
  }
  const answer = Object(await services.regionCalls.send(to, "takeIn", appid, measured())) as Record<string, unknown>; // compared with what was sent
  if (answer["digest"] !== digest.digest("hex") || answer["isWhole"] !== true) {
    throw new ApiError("ServiceUnavailable", `What came to the region ${to} is not what was sent`);
  }
  const lost = end?.missing.lost ?? 0;
  if (lost > 0 && !isWithoutLost) {
    throw new MoveRefused(
      `${appid} stays, as ${lost} files have no bytes in the store: is FILES_URL that of the server? apps export names them; with --force it moves without them`,
    );
  }
}
