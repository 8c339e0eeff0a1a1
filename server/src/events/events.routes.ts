import type { Call } from "../contract/call.ts";
import type { Caller } from "../contract/route.ts";
import type { Cursor } from "../event-log/cursors.ts";
import { msPerRead, rowsPerRead, rowsPerStep } from "../event-log/read-limits.ts";
import { operation } from "../operation.ts";
import type { Services } from "../services.ts";
import { type EventFilters, EventPage, ListEvents, type PresentedEvent } from "./events.contract.ts";
import { openCursor } from "./events.cursor.ts";
import { createPresenter } from "./events.reading.ts";

/** The interval at which a waiting call checks whether the process is still running. */
const lookMs = 500;
const waitingPageSizeMax = 100;

const listEvents = operation({
  method: "GET",
  path: "/events",
  operation: "listEvents",
  summary: "Read the changes since an earlier call",
  description: "Answers with the changes that the caller may read, in their order. To begin, call it without `after`.",
  tag: "Events",
  caller: "device",
  parameters: ListEvents,
  status: 200,
  result: EventPage,
  errors: [],
  async handle({ caller, parameters, call }, services) {
    const { paging, eventLog, config } = services;
    const { applicationId } = caller;
    const { after, pageSize = config.pageItemsDefault, waitSeconds = 0, ...filters } = parameters;
    const isWaiting = waitSeconds > 0 && pageSize <= config.pageItemsMax;
    // A page reserves its memory, which a call must not hold while it waits.
    const wanted = isWaiting ? Math.min(pageSize, waitingPageSizeMax) : pageSize;
    const { size } = await paging.read("events", caller, { pageSize: wanted }, call);
    createPresenter(filters, caller, call, services); // refuses wrong patterns before the log is opened
    const cursor = after === undefined ? undefined : openCursor(applicationId, after, eventLog);
    const end = await eventLog.findEnd(applicationId);
    if (cursor === undefined) return { pageResults: [], currentToken: eventLog.seal(applicationId, end) };
    if ((await eventLog.findGap(applicationId, cursor, end)) !== undefined) {
      return { pageResults: [], currentToken: eventLog.seal(applicationId, end), isReset: true as const };
    }
    const page = await waitForEvents(cursor, end, { filters, size, caller, call, waitSeconds }, services);
    services.streams.notePulled(page.events.length);
    const currentToken = eventLog.seal(applicationId, page.cursor);
    return { pageResults: page.events, currentToken, ...(page.hasMore && { nextToken: currentToken }) };
  },
});

/** Changes of an application's objects, for clients that keep a copy (spec/events). */
export const eventOperations = [listEvents];

interface EventRequest {
  readonly filters: EventFilters;
  readonly size: number;
  readonly caller: Caller;
  readonly call: Call;
  readonly waitSeconds: number;
}

interface FoundEvents {
  readonly events: PresentedEvent[];
  /** After the last event that was read. */
  readonly cursor: Cursor;
  readonly hasMore: boolean;
}

/**
 * Reads events, and waits for one as long as the call requests.
 * @throws ApiError AuthAccessTokenInvalid, RateLimitExceeded if the caller has too many streams and waiting calls
 */
async function waitForEvents(
  from: Cursor,
  end: Cursor,
  request: EventRequest,
  services: Services,
): Promise<FoundEvents> {
  const { caller, call, waitSeconds } = request;
  const { applicationId } = caller;
  const gone = call.whenGone?.(); // absent in a batch, which does not wait
  const endsAt = performance.now() + waitSeconds * 1_000;
  let page = await readEvents(from, end, request, services);
  const mayWait = waitSeconds > 0 && gone !== undefined && !services.isDraining();
  if (page.events.length > 0 || !mayWait) return page;
  const release = services.streams.take(caller);
  try {
    while (page.events.length === 0 && performance.now() < endsAt && !services.isDraining() && !gone?.aborted) {
      if (!page.hasMore) {
        const ms = Math.min(lookMs, Math.max(0, endsAt - performance.now()));
        await services.eventFollower.wait(applicationId, page.cursor.position, ms, gone);
      }
      const confirmed = await services.dispatcher.confirm(call);
      const newEnd = await services.eventLog.findEnd(applicationId);
      if (newEnd.log !== page.cursor.log) return page; // the next call answers isReset
      if (newEnd.position === page.cursor.position) continue;
      page = await readEvents(page.cursor, newEnd, { ...request, caller: confirmed }, services);
    }
  } finally {
    release();
  }
  return page;
}

/** Reads events up to a full page, the end of the log or the bounds of one call. */
async function readEvents(
  from: Cursor,
  end: Cursor,
  { filters, size, caller, call }: EventRequest,
  services: Services,
): Promise<FoundEvents> {
  const present = createPresenter(filters, caller, call, services);
  const events: PresentedEvent[] = [];
  const endsAt = performance.now() + msPerRead;
  let cursor = from;
  let rows = 0;
  while (cursor.position < end.position && events.length < size) {
    const isSpent = rows > 0 && (rows >= rowsPerRead || performance.now() > endsAt);
    if (isSpent) return { events, cursor, hasMore: true };
    const found = await services.eventLog.list(caller.applicationId, cursor.position, rowsPerStep);
    if (found.length === 0) break; // dropped meanwhile, which the next call notices
    for (const event of found) {
      if (events.length === size) break;
      rows += 1;
      cursor = { ...cursor, position: event.position, id: event.id };
      const presented = await present(event);
      if (presented !== undefined) events.push(presented);
    }
    call.work?.examined(found.length);
  }
  return { events, cursor, hasMore: cursor.position < end.position };
}
