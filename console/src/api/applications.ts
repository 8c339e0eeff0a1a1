import { queryOptions } from "@tanstack/react-query";
import type {
  ApplicationPage,
  CreatedApplication,
  Application as WireApplication,
} from "../../../server/src/applications/applications.operator.contract.ts";
import type { RemoteApplicationPage } from "../../../server/src/applications/applications.remote.operator.routes.ts";
import type { Static } from "../../../server/src/contract/schema.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type Application = Static<typeof WireApplication>;
interface OfApplication {
  readonly appid: string;
}

export interface ApplicationFilters {
  readonly include?: "activity";
  readonly namePrefix?: string | undefined;
  readonly state?: string | undefined;
  readonly sortOrder?: string | undefined;
}

export const listApplications = operation<ApplicationFilters & PageParameters, Static<typeof ApplicationPage>>(
  "GET",
  "/applications",
  ["include", "namePrefix", "state", "sortOrder", "pageSize", "pagingToken"],
);

/** An application in another region, of which this one knows no name. */
export type RemoteApplication = Static<typeof RemoteApplicationPage>["pageResults"][number];

export const listApplicationsElsewhere = operation<
  { readonly sortOrder?: "created" | "-created" } & PageParameters,
  Static<typeof RemoteApplicationPage>
>("GET", "/applications-elsewhere", ["sortOrder", "pageSize", "pagingToken"]);

/** Enough for a menu, and shared by all lists of application names. */
export const firstApplicationsQuery = queryOptions({
  queryKey: ["applications", "first"],
  queryFn: ({ signal }) => listApplications({ pageSize: 50 }, { signal }),
  staleTime: 60_000,
});

export const createApplication = operation<{ name: string }, Static<typeof CreatedApplication>>(
  "POST",
  "/applications",
  ["name"],
);

export const getApplication = operation<OfApplication, Application>("GET", "/applications/{appid}", ["appid"]);

export const renameApplication = operation<OfApplication & { name: string }, Application>(
  "PATCH",
  "/applications/{appid}",
  ["appid", "name"],
);

export const suspendApplication = operation<OfApplication, Application>("POST", "/applications/{appid}/suspend", [
  "appid",
]);

export const resumeApplication = operation<OfApplication, Application>("POST", "/applications/{appid}/resume", [
  "appid",
]);

/** Its keys stay valid. */
export const endTokensOfApplication = operation<OfApplication, true>("POST", "/applications/{appid}/revoke-tokens", [
  "appid",
]);

export const deleteApplication = operation<OfApplication & { confirm: string }, true>(
  "DELETE",
  "/applications/{appid}",
  ["appid", "confirm"],
);
