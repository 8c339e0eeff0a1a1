import type { Database, Queries } from "../db/database.ts";
import type { WebhookRow } from "../db/tables.ts";
import type { Cursor } from "../event-log/cursors.ts";
import type { EventLog } from "../event-log/event-log.ts";
import { findHead } from "../event-log/log-heads.ts";
import { findLogEnd, listEvents, type PlacedEvent } from "../event-log/log-rows.store.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { Clock } from "../lib/clock.ts";
import type { DateRange } from "../lib/dates.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { LruMap } from "../lib/lru-map.ts";
import { insertDeliveries, listWaitingEvents, newDelivery } from "./webhooks.deliveries.store.ts";
import { readStoredPatterns, typesOf, updateWebhook, writePatterns } from "./webhooks.store.ts";

/** The number of events per read of the log. */
const eventsPerRead = 500;

/** Returns the position after which a webhook receives such events; undefined for never, as those about itself. */
function beginOf({ type, object_id }: PlacedEvent, { id, types }: WebhookRow): number | undefined {
  return object_id === id && type.startsWith("webhook.") ? undefined : typesOf(types).get(type);
}

function isWanted(event: PlacedEvent, row: WebhookRow): boolean {
  const begin = beginOf(event, row);
  return begin !== undefined && event.position > begin;
}

/** Finds the first event for a webhook among the next events after a position. */
export async function findWanted(
  row: WebhookRow,
  after: number,
  eventLog: Pick<EventLog, "list">,
): Promise<PlacedEvent | undefined> {
  const events = await eventLog.list(row.application_id, after, eventsPerRead);
  return events.find((event) => isWanted(event, row));
}

/** A logged event to send. */
export interface WindowItem {
  readonly event: PlacedEvent;
  state: "ready" | "sending" | "done";
}

/** A position in the log, with the time of its event. */
export type ReachedPosition = Cursor & { readonly at: number };

/** The events for a webhook that were read from the log and whose results are not yet stored, in the log's order. */
export class EventWindow {
  #items: WindowItem[] = [];
  /** The position up to which the log has been read. */
  #readTo: ReachedPosition | undefined;

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** Starts at the position in the row. */
  restart({ log, position, event_id, position_at }: WebhookRow): void {
    this.#readTo = { log, position, id: event_id, at: position_at };
    this.#items = [];
  }

  clear(): void {
    this.#items = [];
  }

  listReady(): readonly WindowItem[] {
    return this.#items.filter(({ state }) => state === "ready");
  }

  /**
   * Reads the next events of the log.
   *
   * @returns the end of the log if it has dropped the following events; then nothing is read
   */
  async read(row: WebhookRow, eventLog: EventLog): Promise<Cursor | undefined> {
    const { application_id } = row;
    const end = await eventLog.findEnd(application_id);
    const from = this.#readTo;
    if (from === undefined || (from.log === end.log && from.position === end.position)) return undefined;
    if ((await eventLog.findGap(application_id, from, end)) !== undefined) return end;
    const events = await eventLog.list(application_id, from.position, eventsPerRead);
    for (const event of events) if (isWanted(event, row)) this.#items.push({ event, state: "ready" });
    const last = events.at(-1);
    if (last !== undefined) this.#readTo = { log: end.log, position: last.position, id: last.id, at: last.at };
    return undefined;
  }

