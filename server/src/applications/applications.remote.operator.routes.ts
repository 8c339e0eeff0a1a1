import { sql } from "kysely";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, named, type Static, Type } from "../contract/schema.ts";
import { sortOrders } from "../contract/search.ts";
import { Choice, WireDate } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import { condition, tieOrder } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { ApplicationRegionRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";

const RemoteState = enumeration("RemoteApplicationState", "The state of a remote application.", {
  "being made": "It may exist there: the region has not confirmed it.",
  there: "It is there.",
  "handing over": "A move that has not been finished yet.",
});

const RemoteApplication = named(
  "RemoteApplication",
  "An application in another region.",
  Type.Object({
    id: Type.String(),
    region: Type.String({ description: "The name of the region." }),
    serviceRoot: Type.Optional(Type.String({ format: "uri", description: "The base address of its calls." })),
    state: RemoteState,
    changed: { ...WireDate, description: "The time of the last change of the state." },
  }),
);

const RemoteApplicationPage = PageOf(RemoteApplication);

const ListApplicationsElsewhere = Type.Object({
  sortOrder: Type.Optional(
    Choice(sortOrders("CreatedSortOrder", ["created"]), {
      description: "The order of the applications.",
      default: "created",
    }),
  ),
  ...pagingParameters,
});

function present(
  { id, region, state, changed_at }: ListedRow,
  { regions }: Services,
): Static<typeof RemoteApplication> {
  const serviceRoot = regions.rootOf(region);
  return { id, region, ...(serviceRoot !== undefined && { serviceRoot }), state, changed: formatDate(changed_at) };
}

const listApplicationsElsewhere = operation({
  method: "GET",
  path: "/_/api/applications-elsewhere",
  operation: "listApplicationsElsewhere",
  summary: "List the applications in other regions: in the main region all, in other regions those that moved away",
  description: "Returns each with its region and the state of its move.",
  tag: "Operators",
  caller: "operator",
  parameters: ListApplicationsElsewhere,
  status: 200,
  result: RemoteApplicationPage,
  errors: [],
  async handle({ caller, parameters, call }, services) {
    const { paging, database } = services;
    const request = await paging.read("applications elsewhere", caller, parameters, call);
    const isDescending = request.filters.sortOrder === "-created";
    const page = await listRemote(isDescending, request.position, request.size, database.reads);
    return paging.present("applications elsewhere", caller, request, page, (row) => present(row, services));
  },
});

type ListedRow = Pick<ApplicationRegionRow, "region" | "changed_at"> & {
  readonly id: string;
  readonly state: Exclude<ApplicationRegionRow["state"], "arrived">;
};

/** Lists a page of remote applications in the order of their ids, which is the order of creation. */
function listRemote(
  isDescending: boolean,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<ListedRow>> {
  const scope = {
    shape: "applications elsewhere",
    from: sql`application_regions`,
    select: sql`application_id as id, region, state, changed_at`,
    conditions: [condition("is elsewhere", {}, () => sql`state <> 'arrived'`)],
  };
  return readPage(scopeStream<ListedRow>(scope, tieOrder("application_id"), isDescending, queries), position, size);
}

/** The remote applications in the directory of this region, for operators. */
export const remoteApplicationOperations = [listApplicationsElsewhere];
