import { compileParameters } from "../contract/parameters.ts";
import { movingError } from "../contract/policy.ts";
import { Type } from "../contract/schema.ts";
import { IdInput, Text } from "../contract/wire.ts";
import type { Database } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { findApplicationRegion, putApplicationRegion } from "../regions/regions.directory.store.ts";
import type { MessageHandler, RegionHandlers } from "../regions/regions.endpoint.ts";
import type { Regions } from "../regions/regions.ts";
import { findPresence, isServed } from "./moves.store.ts";

const regionName = Text({ maxLength: 32 });
const aboutRegion = compileParameters(Type.Object({ appid: IdInput("App"), region: regionName, was: regionName }));

const aboutApplication = compileParameters(Type.Object({ appid: IdInput("App") }));

/** Creates the handler of a call about one application. */
export function onApplication(work: (appid: string, from: string) => Promise<unknown>): MessageHandler {
  return {
    takes: "message",
    answer: (message, from) => work(aboutApplication(Object.entries(Object(message))).appid, from),
  };
}

interface Services {
  readonly database: Database;
  readonly regions: Regions;
  readonly clock: Clock;
}

/** Handles calls about the directory, in which the main region records the region of each application. */
export function directoryHandlers({ database, regions, clock }: Services): RegionHandlers {
  const { own } = regions;
  return {
    /** Returns the region of the application according to the main region. */
    findRegion: onApplication(async (appid) => {
      requireMain(regions);
      if (isServed(await findPresence(appid, database.reads))) return own;
      const known = await findApplicationRegion(appid, database.reads);
      if (known?.state === "handing over") throw movingError();
      return known?.region ?? null;
    }),

    /** Called by the region that has the application, to hand it over or to revert a move that has not arrived. */
    setRegion: {
      takes: "message",
      async answer(message, from) {
        requireMain(regions);
        const { appid, region, was } = aboutRegion(Object.entries(Object(message)));
        if (regions.rootOf(region) === undefined) throw new ApiError("ParameterOutOfRange", "There is no such region.");
        return database.write(async ({ queries }) => {
          const known = await findApplicationRegion(appid, queries);
          if (known?.state === "handing over") throw movingError(); // it must be deleted here first
          const here = await findPresence(appid, queries);
          // An application that has arrived but is not served yet is still in its former region.
          const host = here?.deleted_at === null && here.moving_to !== own ? own : known?.region;
          // The last comparison accepts a repeated call.
          const isTheirs = host === undefined || host === was || host === region;
          if (!isTheirs || host === own || region === own || (was !== from && region !== from)) {
            throw new ApiError("ObjectPermissionDenied", `${appid} is in the region ${host}.`);
          }
          const row = { application_id: appid, region, state: "there", changed_at: clock.now() } as const;
          await putApplicationRegion(row, queries);
          return true;
        });
      },
    },
  };
}

/** @throws ApiError OperationNotFound */
function requireMain({ isMain }: Regions): void {
  if (!isMain) throw new ApiError("OperationNotFound", "Only the main region knows the regions of applications.");
}
