import { Cell } from "./metrics.cell.ts";
import { Groups } from "./metrics.groups.ts";
import type { ChunkEvent, ChunkPart, InboxPayload, StoredEvent } from "./metrics.payload.ts";
import { bucketMs, type Granularity, startOf } from "./metrics.series.ts";

/** Names by whose contents the events of a bucket are grouped; of others there is no grouping. */
const dimensionsMax = 10;

/** The events of one key in one hour or day. */
export class Bucket {
  readonly all = new Cell("all");
  /** By the name of the value. */
  readonly dimensions = new Map<string, Groups>();

  /** Undefined when there is no more place. */
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

/** An hour of a batch: rolled up, and the events themselves. */
export class Hour extends Bucket {
  readonly parts: ChunkPart[] = [];
  eventCount = 0;
}

export interface Series {
  readonly hours: Map<number, Hour>;
  lastReceivedAt: number;
}

/** A row of the inbox without what it brought. */
export interface Receipt {
  readonly id: string;
  readonly received_at: number;
}

/** What somebody wants to know of some events. */
export interface Wanted {
  readonly key: string;
  /** The name of the value to group by; without one nothing is grouped. */
  readonly groupBy: string | undefined;
  readonly from: number;
  /** Not wanted any more. */
  readonly to: number;
}

/** Events of many requests, by key and hour. */
export class Batch {
  readonly series = new Map<string, Series>();
  eventCount = 0;
  /** How many cells it has, each of a kilobyte or two. */
  cellCount = 0;
  readonly #wanted: Wanted | undefined;

  /** @param wanted nothing else is rolled up, and the events themselves are not kept */
  constructor(wanted?: Wanted) {
    this.#wanted = wanted;
  }

  /** Adds some of the events of one request. */
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
      const name = event[at] as string; // names and values take turns
      const value = event[at + 1];
      if (typeof value === "number") {
        all.addNumber(name, value);
        continue;
      }
      all.addText(name);
      if (this.#wanted !== undefined && name !== this.#wanted.groupBy) continue;
      const group = hour.dimension(name)?.of(value as string | boolean); // there are no others
      if (group === undefined) continue;
      if (group.count === 0) this.cellCount += 1;
      group.addEvent(device, user);
      for (let other = 2; other < event.length; other += 2) {
        const number = event[other + 1];
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
  (event as unknown as unknown[])[0] = index; // in place of the key: the payload is ours, and read by nobody else
  part.events.push(event as unknown as ChunkEvent);
  hour.eventCount += 1;
}

/** The buckets of a series, by their starts. */
export function bucketsOf({ hours }: Series, granularity: Granularity): ReadonlyMap<number, Bucket> {
  if (granularity === "hour") return hours;
  const days = new Map<number, Bucket>();
  for (const [start, hour] of hours) {
    const day = Math.floor(start / bucketMs.day) * bucketMs.day;
    const bucket = days.get(day) ?? new Bucket();
    bucket.merge(hour);
    days.set(day, bucket);
  }
  return days;
}

/** As many bits of a pseudonym as a counter takes. */
function hashOf(pseudonym: string): number {
  return Number.parseInt(pseudonym.slice(0, 13), 16);
}
