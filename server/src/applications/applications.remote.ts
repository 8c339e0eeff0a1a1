import { mainRegion } from "../config/regions.ts";
import { compileParameters } from "../contract/parameters.ts";
import { movingError } from "../contract/policy.ts";
import { Type } from "../contract/schema.ts";
import { IdInput, Text } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import { lockApplication } from "../db/lock.ts";
import { ApiError } from "../lib/errors.ts";
import { digestSecret } from "../lib/secrets.ts";
import type { Services } from "../operations/services.ts";
import { findApplicationRegion } from "../regions/regions.directory.store.ts";
import type { MessageHandler } from "../regions/regions.endpoint.ts";
import {
  deleteApplicationRows,
  findLiveApplication,
  insertApplication,
  updateApplicationDeleted,
} from "./applications.store.ts";

/**
 * Creates an application for the main region. The main region chooses its id and key, so that it can retry after a lost
 * response.
 */
export function creationHandler({
  database,
  audit,
  clock,
  ids,
}: Pick<Services, "database" | "audit" | "clock" | "ids">): MessageHandler {
  const readMessage = compileParameters(
    Type.Object({ appid: IdInput("App"), appkey: Text({ maxLength: 256 }), name: Text({}) }),
  );
  return {
    takes: "message",
    async answer(message, from) {
      requireMain(from);
      const { appid, appkey, name } = readMessage(Object.entries(Object(message)));
      return database.write(async ({ queries }) => {
        if (await isTaken(appid, queries)) {
          if (await hasKey(appid, appkey, queries)) return true;
          throw new ApiError("ItemAlreadyExists");
        }
        await insertApplication(name, { clock, ids }, queries, { appid, appkey });
        await audit.record(auditEventOf(from, "createApplication", appid), queries);
        return true;
      });
    },
  };
}

/**
 * Deletes an application of this region for the main region, and succeeds if it does not exist. A moving application is
 * refused, because the other region would return it, and so is an application that has moved, which its new region deletes.
 */
export function deletionHandler({
  database,
  bytes,
  background,
  revocations,
  audit,
  clock,
}: Pick<Services, "database" | "bytes" | "background" | "revocations" | "audit" | "clock">): MessageHandler {
  const readMessage = compileParameters(Type.Object({ appid: IdInput("App") }));
  return {
    takes: "message",
    async answer(message, from) {
      requireMain(from);
      const { appid } = readMessage(Object.entries(Object(message)));
      const isThere = await database.write(async (transaction) => {
        await lockApplication(database.dialect, appid, transaction.queries);
        await requireAtRest(appid, transaction.queries);
        await revocations.invalidatePolicies(appid, transaction);
        const isMarked = await updateApplicationDeleted(appid, clock.now(), transaction.queries);
        if (isMarked) await audit.record(auditEventOf(from, "deleteApplication", appid), transaction.queries);
        return isMarked;
      });
      // If a shutdown interrupts this, maintenance finishes it.
      if (isThere) {
        background.run("deleteApplicationRows", (signal) =>
          deleteApplicationRows(appid, { database, bytes }, { signal }),
        );
      }
      return isThere;
    },
  };
}

/** @throws ApiError AuthFailed */
function requireMain(from: string): void {
  if (from !== mainRegion) throw new ApiError("AuthFailed", `Only the region ${mainRegion} may call this.`);
}

/** @throws ApiError ServiceUnavailable, ObjectPermissionDenied */
async function requireAtRest(appid: string, queries: Queries): Promise<void> {
  const here = await findLiveApplication(appid, queries);
  if (here !== undefined && here.moving_to !== null) throw movingError();
  const known = here === undefined ? await findApplicationRegion(appid, queries) : undefined;
  if (known !== undefined) {
    throw new ApiError("ObjectPermissionDenied", `${appid} has moved to the region ${known.region}.`);
  }
}

async function isTaken(appid: string, queries: Queries): Promise<boolean> {
  const here = await queries
    .selectFrom("applications")
    .select("application_id")
    .where("application_id", "=", appid)
    .executeTakeFirst();
  return here !== undefined || (await findApplicationRegion(appid, queries)) !== undefined;
}

async function hasKey(appid: string, appkey: string, queries: Queries): Promise<boolean> {
  const key = await queries
    .selectFrom("application_keys")
    .select("id")
    .where("application_id", "=", appid)
    .where("digest", "=", digestSecret(appkey))
    .executeTakeFirst();
  return key !== undefined;
}

function auditEventOf(region: string, action: string, appid: string) {
  return { actor: { kind: "system" }, action, applicationId: appid, target: appid, details: { region } } as const;
}
