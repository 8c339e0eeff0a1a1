import type { Database } from "../db/database.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import { ApplicationPage, ListApplications, presentApplication } from "./applications.operator.contract.ts";
import { listLiveApplications } from "./applications.store.ts";

/** What operators see of the applications of their deployment. */
export function applicationsOperatorRoutes(services: {
  readonly database: Database;
  readonly paging: Paging;
}): Route[] {
  const { database, paging } = services;

  const listApplications = route({
    method: "GET",
    path: "/_/api/applications",
    operation: "listApplications",
    summary: "List the applications, oldest first",
    tag: "Operators",
    caller: "operator",
    parameters: ListApplications,
    status: 200,
    result: ApplicationPage,
    errors: [],
    async handle({ caller, parameters }) {
      const request = paging.read("applications", caller, parameters);
      const page = await listLiveApplications(request.position, request.size, database.reads);
      return paging.present("applications", caller, request, page, presentApplication);
    },
  });

  return [listApplications];
}
