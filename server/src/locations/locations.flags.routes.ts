import { requireApplication } from "../auth/operated-application.ts";
import { Type } from "../contract/schema.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { lockRow } from "../db/lock.ts";
import { readPage } from "../db/search/page.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import { getReadable } from "../owned/store.ts";
import { locationContract } from "./locations.contract.ts";
import {
  FlagLocation,
  ListLocationFlags,
  LocationFlagPage,
  LocationFlagsPath,
  presentFlag,
} from "./locations.flags.contract.ts";
import { flagsStream, putFlag } from "./locations.flags.store.ts";

const flagLocation = operation({
  method: "POST",
  path: "/locations/{locationId}/flag",
  operation: "flagLocation",
  summary: "Report a location to the operators; replaces an earlier report of the same user",
  description: "Tells the operators that something about a location is wrong.",
  tag: "Locations",
  caller: "user",
  pathParameters: locationContract.Path,
  parameters: FlagLocation,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { locationId = "" }, parameters }, { database, clock, ids, events }) {
    const { applicationId: application_id, userId: user_id } = caller;
    const now = clock.now();
    const { flagReason: reason = null, comment = null } = parameters;
    const id = ids.newId("LocationFlag");
    const flag = {
      application_id,
      id,
      object_id: locationId,
      user_id,
      reason,
      comment,
      created_at: now,
      modified_at: now,
    };
    await database.write(async ({ queries }) => {
      // Locked, so that a deletion of the location also erases the flag.
      await lockRow(database.dialect, "locations", application_id, locationId, queries);
      const found = await getReadable("locations", application_id, user_id, locationId, queries);
      await putFlag(flag, queries).catch((error) => {
        throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
      });
      const event = { type: "location.flagged", objectId: locationId, userId: found.user_id } as const;
      await events.record(application_id, event, queries);
    });
    return true as const;
  },
});

const listFlags = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/location-flags",
  operation: "listLocationFlags",
  summary: "List the flags of locations, newest first",
  description: "Reports of users about locations.",
  tag: "Operators",
  caller: "operator",
  pathParameters: LocationFlagsPath,
  parameters: ListLocationFlags,
  status: 200,
  result: LocationFlagPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters, call }, { database, paging }) {
    const listing = `location flags of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    const flags = flagsStream(appid, request.filters, database.reads);
    const page = await readPage(flags, request.position, request.size, call.work);
    return paging.present(listing, caller, request, page, presentFlag);
  },
});

/** Flags: users' reports about locations, for operators. */
export const locationFlagOperations = [flagLocation];
export const locationFlagOperatorOperations = [listFlags];
