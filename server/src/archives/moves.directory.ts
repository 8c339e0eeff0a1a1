import { compileParameters } from "../contract/parameters.ts";
import { movingError } from "../contract/policy.ts";
import { Type } from "../contract/schema.ts";
import { IdInput, Text } from "../contract/wire.ts";
import type { Database } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { findApplicationRegion, putApplicationRegion } from "../regions/regions.directory.store.ts";
import type { RegionHandlers } from "../regions/regions.endpoint.ts";
import type { Regions } from "../regions/regions.ts";
import { onApplication } from "./moves.messages.ts";
import { findPresence, isServed } from "./moves.store.ts";

const regionName = Text({ maxLength: 32 });
const aboutRegion = compileParameters(Type.Object({ appid: IdInput("App"), region: regionName, was: regionName }));

interface Services {
  readonly database: Database;
  readonly regions: Regions;
  readonly clock: Clock;
}

/** Calls about the directory, in which the main region records where each application is. */
export function directoryHandlers({ database, regions, clock }: Services): RegionHandlers {
  const { own } = regions;
  return {
    /** The region that the main region has on record for the application. */
    findRegion: onApplication(async (appid) => {
      requireMain(regions);
      if (isServed(await findPresence(appid, database.reads))) return own;
      const known = await findApplicationRegion(appid, database.reads);
      if (known?.state === "handing over") throw movingError();
      return known?.region ?? null;
    }),

    /** Called by the region that has the application to hand it over, or to take back what has not arrived. */
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
          // An application that has arrived but is not served yet does not count as being here.
          const host = here?.deleted_at === null && here.moving_to !== own ? own : known?.region;
          // In the last case the call is repeated.
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
