import type { Call } from "../contract/call.ts";
import type { Cursor } from "../event-log/cursors.ts";
import type { EventLog } from "../event-log/event-log.ts";
import { msPerRead, type PlacedEvent, rowsPerRead, rowsPerReadStep } from "../event-log/log-rows.store.ts";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";

/** The interval at which a waiting call checks whether the process is still running. */
const drainPollMs = 500;
const waitingPageSizeMax = 100;

/** Reads the parameter `after` (spec/events#cursors). @throws ApiError ParameterIncorrectFormat */
export function openCursor(applicationId: string, after: string, eventLog: Pick<EventLog, "open">): Cursor {
  const cursor = eventLog.open(applicationId, after);
  if (cursor !== undefined) return cursor;
  throw new ApiError("ParameterIncorrectFormat", "after must be a token of this application's events.", {
    parameter: "after",
  });
}

/** Limits the page size of a waiting call, because a page reserves memory. An invalid size stays, and is refused later. */
export function sizeToReserve(pageSize: number, waitSeconds: number, pageItemsMax: number): number {
  const isWaiting = waitSeconds > 0 && pageSize <= pageItemsMax;
  return isWaiting ? Math.min(pageSize, waitingPageSizeMax) : pageSize;
}

/** A call that reads the events after a cursor, oldest first, and may wait for the first one (spec/events#wait). */
export interface ForwardReading<Event> {
  readonly applicationId: string;
  readonly size: number;
  readonly waitSeconds: number;
  readonly call: Call;
  /** Creates the presenter of one read, which returns undefined for events that the caller must not receive. */
  createPresenter(): (event: PlacedEvent) => Promise<Event | undefined>;
  /** Checks the caller again after a wait. @throws ApiError */
  confirm(): Promise<void>;
  /** Counts a waiting call until the returned function is called. @throws ApiError RateLimitExceeded */
  acquire(): () => void;
}

export interface FoundEvents<Event> {
  readonly events: Event[];
  /** After the last event that was read. */
  readonly cursor: Cursor;
  readonly hasMore: boolean;
}

/** Reads events. Without any, waits for the first as long as the call requests. */
export async function readForwards<Event>(
  from: Cursor,
  end: Cursor,
  reading: ForwardReading<Event>,
  services: Pick<Services, "eventLog" | "eventFollower" | "isDraining">,
): Promise<FoundEvents<Event>> {
  const { applicationId, waitSeconds, call } = reading;
  const { eventLog, eventFollower, isDraining } = services;
  const gone = call.whenGone?.(); // absent in a batch, which does not wait
  const endsAt = performance.now() + waitSeconds * 1_000;
  let page = await readEvents(from, end, reading, eventLog);
  const mayWait = waitSeconds > 0 && gone !== undefined && !isDraining();
  if (page.events.length > 0 || !mayWait) return page;
  const release = reading.acquire();
  try {
    while (page.events.length === 0 && performance.now() < endsAt && !isDraining() && !gone?.aborted) {
      if (!page.hasMore) {
        const ms = Math.min(drainPollMs, Math.max(0, endsAt - performance.now()));
        await eventFollower.wait(applicationId, page.cursor.position, ms, gone);
      }
      await reading.confirm();
      const newEnd = await eventLog.findEnd(applicationId);
      if (newEnd.log !== page.cursor.log) return page; // the next call answers isReset
      if (newEnd.position === page.cursor.position) continue;
      page = await readEvents(page.cursor, newEnd, reading, eventLog);
    }
  } finally {
    release();
  }
  return page;
}

/** Reads events up to a full page, the end of the log or the limits of one call. */
async function readEvents<Event>(
  from: Cursor,
  end: Cursor,
  { applicationId, size, call, createPresenter }: ForwardReading<Event>,
  eventLog: Services["eventLog"],
): Promise<FoundEvents<Event>> {
  const present = createPresenter();
  const events: Event[] = [];
  const endsAt = performance.now() + msPerRead;
  let cursor = from;
  let rows = 0;
  while (cursor.position < end.position && events.length < size) {
    const isExhausted = rows > 0 && (rows >= rowsPerRead || performance.now() > endsAt);
    if (isExhausted) return { events, cursor, hasMore: true };
    const found = await eventLog.list(applicationId, cursor.position, rowsPerReadStep);
    if (found.length === 0) break; // retention deleted them, which the next call reports
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
