import { createYield } from "../../lib/yield.ts";
import { Batch, type Bucket, bucketsOf, type Wanted } from "./batch.ts";
import { rowIdsOf } from "./compaction.ts";
import type { WaitingRow } from "./inbox.store.ts";
import { type InboxPayload, readPayload, type StoredEvent } from "./payload.ts";
import { dimensionOf } from "./rollups.ts";
import { eventsPosition, type Granularity, keyPosition, rollupId, seriesOf, startOf } from "./series.ts";
import type { WaitingSnapshot } from "./snapshot.store.ts";

/**
 * Events that are in no chunk or roll-up, and are read together with stored ones. Of inbox rows under compaction, only
 * events after the batch's position count.
 */
export interface Waiting {
  /** Whether the key has waiting events, and the buckets to add to the roll-ups of one dimension. */
  buckets(
    wanted: Wanted,
    granularity: Granularity,
  ): Promise<{ isAny: boolean; found: (readonly [start: number, bucket: Bucket])[] }>;
  /** The number of events to add to each bucket of these keys, by start of bucket. */
  counts(keys: readonly string[], granularity: Granularity): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>>;
  /** The number of events to add to each key, and the time of the latest. */
  keys(): Promise<Map<string, { eventCount: number; lastReceivedAt: number }>>;
  /** Calls `found` for each event of a key that is in no chunk. */
  eachEvent(
    key: string,
    found: (row: WaitingRow & Pick<InboxPayload, "device" | "user">, index: number, event: StoredEvent) => void,
  ): Promise<void>;
}

export function readWaiting({ rows, batch }: WaitingSnapshot): Waiting {
  const ofBatch = new Set(batch === undefined ? [] : rowIdsOf(batch));
  const doneUntil = batch?.done_until ?? "";

  return {
    async buckets(wanted, granularity) {
      const { key, groupBy } = wanted;
      const seriesId = seriesOf(key);
      const dimension = groupBy === undefined ? "" : dimensionOf(groupBy);
      const yieldToOthers = createYield();
      const [waiting, taken] = [new Batch(wanted), new Batch(wanted)];
      let isAny = false;
      for (const row of rows) {
        const payload = readPayload(row.payload);
        isAny ||= payload.events.some(([each]) => each === key);
        (ofBatch.has(row.id) ? taken : waiting).add(row, payload, 0, payload.events.length);
        await yieldToOthers();
      }
      const found = [...bucketsIn(waiting, key, granularity)];
      for (const each of bucketsIn(taken, key, granularity)) {
        if (rollupId(seriesId, granularity, each[0], dimension) > doneUntil) found.push(each);
      }
      return { isAny, found };
    },

    async counts(keys, granularity) {
      const seriesIds = new Map(keys.map((key) => [key, seriesOf(key)]));
      const counts = new Map(keys.map((key) => [key, new Map<number, number>()]));
      const yieldToOthers = createYield();
      for (const { id, payload } of rows) {
        const { events, isEnd } = readPayload(payload);
        if (isEnd === true) continue;
        for (const [key, occurredAt] of events) {
          const [seriesId, ofKey] = [seriesIds.get(key), counts.get(key)];
          if (seriesId === undefined || ofKey === undefined) continue;
          const start = startOf(granularity, occurredAt);
          if (ofBatch.has(id) && rollupId(seriesId, granularity, start, "") <= doneUntil) continue;
          ofKey.set(start, (ofKey.get(start) ?? 0) + 1);
        }
        await yieldToOthers();
      }
      return counts;
    },

    async keys() {
      const counts = new Map<string, { eventCount: number; lastReceivedAt: number }>();
      const yieldToOthers = createYield();
      for (const { id, received_at, payload } of rows) {
        const { events, isEnd } = readPayload(payload);
        for (const [key] of events) {
          if (ofBatch.has(id) && keyPosition(seriesOf(key)) <= doneUntil) continue;
          const counted = counts.get(key) ?? { eventCount: 0, lastReceivedAt: received_at };
          counted.eventCount += isEnd === true ? 0 : 1;
          counted.lastReceivedAt = Math.max(counted.lastReceivedAt, received_at);
          counts.set(key, counted);
        }
        await yieldToOthers();
      }
      return counts;
    },

    async eachEvent(key, found) {
      const seriesId = seriesOf(key);
      const yieldToOthers = createYield();
      for (const row of rows) {
        const { events, isEnd, device, user } = readPayload(row.payload);
        if (isEnd === true) continue;
        for (const [index, event] of events.entries()) {
          if (event[0] !== key) continue;
          if (ofBatch.has(row.id) && eventsPosition(seriesId, startOf("hour", event[1])) <= doneUntil) continue;
          found({ ...row, device, user }, index, event);
        }
        await yieldToOthers();
      }
    },
  };
}

function bucketsIn(batch: Batch, key: string, granularity: Granularity): Iterable<readonly [number, Bucket]> {
  const series = batch.series.get(key);
  return series === undefined ? [] : bucketsOf(series, granularity);
}
