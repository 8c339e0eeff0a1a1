import type { Background } from "../background.ts";
import type { Database } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { lockRow } from "../db/lock.ts";
import { searchPage } from "../db/search.ts";
import type { CheckinRow } from "../db/tables.ts";
import { eraseMetadataOf, finishErasure } from "../erasure/metadata-erasure.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { changedPermissions, newPermissions, requireOwner } from "../http/permissions.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import { changedText } from "../http/wire.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Location } from "../lib/locations.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import { noteSharing } from "../privacy/sharing.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import {
  ChangeCheckin,
  Checkin,
  CheckinPage,
  CheckinPath,
  CreateCheckin,
  presentCheckin,
  SearchCheckins,
} from "./checkins.contract.ts";
import { checkinSearch } from "./checkins.search.ts";
import { deleteCheckin, findCheckin, insertCheckin, updateCheckin } from "./checkins.store.ts";

/** Endpoints for check-ins (spec/checkins). */
export function checkinsRoutes(services: {
  readonly database: Database;
  readonly background: Background;
  readonly paging: Paging;
  readonly fuzzing: Fuzzing;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, background, paging, fuzzing, clock, ids } = services;

  const createCheckin = route({
    method: "POST",
    path: "/checkins",
    operation: "createCheckin",
    summary: "Check in at a place",
    tag: "Check-ins",
    caller: "user",
    parameters: CreateCheckin,
    status: 201,
    result: Checkin,
    errors: [],
    async handle({ caller: { applicationId, userId }, parameters }) {
      const { location, comment, description, tag } = parameters;
      const permissions = newPermissions(parameters);
      const now = clock.now();
      const id = ids.newId("Checkin");
      const checkin = await database.write(async ({ queries }) => {
        const row: CheckinRow = {
          application_id: applicationId,
          id,
          user_id: userId,
          setter_id: null,
          ...(await fuzzing.locate({ applicationId, userId, setterId: userId, location }, queries)),
          comment: comment ?? null,
          description: description ?? null,
          tag: tag ?? null,
          ...permissions,
          created_at: now,
          modified_at: now,
        };
        await insertCheckin(row, queries).catch((error) => {
          // The user was deleted after the token was checked.
          throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
        });
        return row;
      });
      return presentCheckin(checkin, userId);
    },
  });

  const searchCheckins = route({
    method: "GET",
    path: "/checkins",
    operation: "searchCheckins",
    summary: "Search one's own check-ins and those that others share",
    tag: "Check-ins",
    caller: "user",
    parameters: SearchCheckins,
    status: 200,
    result: CheckinPage,
    errors: [],
    async handle({ caller, parameters, call }) {
      const request = await paging.read("checkins", caller, parameters, call);
      const { filters, position, size } = request;
      const search = checkinSearch(caller.applicationId, caller.userId, filters);
      const page = await searchPage(search, position, size, database.reads, call.work);
      return paging.present("checkins", caller, request, page, (row) => presentCheckin(row, caller.userId));
    },
  });

  const getCheckin = route({
    method: "GET",
    path: "/checkins/{checkinId}",
    operation: "getCheckin",
    summary: "Read one check-in",
    tag: "Check-ins",
    caller: "user",
    pathParameters: CheckinPath,
    status: 200,
    result: Checkin,
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path }) {
      const checkin = await findCheckin(caller.applicationId, caller.userId, path.checkinId, database.reads);
      if (checkin === undefined) throw new ApiError("ItemDoesNotExist");
      return presentCheckin(checkin, caller.userId);
    },
  });

  const changeCheckin = route({
    method: "PATCH",
    path: "/checkins/{checkinId}",
    operation: "changeCheckin",
    summary: "Change a check-in: one's own, or one that its owner lets others write",
    tag: "Check-ins",
    caller: "user",
    pathParameters: CheckinPath,
    parameters: ChangeCheckin,
    status: 200,
    result: Checkin,
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
    async handle({ caller: { applicationId, userId }, path, parameters }) {
      const changed = await database.write(async ({ queries }) => {
        await lockRow(database.dialect, "checkins", applicationId, path.checkinId, queries);
        const found = await findCheckin(applicationId, userId, path.checkinId, queries);
        if (found === undefined) throw new ApiError("ItemDoesNotExist");
        const permissions = changedPermissions(found, userId, parameters);
        const { location } = parameters;
        const row: CheckinRow = {
          ...found,
          ...permissions,
          ...(location !== undefined &&
            !isSeenAt(found, userId, location) && {
              setter_id: userId === found.user_id ? null : userId,
              ...(await fuzzing.locate({ applicationId, userId: found.user_id, setterId: userId, location }, queries)),
            }),
          comment: changedText(found.comment, parameters.comment),
          description: changedText(found.description, parameters.description),
          tag: changedText(found.tag, parameters.tag),
          modified_at: clock.now(),
        };
        await noteSharing(found, row, fuzzing, queries);
        await updateCheckin(row, queries);
        return row;
      });
      return presentCheckin(changed, userId);
    },
  });

  const removeCheckin = route({
    method: "DELETE",
    path: "/checkins/{checkinId}",
    operation: "deleteCheckin",
    summary: "Delete one's own check-in",
    tag: "Check-ins",
    caller: "user",
    pathParameters: CheckinPath,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
    async handle({ caller: { applicationId, userId }, path }) {
      const { checkinId } = path;
      await database.write(async ({ queries, afterCommit }) => {
        const found = await findCheckin(applicationId, userId, checkinId, queries);
        if (found === undefined) throw new ApiError("ItemDoesNotExist");
        requireOwner(found, userId);
        const isDeleted = await deleteCheckin(applicationId, checkinId, queries);
        if (!isDeleted) throw new ApiError("ItemDoesNotExist");
        // After the check-in: by then, transactions that were writing its metadata have ended.
        if (await eraseMetadataOf(applicationId, checkinId, queries)) return;
        afterCommit(() =>
          background.run("finishErasure", (signal) => finishErasure(applicationId, checkinId, database, signal)),
        );
      });
      return true as const;
    },
  });

  return [createCheckin, searchCheckins, getCheckin, changeCheckin, removeCheckin];
}

/**
 * Whether the location in a request equals the one that the caller sees. Clients send whole objects back, and an
 * unchanged location must neither replace the true location by the fuzzed one nor change whose location it is.
 */
function isSeenAt(checkin: CheckinRow, userId: string, location: Location): boolean {
  const seen = shownLocation(checkin, checkin.user_id === userId);
  return seen?.lat === location.lat && seen.lng === location.lng;
}
