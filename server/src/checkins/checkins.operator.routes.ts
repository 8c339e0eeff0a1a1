import { requireApplication } from "../auth/operated-application.ts";
import type { Database } from "../db/database.ts";
import { searchPage } from "../db/search.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import {
  OperatedCheckin,
  OperatedCheckinPage,
  OperatedCheckinPath,
  OperatedCheckinsPath,
  presentOperatedCheckin,
  SearchOperatedCheckins,
} from "./checkins.operator.contract.ts";
import { operatedCheckinSearch } from "./checkins.operator.search.ts";
import { findLiveCheckin } from "./checkins.store.ts";

/** Check-ins of an application for operators, private ones included, at their true locations. */
export function checkinsOperatorRoutes(services: { readonly database: Database; readonly paging: Paging }): Route[] {
  const { database, paging } = services;

  const searchCheckins = route({
    method: "GET",
    path: "/_/api/applications/{appid}/checkins",
    operation: "searchOperatedCheckins",
    summary: "Search the check-ins of an application, whoever may read them",
    tag: "Operators",
    caller: "operator",
    pathParameters: OperatedCheckinsPath,
    parameters: SearchOperatedCheckins,
    status: 200,
    result: OperatedCheckinPage,
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: { appid }, parameters, call }) {
      const listing = `checkins of ${appid}`;
      const request = await paging.read(listing, caller, parameters, call);
      await requireApplication(appid, database.reads);
      const search = operatedCheckinSearch(appid, request.filters);
      const page = await searchPage(search, request.position, request.size, database.reads, call.work);
      return paging.present(listing, caller, request, page, presentOperatedCheckin);
    },
  });

  const getCheckin = route({
    method: "GET",
    path: "/_/api/applications/{appid}/checkins/{checkinId}",
    operation: "getOperatedCheckin",
    summary: "Read a check-in",
    tag: "Operators",
    caller: "operator",
    pathParameters: OperatedCheckinPath,
    status: 200,
    result: OperatedCheckin,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid, checkinId } }) {
      await requireApplication(appid, database.reads);
      const checkin = await findLiveCheckin(appid, checkinId, database.reads);
      if (checkin === undefined) throw new ApiError("ItemDoesNotExist");
      return presentOperatedCheckin(checkin);
    },
  });

  return [searchCheckins, getCheckin];
}
