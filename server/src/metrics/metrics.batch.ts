import { Cell } from "./metrics.cell.ts";
import { Groups } from "./metrics.groups.ts";
import type { ChunkEvent, ChunkPart, InboxPayload, StoredEvent } from "./metrics.payload.ts";
import { bucketMs, type Granularity, startOf } from "./metrics.series.ts";

/** Names by whose contents the events of a bucket are grouped; of others there is no grouping. */
const dimensionsMax = 25;

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
  latestAt = Number.NEGATIVE_INFINITY;
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

/** Events of many requests, by key and hour. */
export class Batch {
  readonly series = new Map<string, Series>();
  eventCount = 0;

  /**
   * Adds events of one request.
   *
   * @param key only those of this one, when it is given
   */
  add(receipt: Receipt, payload: InboxPayload, from: number, to: number, key?: string): void {
    const device = hashOf(payload.device);
    const user = payload.user === null ? undefined : hashOf(payload.user);
    const isEnd = payload.isEnd === true;
    for (let index = from; index < to; index += 1) {
      const event = payload.events[index];
      if (event === undefined || (key !== undefined && event[0] !== key)) continue;
      const hour = this.#hourOf(event, receipt);
      this.#rollUp(hour, event, device, user, isEnd);
      if (isEnd) continue;
      let part = hour.parts.at(-1);
      if (part?.id !== receipt.id) {
        part = {
          id: receipt.id,
          receivedAt: receipt.received_at,
          device: payload.device,
          user: payload.user,
          events: [],
        };
        hour.parts.push(part);
      }
      (event as unknown as unknown[])[0] = index; // in place of the key: the payload is ours, and read by nobody else
      part.events.push(event as unknown as ChunkEvent);
      hour.eventCount += 1;
      if (event[1] > hour.latestAt) hour.latestAt = event[1];
    }
    this.eventCount += to - from;
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
      const group = hour.dimension(name)?.of(value as string | boolean); // there are no others
      if (group === undefined) continue;
      group.addEvent(device, user);
      for (let other = 2; other < event.length; other += 2) {
        const number = event[other + 1];
        if (typeof number === "number") group.addNumber(event[other] as string, number);
      }
    }
  }
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
