import type { WebhookRow } from "../db/tables.ts";
import type { Cursor } from "../event-log/cursors.ts";
import type { EventLog } from "../event-log/event-log.ts";
import { eventsPerRead, type Item, isWanted } from "./webhooks.entries.ts";

/** A position in the log, with the time of its event. */
export type LogPosition = Cursor & { readonly at: number };

/** The events for a webhook that were read from the log and whose results are not yet stored. */
export class EventWindow {
  #items: Item[] = [];
  /** The position up to which the log has been read. */
  #readTo: LogPosition | undefined;
  /** Whether the log has events after the last read. */
  isBehind = false;

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

  listReady(): readonly Item[] {
    return this.#items.filter(({ state }) => state === "ready");
  }

  /**
   * Reads the next events of the log.
   *
   * @returns the end of the log if it has dropped the following events; then nothing is read
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

  /** Returns how many leading items are done, and the log position that the webhook reaches with them. */
  countDone(isDone: (item: Item) => boolean): { readonly count: number; readonly reached: LogPosition | undefined } {
    const firstOpen = this.#items.findIndex((item) => !isDone(item));
    if (firstOpen === -1) return { count: this.#items.length, reached: this.#readTo };
    const last = this.#items[firstOpen - 1]?.event;
    const reached = last &&
      this.#readTo && { log: this.#readTo.log, position: last.position, id: last.id, at: last.at };
    return { count: firstOpen, reached };
  }

  dropFirst(count: number): void {
    this.#items = this.#items.slice(count);
  }
}
