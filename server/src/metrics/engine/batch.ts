import { startOf } from "../../lib/spans.ts";
import type { ChunkEvent, ChunkPart, InboxPayload, StoredEvent } from "./inbox.store.ts";
import { Cell, Groups } from "./rollups.ts";
import type { Granularity } from "./row-ids.ts";

/** The number of value names per bucket by whose contents events are grouped. Further names have no groups. */
const dimensionsMax = 10;

/** The events of one key in one hour or day. */
export class Bucket {
  readonly all = new Cell("all");
  /** By value name. */
  readonly dimensions = new Map<string, Groups>();

  /** Undefined when the bucket has reached its limit of dimensions. */
  dimension(name: string): Groups | undefined {
    let groups = this.dimensions.get(name);
    if (groups === undefined && this.dimensions.size < dimensionsMax) {
      groups = new Groups();
      this.dimensions.set(name, groups);
    }
    return groups;
  }

  merge(other: Bucket): void {
    this.all.merge(other.all);
    for (const [name, groups] of other.dimensions) this.dimension(name)?.merge(groups);
  }
}

/** One hour of a batch: its roll-up and its raw events. */
export class Hour extends Bucket {
  readonly parts: ChunkPart[] = [];
  eventCount = 0;
}

export interface Series {
  readonly hours: Map<number, Hour>;
  lastReceivedAt: number;
}

/** An inbox row without its payload. */
export interface Receipt {
  readonly id: string;
  readonly received_at: number;
}

/** The statistics that a reader needs. */
export interface Wanted {
  readonly key: string;
  /** The value name to group by; undefined for no groups. */
  readonly groupBy: string | undefined;
  readonly from: number;
  /** Exclusive upper bound. */
  readonly to: number;
}

/** Events of many requests, by key and hour. */
export class Batch {
  readonly series = new Map<string, Series>();
  eventCount = 0;
  /** The number of cells, of one or two kilobytes each. */
  cellCount = 0;
  readonly #wanted: Wanted | undefined;

  /** @param wanted restricts the batch to these statistics, without raw events */
  constructor(wanted?: Wanted) {
    this.#wanted = wanted;
  }

  /** Adds a range of the events of one request. */
  add(receipt: Receipt, payload: InboxPayload, from: number, to: number): void {
    const device = hashOf(payload.device);
    const user = payload.user === null ? undefined : hashOf(payload.user);
    const isEnd = payload.isEnd === true;
    for (let index = from; index < to; index += 1) {
      const event = payload.events[index];
      if (event === undefined || !this.#isWanted(event)) continue;
      const hour = this.#hourOf(event, receipt);
      this.#rollUp(hour, event, device, user, isEnd);
      if (!isEnd && this.#wanted === undefined) keepEvent(hour, event, index, receipt, payload);
    }
    this.eventCount += to - from;
  }

  #isWanted([key, occurredAt]: StoredEvent): boolean {
    const wanted = this.#wanted;
    return wanted === undefined || (key === wanted.key && occurredAt >= wanted.from && occurredAt < wanted.to);
  }

  #hourOf([key, occurredAt]: StoredEvent, { received_at }: Receipt): Hour {
    let series = this.series.get(key);
    if (series === undefined) {
      series = { hours: new Map(), lastReceivedAt: Number.NEGATIVE_INFINITY };
      this.series.set(key, series);
    }
    if (received_at > series.lastReceivedAt) series.lastReceivedAt = received_at;
    const start = startOf("hour", occurredAt);
    let hour = series.hours.get(start);
    if (hour === undefined) {
      hour = new Hour();
      series.hours.set(start, hour);
      this.cellCount += 1;
    }
    return hour;
  }

  #rollUp(hour: Hour, event: StoredEvent, device: number, user: number | undefined, isEnd: boolean): void {
    const { all } = hour;
    if (!isEnd) all.addEvent(device, user);
    for (let at = 2; at < event.length; at += 2) {
      const name = event[at] as string; // names and values alternate
      const value = event[at + 1];
      if (typeof value === "number") {
        all.addNumber(name, value);
        continue;
      }
      all.addText(name);
      if (this.#wanted !== undefined && name !== this.#wanted.groupBy) continue;
      const group = hour.dimension(name)?.of(value as string | boolean); // grouping values are strings or booleans
      if (group === undefined) continue;
      if (group.count === 0) this.cellCount += 1;
      group.addEvent(device, user);
      for (let other = 2; other < event.length; other += 2) {
        const number = event[other + 1];
        // Every other element is a name.
        if (typeof number === "number") group.addNumber(event[other] as string, number);
      }
    }
  }
}

function keepEvent(
  hour: Hour,
  event: StoredEvent,
  index: number,
  { id, received_at }: Receipt,
  from: InboxPayload,
): void {
  let part = hour.parts.at(-1);
  if (part?.id !== id) {
    part = { id, receivedAt: received_at, device: from.device, user: from.user, events: [] };
    hour.parts.push(part);
  }
  // Overwrites the key, which makes it a ChunkEvent: no other code reads this payload.
  (event as unknown as unknown[])[0] = index;
  part.events.push(event as unknown as ChunkEvent); // since the previous line
  hour.eventCount += 1;
}

/** Returns the buckets of a series by start. */
export function bucketsOf({ hours }: Series, granularity: Granularity): ReadonlyMap<number, Bucket> {
  if (granularity === "hour") return hours;
  const days = new Map<number, Bucket>();
  for (const [start, hour] of hours) {
    const day = startOf("day", start);
    const bucket = days.get(day) ?? new Bucket();
    bucket.merge(hour);
    days.set(day, bucket);
  }
  return days;
}

/** Returns the bits of a salted hash that a distinct counter uses. */
function hashOf(saltedHash: string): number {
  return Number.parseInt(saltedHash.slice(0, 13), 16);
}
