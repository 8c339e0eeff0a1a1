import type { Queries } from "../../db/database.ts";
import { isOnSide, type Stream, sortRows, type Take } from "../../db/search/stream.ts";
import type { Key } from "../../lib/keyset.ts";
import { spans, startOf } from "../../lib/spans.ts";
import { createYield } from "../../lib/yield.ts";
import type { ChunkPart } from "./inbox.store.ts";
import { chunkPrefix, latestOfChunk, seriesOf } from "./row-ids.ts";
import { listChunks } from "./series.store.ts";
import { readKey, readWaiting, type WaitingSnapshot } from "./snapshot.ts";

/** A reported event. */
export interface RawEvent {
  readonly occurredAt: number;
  readonly receivedAt: number;
  readonly device: string;
  readonly user: string | null;
  readonly namesAndValues: readonly (string | number | boolean)[];
  /** The inbox row that the event arrived in, and its index there. */
  readonly rowId: string;
  readonly index: number;
}

export interface EventRange {
  readonly from: number;
  /** Exclusive upper bound. */
  readonly to: number;
}

const order = {
  keyOf: ({ occurredAt, rowId, index }: RawEvent): Key => [occurredAt, rowId, index],
  isDescending: true,
} as const;

const chunksAtOnce = 8;

/** Streams the events of a key, the latest first. */
export function eventsStream(
  applicationId: string,
  key: string,
  range: EventRange,
  queries: Queries,
): Stream<RawEvent> {
  const seriesId = seriesOf(key);
  return {
    ...order,
    async take(take, work) {
      const found = () => {
        const rows = nearest.rows();
        work?.examined(rows.length);
        return { rows };
      };
      const isDown = take.direction === "forward";
      // Reads the inbox first: an event that is compacted in between is then read twice instead of missed.
      const { waiting } = await readKey(applicationId, key, queries);
      const nearest = createNearest(take, range);
      await addWaiting(waiting, key, nearest.add);

      const yieldToOthers = createYield();
      const at = Number(take.bound?.key[0] ?? (isDown ? range.to : range.from));
      // A chunk contains events of one hour, and its id contains the time of the latest.
      let from = chunkPrefix(seriesId, isDown ? range.from : Math.max(at, range.from));
      let to = chunkPrefix(seriesId, isDown ? Math.min(startOf("hour", at) + spans.hour, endOf(range)) : endOf(range));
      for (;;) {
        const chunks = await listChunks(applicationId, { from, to }, { isDown, count: chunksAtOnce }, queries);
        for (const { id, payload } of chunks) {
          const latestAt = latestOfChunk(id);
          if (nearest.isBeyond(isDown ? latestAt : startOf("hour", latestAt))) return found();
          addParts(JSON.parse(payload), nearest.add); // written by `units.ts`
          await yieldToOthers();
        }
        const last = chunks.at(-1);
        if (last === undefined || chunks.length < chunksAtOnce) return found();
        if (isDown) to = last.id;
        else from = `${last.id}.`; // sorts directly after the id
      }
    },
  };
}

function endOf({ to }: EventRange): number {
  return startOf("hour", to - 1) + spans.hour;
}

async function addWaiting(waiting: WaitingSnapshot, key: string, add: (event: RawEvent) => void): Promise<void> {
  await readWaiting(waiting).eachEvent(key, ({ id, received_at, device, user }, index, event) => {
    const [, occurredAt, ...namesAndValues] = event;
    add({ occurredAt, receivedAt: received_at, device, user, namesAndValues, rowId: id, index });
  });
}

function addParts(parts: readonly ChunkPart[], add: (event: RawEvent) => void): void {
  for (const { id, receivedAt, device, user, events } of parts) {
    for (const [index, occurredAt, ...namesAndValues] of events) {
      add({ occurredAt, receivedAt, device, user, namesAndValues, rowId: id, index });
    }
  }
}

/** Collects the events nearest to the start of the page, each once. */
function createNearest({ direction, bound, count }: Take, { from, to }: EventRange) {
  let kept: RawEvent[] = [];
  let isSorted = true;

  function shrink(): void {
    if (isSorted) return;
    kept = sortRows(kept, order, direction);
    kept = kept.filter((event, index) => !isSame(event, kept[index - 1])).slice(0, count);
    isSorted = true;
  }
  return {
    add(event: RawEvent): void {
      if (event.occurredAt < from || event.occurredAt >= to) return;
      if (bound !== undefined && !isOnSide(order, order.keyOf(event), bound)) return;
      kept.push(event);
      isSorted = false;
      if (kept.length > 2 * count + 1_000) shrink();
    },
    /** Whether every event from this time on is too far away for the page. */
    isBeyond(at: number): boolean {
      shrink();
      const last = kept[count - 1];
      return last !== undefined && (direction === "forward" ? at < last.occurredAt : at > last.occurredAt);
    },
    rows(): RawEvent[] {
      shrink();
      return kept;
    },
  };
}

function isSame(event: RawEvent, other: RawEvent | undefined): boolean {
  return other !== undefined && event.rowId === other.rowId && event.index === other.index;
}
