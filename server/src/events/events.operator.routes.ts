import { requireApplication } from "../auth/operated-application.ts";
import { findOperatorBySession } from "../auth/operator-sessions.ts";
import type { Call } from "../contract/call.ts";
import type { OperatorCaller } from "../contract/route.ts";
import type { Static } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import { readPage } from "../db/search/page.ts";
import type { WebhookDeliveryRow } from "../db/tables.ts";
import type { Cursor } from "../event-log/cursors.ts";
import { eventTypes } from "../event-log/event-types.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { isRevocation } from "../event-log/revocations.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { openCursor, readForwards, sizeToReserve } from "./events.forwards.ts";
import {
  DeliveredEvent,
  EventPath,
  EventsPath,
  ListOperatedEvents,
  OperatedEventPage,
  type PresentedOperatedEvent,
  presentEventDelivery,
} from "./events.operator.contract.ts";
import { createOperatorPresenter } from "./events.operator.reading.ts";
import { readPatterns } from "./events.patterns.ts";

const deliveriesMax = 100;

/** Lists the deliveries of an event by webhook, oldest first. */
function listEventDeliveries(applicationId: string, eventId: string, queries: Queries): Promise<WebhookDeliveryRow[]> {
  return queries
    .selectFrom("webhook_deliveries")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("event_id", "=", eventId)
    .orderBy("webhook_id")
    .orderBy("id")
    .limit(deliveriesMax)
    .execute();
}

const listEvents = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/events",
  operation: "listOperatedEvents",
  summary: "List the recorded events, newest first, or follow the log",
  description:
    "Reads a part of the log, so a page may be empty and have a nextToken. Only a call with after starts the recording.",
  tag: "Operators",
  caller: "operator",
  pathParameters: EventsPath,
  parameters: ListOperatedEvents,
  status: 200,
  result: OperatedEventPage,
  errors: ["AuthAPICallDisabledByDeveloper", "ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters: given, call }, services) {
    const { database, paging, eventLog, dispatcher, config } = services;
    await requireApplication(appid, database.reads);
    const { after, waitSeconds = 0, ...parameters } = given;
    if (after !== undefined) {
      const { pageSize = config.pageItemsDefault } = parameters;
      return followEvents(caller, { appid, after, pageSize, waitSeconds, fits: filterOf(parameters) }, call, services);
    }
    if (waitSeconds > 0) throw new ApiError("ParameterMissingRequiredValue", waitNeedsAfter, { parameter: "after" });
    const listing = `events of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    const fits = filterOf(request.filters);
    await eventLog.settle(appid);
    const page = await readPage(eventLog.search(appid, fits), request.position, request.size, call.work);
    const present = createOperatorPresenter({ caller, outer: call, locations: "true" }, { dispatcher });
    const rows: { readonly event: PlacedEvent; readonly shown: PresentedOperatedEvent }[] = [];
    for (const event of page.rows) {
      const shown = await present(event);
      if (shown !== undefined) rows.push({ event, shown });
    }
    const shownPage = { ...page, rows, keyOf: ({ event }: (typeof rows)[number]) => page.keyOf(event) };
    return paging.present(listing, caller, request, shownPage, ({ shown }) => shown);
  },
});

const waitNeedsAfter = "waitSeconds needs after: a page of the newest events does not wait.";

/** @throws ApiError ParameterIncorrectFormat */
function filterOf(filters: Pick<Static<typeof ListOperatedEvents>, "type" | "objectID" | "userID" | "created">) {
  const { type: patterns, objectID, userID, created } = filters;
  const isWanted = readPatterns(patterns, eventTypes, "type");
  const { start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY } = created ?? {};
  return (event: PlacedEvent) =>
    !isRevocation(event) &&
    isWanted(event.type) &&
    (objectID === undefined || event.object_id === objectID) &&
    (userID === undefined || event.user_id === userID) &&
    event.at >= start &&
    event.at <= end;
}

const getEvent = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/events/{sequence}",
  operation: "getOperatedEvent",
  summary: "Read an event",
  description: "Returns the event with its current object and the stored deliveries to webhooks.",
  tag: "Operators",
  caller: "operator",
  pathParameters: EventPath,
  status: 200,
  result: DeliveredEvent,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, sequence }, call }, { database, eventLog, dispatcher }) {
    await requireApplication(appid, database.reads);
    const event = await eventLog.find(appid, sequence);
    const present = createOperatorPresenter({ caller, outer: call, locations: "true" }, { dispatcher });
    const shown = event && (await present(event));
    if (shown === undefined) throw new ApiError("ItemDoesNotExist");
    const deliveries = await listEventDeliveries(appid, shown.id, database.reads);
    return { ...shown, ...(deliveries.length > 0 && { deliveries: deliveries.map(presentEventDelivery) }) };
  },
});

/** The log of an application for operators (spec/events#operators-events). */
export const eventOperatorOperations = [listEvents, getEvent];

/** The parameters of a call that follows the log. */
interface Following {
  readonly appid: string;
  /** A cursor, `start` or `end`. */
  readonly after: string;
  readonly pageSize: number;
  readonly waitSeconds: number;
  fits(event: PlacedEvent): boolean;
}

/** Reads the log of an application forwards, for systems of operators (spec/events#follow-the-log). */
async function followEvents(
  caller: OperatorCaller,
  { appid, after, pageSize, waitSeconds, fits }: Following,
  call: Call,
  services: Services,
): Promise<Static<typeof OperatedEventPage>> {
  const { config, database, paging, eventLog, dispatcher, streams, clock } = services;
  const wanted = sizeToReserve(pageSize, waitSeconds, config.pageItemsMax);
  const { size } = await paging.read(`events of ${appid}`, caller, { pageSize: wanted }, call);
  const given = after === "start" || after === "end" ? undefined : openCursor(appid, after, eventLog);
  const end = await eventLog.findEnd(appid);
  const isReset = given !== undefined && (await eventLog.findGap(appid, given, end)) !== undefined;
  if (after === "end") return { pageResults: [], currentToken: eventLog.seal(appid, end) };
  const start = given === undefined || isReset ? await findStart(appid, end, eventLog) : given;
  if (isReset) return { pageResults: [], currentToken: eventLog.seal(appid, start), isReset };
  const page = await readForwards<PresentedOperatedEvent>(
    start,
    end,
    {
      ...{ applicationId: appid, size, waitSeconds, call },
      createPresenter() {
        const present = createOperatorPresenter({ caller, outer: call, locations: "true" }, { dispatcher });
        return async (event) => (fits(event) ? present(event) : undefined);
      },
      async confirm() {
        const session = await findOperatorBySession(caller.sessionId, database.reads);
        if (session === undefined || session.expires_at <= clock.now()) throw new ApiError("AuthFailed");
        await requireApplication(appid, database.reads);
      },
      acquire: () => streams.acquire(caller),
    },
    services,
  );
  const currentToken = eventLog.seal(appid, page.cursor);
  return { pageResults: page.events, currentToken, ...(page.hasMore && { nextToken: currentToken }) };
}

/** The position before the oldest event that is stored. */
async function findStart(appid: string, end: Cursor, eventLog: Services["eventLog"]): Promise<Cursor> {
  const [oldest] = await eventLog.list(appid, 0, 1);
  return oldest === undefined ? end : { log: end.log, position: oldest.position - 1, id: "" };
}
