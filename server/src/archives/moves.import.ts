import { createHash } from "node:crypto";
import { deleteApplicationRows } from "../applications/applications.store.ts";
import type { Audit } from "../audit/audit.ts";
import type { Revocations } from "../auth/revocations.ts";
import { compileParameters } from "../contract/parameters.ts";
import { Type } from "../contract/schema.ts";
import { IdInput, Text } from "../contract/wire.ts";
import type { Database } from "../db/database.ts";
import type { Background } from "../jobs/background.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import type { RegionCalls } from "../regions/regions.calls.ts";
import {
  deleteApplicationRegion,
  findApplicationRegion,
  hasArrived,
  putApplicationRegion,
} from "../regions/regions.directory.store.ts";
import type { RegionHandlers, StreamHandler } from "../regions/regions.endpoint.ts";
import type { Regions } from "../regions/regions.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { ArchiveError } from "./format.ts";
import { importApplication } from "./import-application.ts";
import { directoryHandlers, onApplication } from "./moves.directory.ts";
import { dropArrived, findPresence, isServed, listArrived, markMoving, serveArrived } from "./moves.store.ts";
import type { PasswordCosts } from "./password-hashes.ts";

interface Services extends PasswordCosts {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly secrets: Secrets;
  readonly regions: Regions;
  readonly background: Background;
  readonly revocations: Revocations;
  readonly audit: Audit;
  readonly clock: Clock;
}

const aboutRoom = compileParameters(
  Type.Object({ appid: IdInput("App"), key: Type.Optional(Text({ maxLength: 1_024 })) }),
);
/** Handles the calls that `moves.export.ts` makes to the import side of a move. All of them are idempotent. */
export function moveHandlers(services: Services): RegionHandlers {
  const { database, bytes, background, revocations, audit, clock } = services;
  const { own } = services.regions;

  /**
   * Deletes the data of an earlier attempt.
   * @returns whether the application can be accepted
   */
  async function makeRoom(appid: string): Promise<boolean> {
    const isDropped = await database.write(({ queries }) => dropArrived(appid, own, clock.now(), queries));
    if (isDropped) {
      background.run("deleteApplicationRows", (signal) =>
        deleteApplicationRows(appid, { database, bytes }, { signal }),
      );
    }
    const here = await findPresence(appid, database.reads);
    if (here !== undefined && here.deleted_at === null)
      throw new ApiError("ItemAlreadyExists", `${appid} already exists here.`);
    return here === undefined;
  }

  return {
    makeRoom: {
      takes: "message",
      async answer(message) {
        const { appid, key } = aboutRoom(Object.entries(Object(message)));
        const isFree = await makeRoom(appid);
        // Two regions must not share a store: erasing the application in one of them would delete the files of both.
        if (isFree && key?.startsWith(`${appid}/`) && (await bytes.size(key)) !== undefined) {
          throw new ApiError(
            "ItemAlreadyExists",
            `The files of ${appid} are here already: each region has its own FILES_URL.`,
          );
        }
        return { isFree };
      },
    },
    takeIn: importHandler(services),

    /** Starts to serve the application. @returns false if it is not here */
    openApplication: onApplication((appid, from) =>
      database.write(async (transaction) => {
        const { queries } = transaction;
        if (await serveArrived(appid, own, queries)) {
          await revocations.invalidatePolicies(appid, transaction);
          // Lets a repeated call recognize an application that arrived, even if it has been moved on or deleted since.
          const row = { application_id: appid, region: own, state: "arrived", changed_at: clock.now() } as const;
          await putApplicationRegion(row, queries);
          const target = { applicationId: appid, target: appid };
          await audit.record(
            { actor: { kind: "system" }, action: "moveApplication", ...target, details: { from, to: own } },
            queries,
          );
          return true;
        }
        // An earlier call may have opened it, and it may have been moved on or deleted since.
        const here = await findPresence(appid, queries);
        if (here?.deleted_at === null || (await hasArrived(appid, queries))) return true;
        const next = await findApplicationRegion(appid, queries);
        return next !== undefined && next.region !== from;
      }),
    ),

    dropApplication: onApplication(async (appid) => {
      await makeRoom(appid);
      return true;
    }),

    /** Returns whether the application is served here. */
    hasApplication: onApplication(async (appid) => isServed(await findPresence(appid, database.reads))),

    ...directoryHandlers(services),
  };
}

/** Imports an application, which is not served until the sending region has confirmed the digest. */
function importHandler(services: Services): StreamHandler {
  const { own } = services.regions;
  return {
    takes: "bytes",
    async answer(chunks, { subject, isWhole }) {
      const digest = createHash("sha256");
      async function* measured() {
        for await (const chunk of chunks) {
          digest.update(chunk);
          yield chunk;
        }
      }
      const archive = measured();
      try {
        const { rows, end } = await importApplication(
          archive,
          { ...services, region: own },
          {
            async finish(appid, { queries }) {
              if (appid !== subject) throw new ArchiveError(`The archive is of ${appid}`);
              await markMoving(appid, own, queries);
              // Left by an earlier move.
              if (await hasArrived(appid, queries)) await deleteApplicationRegion(appid, queries);
            },
          },
        );
        for await (const _ of archive); // the digest includes bytes after the end
        return { digest: digest.digest("hex"), rows, files: end.files, isWhole: isWhole() };
      } catch (error) {
        if (error instanceof ArchiveError) throw new ApiError("ParameterIncorrectFormat", error.message);
        throw error;
      }
    },
  };
}

interface LeftoverServices {
  readonly database: Database;
  readonly regions: Pick<Regions, "own" | "others">;
  readonly regionCalls: Pick<RegionCalls, "call">;
  readonly clock: Clock;
}

/**
 * Drops the data of interrupted moves to this region: an application that another region serves has not moved here.
 * Maintenance erases it afterwards.
 */
export async function dropLeftovers(
  { database, regions, regionCalls, clock }: LeftoverServices,
  signal?: AbortSignal,
): Promise<void> {
  const { own, others } = regions;
  for (const appid of await listArrived(own, database.reads)) {
    for (const region of others) {
      signal?.throwIfAborted();
      // Maintenance calls an unreachable region again later.
      const isThere = await regionCalls.call(region, "hasApplication", { appid }).catch(() => false);
      if (isThere !== true) continue;
      await database.write(({ queries }) => dropArrived(appid, own, clock.now(), queries));
      break;
    }
  }
}
