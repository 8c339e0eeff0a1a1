import type { Database } from "../db/database.ts";
import type { CheckinRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import {
  Checkin,
  CheckinPage,
  CheckinPath,
  CreateCheckin,
  presentCheckin,
  SearchCheckins,
} from "./checkins.contract.ts";
import { checkinKey, findCheckin, insertCheckin, listCheckins } from "./checkins.store.ts";

/** Check-ins at places (service.md "Endpoints", surface.md section 7). */
export function checkinsRoutes(services: {
  readonly database: Database;
  readonly paging: Paging;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, paging, clock, ids } = services;

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
    async handle({ caller, parameters: { location, comment, description } }) {
      const now = clock.now();
      const checkin: CheckinRow = {
        application_id: caller.applicationId,
        id: ids.newId("Checkin"),
        user_id: caller.userId,
        lat: location.lat,
        lng: location.lng,
        comment: comment ?? null,
        description: description ?? null,
        created_at: now,
        modified_at: now,
      };
      await database.write(({ queries }) => insertCheckin(checkin, queries));
      return presentCheckin(checkin);
    },
  });

  const searchCheckins = route({
    method: "GET",
    path: "/checkins",
    operation: "searchCheckins",
    summary: "List one's check-ins, newest first",
    tag: "Check-ins",
    caller: "user",
    parameters: SearchCheckins,
    status: 200,
    result: CheckinPage,
    errors: [],
    async handle({ caller, parameters }) {
      const { created, lastModified } = parameters;
      const request = paging.read("checkins", caller, parameters, { created, lastModified });
      const { filters, position, size } = request;
      const page = await listCheckins(caller.applicationId, caller.userId, filters, position, size, database.reads);
      return paging.present("checkins", caller, request, page, checkinKey, presentCheckin);
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
      return presentCheckin(checkin);
    },
  });

  return [createCheckin, searchCheckins, getCheckin];
}