  /** Returns how many leading items are done, and the position that the webhook reaches with them. */
  countDone(): { readonly count: number; readonly reached: ReachedPosition | undefined } {
    const open = this.#items.findIndex(({ state }) => state !== "done");
    if (open === -1) return { count: this.#items.length, reached: this.#readTo };
    const last = this.#items[open - 1]?.event;
    const reached = last && this.#readTo && { ...this.#readTo, position: last.position, id: last.id, at: last.at };
    return { count: open, reached };
  }

  dropFirst(count: number): void {
    this.#items = this.#items.slice(count);
  }
}

const quietWebhooksMax = 10_000;
const quietRowsMax = 5_000;

/**
 * Returns a function that detects events for a webhook. It reads only log rows that this process has not read before,
 * so that events of other types cost a webhook no write. Its result is also true for a position far behind, so that
 * it advances with the log.
 */
export function createNewsCheck(eventLog: Pick<EventLog, "list" | "findEnd">): (row: WebhookRow) => Promise<boolean> {
  /** The position up to which the log has no event for a webhook, and the row to which that applies. */
  const quietTo = new LruMap<string, { readonly of: string; readonly position: number }>(quietWebhooksMax);

  return async (row) => {
    const { application_id, id, position, types, log, turn } = row;
    const of = `${log} ${turn} ${position} ${types}`;
    const known = quietTo.get(id);
    let from = known?.of === of ? known.position : position;
    const end = await eventLog.findEnd(application_id);
    if (end.log !== log) return true;
    while (from < end.position && from - position < quietRowsMax) {
      const events = await eventLog.list(application_id, from, eventsPerRead);
      if (events[0]?.position !== from + 1) return true; // the log has passed the webhook
      if (events.some((event) => isWanted(event, row))) return true;
      from = events.at(-1)?.position ?? end.position;
    }
    quietTo.set(id, { of, position: from });
    return from - position >= quietRowsMax;
  };
}

interface GapServices {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly events: EventRecorder;
  readonly eventLog: EventLog;
}

/**
 * Moves a webhook whose position is older than the log to the oldest event. The webhook first receives an event about
 * the gap (spec/webhooks#gaps). A crash in between repeats that event.
 *
 * @param end of the log
 */
export async function skipGap(row: WebhookRow, end: Cursor, services: GapServices): Promise<void> {
  const { database, clock, ids, events, eventLog } = services;
  const { application_id, id } = row;
  const [oldest] = await eventLog.list(application_id, 0, 1);
  const [from, to] = [row.position_at, oldest?.at ?? clock.now()].map((at) => new Date(at).toISOString());
  await database.write(({ queries }) =>
    events.record(application_id, { type: "webhook.gap", objectId: id, key: `${from}/${to}` }, queries),
  );
  const gap = await findGapEvent(row, end.position, services);
  const now = clock.now();
  await database.write(async ({ queries }) => {
    const position = oldest === undefined ? end.position : oldest.position - 1;
    const patterns = Object.keys(readStoredPatterns(row.types));
    const columns = {
      ...{ log: end.log, position, event_id: "", position_at: oldest?.at ?? now },
      ...(row.log !== end.log && { types: writePatterns(patterns, () => 0) }),
    };
    await updateWebhook({ applicationId: application_id, id }, columns, queries);
    if (gap === undefined) return;
    const delivery = newDelivery({ ...row, log: end.log }, gap, ids.newId("WebhookDelivery"), now);
    await insertDeliveries([{ ...delivery, next_attempt_at: 0 }], queries); // due before all other deliveries
  });
}

async function findGapEvent({ application_id, id }: WebhookRow, after: number, { database, eventLog }: GapServices) {
  await eventLog.settle(application_id);
  return database.reads
    .selectFrom("events")
    .select(["id", "type", "position"])
    .$narrowType<{ position: number }>()
    .where("application_id", "=", application_id)
    .where("position", ">", after)
    .where("type", "=", "webhook.gap")
    .where("object_id", "=", id)
    .orderBy("position", "desc")
    .limit(1)
    .executeTakeFirst();
}

const rowsExaminedMax = 100_000;
/**
 * How much later than its neighbours an event may have been written: its transaction may have waited, or its clock
 * differ.
 */
const slackMs = 600_000;

export interface LoggedFilters {
  readonly created: DateRange;
  readonly type?: string | undefined;
  /** Selects events after this position. */
  readonly after?: number | undefined;
}

export interface LoggedEvents {
  readonly log: string;
  readonly events: readonly PlacedEvent[];
  /** The position after which the next call continues; undefined at the end of the range. */
  readonly next: number | undefined;
}

/**
 * Finds logged events by the time of their write: events of the webhook's types that its position has passed and that
 * no waiting delivery covers. They may have been delivered already.
 */
export async function findLogged(
  row: WebhookRow,
  { created: { start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY }, type, after }: LoggedFilters,
  countMax: number,
  { reads }: Pick<Database, "reads">,
): Promise<LoggedEvents> {
  const { application_id: applicationId, id } = row;
  const [log] = await findHead(reads, { applicationId });
  if (log === undefined) return { log: "", events: [], next: undefined };
  const { position: logEnd } = await findLogEnd(applicationId, reads);
  const to = row.log === log.name ? Math.min(row.position, logEnd) : logEnd;
  const waiting = new Set(await listWaitingEvents({ applicationId, id }, reads));
  const isMatch = (event: PlacedEvent) =>
    beginOf(event, row) !== undefined &&
    (type === undefined || event.type === type) &&
    event.at >= start &&
    event.at <= end &&
    !waiting.has(event.id);
  const events: PlacedEvent[] = [];
  let position = after ?? (await findPositionBefore(applicationId, start - slackMs, to, reads));
  for (let examined = 0; position < to; examined += eventsPerRead) {
    if (examined >= rowsExaminedMax || events.length >= countMax) return { log: log.name, events, next: position };
    const found = await listEvents(applicationId, position, eventsPerRead, reads);
    for (const event of found) {
      if (event.position > to || event.at > end + slackMs) return { log: log.name, events, next: undefined };
      if (events.length >= countMax) break;
      if (isMatch(event)) events.push(event);
      position = event.position;
    }
    if (found.length < eventsPerRead) break;
  }
  return { log: log.name, events, next: undefined };
}

/** Returns a position before all logged events since `at`, by a binary search: the log is almost sorted by time. */
async function findPositionBefore(applicationId: string, at: number, end: number, queries: Queries): Promise<number> {
  const [oldest] = await listEvents(applicationId, 0, 1, queries);
  let low = (oldest?.position ?? 1) - 1;
  let high = end;
  while (high - low > eventsPerRead) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await listEvents(applicationId, middle, 1, queries);
    if (event !== undefined && event.at < at) low = middle;
    else high = middle;
  }
  return low;
}
