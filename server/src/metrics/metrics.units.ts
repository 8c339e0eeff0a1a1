import type { Queries } from "../db/database.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Batch, Hour, Series } from "./metrics.batch.ts";
import { insertChunk, insertOrUpdateKey } from "./metrics.chunks.store.ts";
import type { ChunkPart, ChunkRow, KeyChange } from "./metrics.payload.ts";
import { findRollup, insertOrUpdateRollup } from "./metrics.rollups.store.ts";
import { dimensionOf, mergeRollups, type Rollup, writeRollup } from "./metrics.rollups.ts";
import {
  chunkPrefix,
  eventsPosition,
  type Granularity,
  keyPosition,
  rollupId,
  seriesOf,
  startOf,
} from "./metrics.series.ts";

/** A part of a batch that is written whole. */
export interface Unit {
  /** Units are written in the order of their positions, so that one of them tells how far a batch has come. */
  readonly position: string;
  /** Reads what is there, before the transaction; what it gives writes in the transaction. */
  prepare(queries: Queries): Promise<PreparedUnit>;
}

export interface PreparedUnit {
  /** About how many bytes it writes. */
  readonly size: number;
  write(queries: Queries): Promise<void>;
}

/** The units of a batch that come behind a position, in order. */
export function* unitsOf(applicationId: string, batch: Batch, after: string, ids: IdGenerator): Generator<Unit> {
  const series = [...batch.series].map(([key, each]) => ({ key, seriesId: seriesOf(key), each }));
  series.sort((a, b) => (a.seriesId < b.seriesId ? -1 : 1));
  for (const { key, seriesId, each } of series) {
    if (keyPosition(seriesId) <= after) continue;
    const units = [
      ...[...each.hours].map(([start, hour]) => chunksUnit(applicationId, seriesId, start, hour, ids)),
      ...rollupUnits(applicationId, seriesId, "day", each),
      ...rollupUnits(applicationId, seriesId, "hour", each),
      keyUnit(applicationId, seriesId, changeOfKey(key, each)),
    ];
    units.sort((a, b) => (a.position < b.position ? -1 : 1));
    for (const unit of units) if (unit.position > after) yield unit;
  }
}

/** One for each bucket and dimension; hours that make up a day are merged when its turn comes. */
function rollupUnits(applicationId: string, seriesId: string, granularity: Granularity, { hours }: Series): Unit[] {
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
  return [...parts].map(([id, { dimension, rollups }]) => rollupUnit(applicationId, id, dimension, rollups));
}

function rollupsOf({ all, dimensions }: Hour): (readonly [dimension: string, rollup: Rollup])[] {
  return [["", all], ...[...dimensions].map(([name, groups]) => [dimensionOf(name), groups] as const)];
}

function rollupUnit(applicationId: string, id: string, dimension: string, rollups: readonly Rollup[]): Unit {
  return {
    position: id,
    async prepare(queries) {
      const stored = await findRollup(applicationId, id, queries);
      const data = writeRollup(mergeRollups(dimension, stored, rollups));
      return {
        size: data.length,
        write: (transaction) => insertOrUpdateRollup(applicationId, { id, dimension, data }, transaction),
      };
    },
  };
}

const chunkEventsMax = 1_000;

function chunksUnit(applicationId: string, seriesId: string, start: number, hour: Hour, ids: IdGenerator): Unit {
  return {
    position: eventsPosition(seriesId, start),
    async prepare() {
      const rows = [...chunksOf(hour, seriesId, ids)];
      return {
        size: rows.reduce((sum, { payload }) => sum + payload.length, 0),
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
    position: keyPosition(seriesId),
    async prepare() {
      return { size: 0, write: (queries) => insertOrUpdateKey(applicationId, change, queries) };
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
