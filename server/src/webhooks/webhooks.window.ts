import type { WebhookRow } from "../db/tables.ts";
import type { Cursor } from "../event-log/cursors.ts";
import type { EventLog } from "../event-log/event-log.ts";
import { eventsPerRead, type Item, isWanted } from "./webhooks.entries.ts";

/** A position in the log, with the time of the event there. */
export type Place = Cursor & { readonly at: number };

/** The events for a webhook that have been read from the log, and are not stored as passed. */
export class EventWindow {
  #items: Item[] = [];
  /** The position up to which the log has been read. */
  #readTo: Place | undefined;
  /** Whether the log has events after those that have been read. */
  isBehind = false;

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** Begins at the position in the row. */
  restart({ log, position, event_id, position_at }: WebhookRow): void {
    this.#readTo = { log, position, id: event_id, at: position_at };
    this.#items = [];
  }

  clear(): void {
    this.#items = [];
  }

  listReady(): readonly Item[] {
    return this.#items.filter(({ state }) => state === "ready");
  }

  /**
   * Reads the next events of the log.
   *
   * @returns the end of the log if it has dropped events that follow, in place of which nothing is read
   */
  async read(row: WebhookRow, eventLog: EventLog): Promise<Cursor | undefined> {
    const { application_id } = row;
    this.isBehind = false;
    const end = await eventLog.findEnd(application_id);
    const from = this.#readTo;
    if (from === undefined || (from.log === end.log && from.position === end.position)) return undefined;
    if ((await eventLog.findGap(application_id, from, end)) !== undefined) return end;
    const events = await eventLog.list(application_id, from.position, eventsPerRead);
    for (const event of events) if (isWanted(event, row)) this.#items.push({ event, state: "ready" });
    const last = events.at(-1);
    if (last === undefined) return undefined;
    this.#readTo = { log: end.log, position: last.position, id: last.id, at: last.at };
    this.isBehind = last.position < end.position && this.isEmpty;
    return undefined;
  }

  /** The number of items before the first that is not done, and the position that the webhook has reached with them. */
  findPassed(isDone: (item: Item) => boolean): { readonly count: number; readonly place: Place | undefined } {
    const firstOpen = this.#items.findIndex((item) => !isDone(item));
    if (firstOpen === -1) return { count: this.#items.length, place: this.#readTo };
    const last = this.#items[firstOpen - 1]?.event;
    const place = last && this.#readTo && { log: this.#readTo.log, position: last.position, id: last.id, at: last.at };
    return { count: firstOpen, place };
  }

  dropFirst(count: number): void {
    this.#items = this.#items.slice(count);
  }
}
