import type { Queries } from "../../db/database.ts";
import type { IdGenerator } from "../../lib/ids.ts";
import { startOf } from "../../lib/spans.ts";
import type { Batch, Hour, Series } from "./batch.ts";
import type { ChunkPart } from "./inbox.store.ts";
import { dimensionOf, mergeRollups, type Rollup, writeRollup } from "./rollups.ts";
import { chunkPrefix, eventsPosition, type Granularity, keyPosition, rollupId, seriesOf } from "./row-ids.ts";
import {
  type ChunkRow,
  findRollup,
  insertChunk,
  insertOrUpdateKey,
  insertOrUpdateRollup,
  type KeyChange,
} from "./series.store.ts";
import { bytesOfChunk } from "./stored-bytes.ts";

/** A part of a batch that is written in one transaction. */
export interface Unit {
  readonly key: string;
  /** Units are written in order of position, so that a single position records the progress of a batch. */
  readonly position: string;
  /** Reads before the transaction; the returned function writes in the transaction. */
  prepare(queries: Queries): Promise<PreparedUnit>;
}

export interface PreparedUnit {
  /** The approximate number of bytes that it writes. */
  readonly size: number;
  /** The number of bytes by which the metrics of the key grow. */
  readonly growth: number;
  write(queries: Queries): Promise<void>;
}

/** Yields the units of a batch after a position, in order. */
export function* unitsOf(applicationId: string, batch: Batch, after: string, ids: IdGenerator): Generator<Unit> {
  const series = [...batch.series].map(([key, each]) => ({ key, seriesId: seriesOf(key), each }));
  series.sort((a, b) => (a.seriesId < b.seriesId ? -1 : 1));
  for (const { key, seriesId, each } of series) {
    if (keyPosition(seriesId) <= after) continue;
    const units = [
      ...[...each.hours].map(([start, hour]) => chunksUnit(applicationId, key, start, hour, ids)),
      ...rollupUnits(applicationId, key, "day", each),
      ...rollupUnits(applicationId, key, "hour", each),
      keyUnit(applicationId, seriesId, changeOfKey(key, each)),
    ];
    units.sort((a, b) => (a.position < b.position ? -1 : 1));
    for (const unit of units) if (unit.position > after) yield unit;
  }
}

/** Returns one unit per bucket and dimension. The hours of a day are merged when the unit is processed. */
function rollupUnits(applicationId: string, key: string, granularity: Granularity, { hours }: Series): Unit[] {
  const seriesId = seriesOf(key);
  const parts = new Map<string, { dimension: string; rollups: Rollup[] }>();
  for (const [hourStart, hour] of hours) {
    const start = startOf(granularity, hourStart);
    for (const [dimension, rollup] of rollupsOf(hour)) {
      const id = rollupId(seriesId, granularity, start, dimension);
      const known = parts.get(id);
      if (known === undefined) parts.set(id, { dimension, rollups: [rollup] });
      else known.rollups.push(rollup);
    }
  }
  return [...parts].map(([id, { dimension, rollups }]) => rollupUnit(applicationId, key, id, dimension, rollups));
}

function rollupsOf({ all, dimensions }: Hour): (readonly [dimension: string, rollup: Rollup])[] {
  return [["", all], ...[...dimensions].map(([name, groups]) => [dimensionOf(name), groups] as const)];
}

function rollupUnit(
  applicationId: string,
  key: string,
  id: string,
  dimension: string,
  rollups: readonly Rollup[],
): Unit {
  return {
    key,
    position: id,
    async prepare(queries) {
      const stored = await findRollup(applicationId, id, queries);
      const data = writeRollup(mergeRollups(dimension, stored, rollups));
      return {
        size: data.length,
        growth: data.length - (stored?.length ?? 0),
        write: (transaction) => insertOrUpdateRollup(applicationId, { id, dimension, data }, transaction),
      };
    },
  };
}

const chunkEventsMax = 1_000;

function chunksUnit(applicationId: string, key: string, start: number, hour: Hour, ids: IdGenerator): Unit {
  const seriesId = seriesOf(key);
  return {
    key,
    position: eventsPosition(seriesId, start),
    async prepare() {
      const rows = [...chunksOf(hour, seriesId, ids)];
      return {
        size: rows.reduce((sum, { payload }) => sum + payload.length, 0),
        growth: rows.reduce((sum, { payload }) => sum + bytesOfChunk(payload), 0),
        async write(queries) {
          await Promise.all(rows.map((row) => insertChunk(applicationId, row, queries)));
        },
      };
    },
  };
}

function* chunksOf(hour: Hour, seriesId: string, ids: IdGenerator): Generator<ChunkRow> {
  let parts: ChunkPart[] = [];
  let count = 0;
  for (const part of hour.parts) {
    if (count > 0 && count + part.events.length > chunkEventsMax) {
      yield chunkOf(parts, count, seriesId, ids);
      parts = [];
      count = 0;
    }
    parts.push(part);
    count += part.events.length;
  }
  if (count > 0) yield chunkOf(parts, count, seriesId, ids);
}

function chunkOf(parts: readonly ChunkPart[], event_count: number, seriesId: string, ids: IdGenerator): ChunkRow {
  let latestAt = Number.NEGATIVE_INFINITY;
  for (const { events } of parts) for (const [, at] of events) if (at > latestAt) latestAt = at;
  const unique = ids.newId("MetricEvent").slice("met_".length);
  return { id: chunkPrefix(seriesId, latestAt) + unique, event_count, payload: JSON.stringify(parts) };
}

function keyUnit(applicationId: string, seriesId: string, change: KeyChange): Unit {
  return {
    key: change.key,
    position: keyPosition(seriesId),
    async prepare() {
      return { size: 0, growth: 0, write: (queries) => insertOrUpdateKey(applicationId, change, queries) };
    },
  };
}

function changeOfKey(key: string, { hours, lastReceivedAt }: Series): KeyChange {
  let eventCount = 0;
  let earliestAt = Number.POSITIVE_INFINITY;
  for (const [start, hour] of hours) {
    eventCount += hour.eventCount;
    earliestAt = Math.min(earliestAt, start);
  }
  return { key, eventCount, earliestAt, lastReceivedAt };
}
