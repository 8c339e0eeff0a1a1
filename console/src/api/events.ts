import type { Static } from "../../../server/src/contract/schema.ts";
import type { OperatedEventPage } from "../../../server/src/events/events.operator.contract.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type LoggedEvent = Static<typeof OperatedEventPage>["pageResults"][number];

interface EventFilters {
  readonly type?: string;
  readonly objectID?: string;
  readonly userID?: string;
  readonly created?: string;
}

export const listEvents = operation<
  { appid: string } & EventFilters & PageParameters,
  Static<typeof OperatedEventPage>
>("GET", "/applications/{appid}/events", ["appid", "type", "objectID", "userID", "created", "pageSize", "pagingToken"]);

export const getEvent = operation<{ appid: string; sequence: string }, LoggedEvent>(
  "GET",
  "/applications/{appid}/events/{sequence}",
  ["appid", "sequence"],
);
