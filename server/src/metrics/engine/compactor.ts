import { setImmediate } from "node:timers/promises";
import type { Database } from "../../db/database.ts";
import { lockName } from "../../db/lock.ts";
import type { Background } from "../../jobs/background.ts";
import { type CompactionServices, compactBatch } from "./compaction.ts";
import { hourOfChunk } from "./row-ids.ts";
import { type ChunkRow, deleteChunk, findChunk, insertChunk, listSmallChunks } from "./series.store.ts";
import { measureKeys } from "./stored-bytes.ts";

const pageRows = 512;
/** The maximum size of a merged chunk. */
const chunksMax = 64;
const eventsMax = 1_000;

/**
 * Merges the small chunks of an hour, so that a key with one event per minute has one chunk per hour instead of sixty.
 */
async function mergeSmallChunks(applicationId: string, database: Database, signal?: AbortSignal): Promise<void> {
  for (let after = ""; ; ) {
    const small = await listSmallChunks(applicationId, after, pageRows, database.reads);
    for (const [, chunks] of Map.groupBy(small, ({ id }) => hourOfChunk(id))) {
      if (chunks.length < 2) continue;
      signal?.throwIfAborted();
      await foldChunks(
        applicationId,
        chunks.slice(0, chunksMax).map(({ id }) => id),
        database,
      );
      await setImmediate();
    }
    const last = small.at(-1);
    if (last === undefined || small.length < pageRows) return;
    after = last.id;
  }
}

async function foldChunks(applicationId: string, ids: readonly string[], { dialect, write }: Database): Promise<void> {
  await write(async ({ queries }) => {
    await lockName(dialect, `chunks ${applicationId}`, queries);
    const found = await Promise.all(ids.map((id) => findChunk(applicationId, id, queries)));
    const chunks: ChunkRow[] = [];
    let event_count = 0;
    for (const chunk of found) {
      if (chunk === undefined || event_count + chunk.event_count > eventsMax) continue;
      chunks.push(chunk);
      event_count += chunk.event_count;
    }
    const last = chunks.at(-1);
    if (last === undefined || chunks.length < 2) return;
    const payload = `[${chunks.map((chunk) => chunk.payload.slice(1, -1)).join(",")}]`;
    await Promise.all(chunks.map(({ id }) => deleteChunk(applicationId, id, queries)));
    // The id of the last chunk contains the time of the latest event.
    await insertChunk(applicationId, { id: last.id, event_count, payload }, queries);
  });
}

/** Compacts inboxes in the background, shortly after events arrive. */
export interface Compactor {
  /** Must be called after events are stored. */
  note(applicationId: string, eventCount: number): void;
  /** Must be awaited before storing events: slows down clients that outrun the compaction. */
  reduceBacklog(applicationId: string): Promise<void> | undefined;
  statistics(): { readonly waiting: number; readonly running: number; readonly compacted: number };
  /** Compacts until the inbox is empty or another process is compacting, for a bounded number of batches. */
  compact(applicationId: string, signal?: AbortSignal): Promise<void>;
}

/** How long fewer than `eventsMin` events may wait; until then readers count them individually. */
const delayMs = 10_000;
const batchesMax = 10;
const eventsMin = 20_000;
/** From this many waiting events on, calls that report more are delayed for a bounded time. */
const backlogEventsMax = 300_000;
const backlogWaitMsMax = 2_000;

export function createCompactor(services: CompactionServices & { readonly background: Background }): Compactor {
  /** The number of waiting events that this process stored or has read. */
  const waiting = new Map<string, number>();
  const timers = new Map<string, NodeJS.Timeout>();
  const running = new Map<string, Promise<void>>();
  let compacted = 0;

  async function run(applicationId: string, untilEmpty: boolean, signal: AbortSignal | undefined): Promise<void> {
    let taken: number | undefined;
    let batches = 0;
    do {
      batches += 1;
      taken = await compactBatch(applicationId, services, signal);
      compacted += taken ?? 0;
      const left = (waiting.get(applicationId) ?? 0) - (taken ?? Number.POSITIVE_INFINITY);
      if (taken === 0 || left <= 0) waiting.delete(applicationId);
      else waiting.set(applicationId, left);
      await setImmediate();
      signal?.throwIfAborted();
    } while (
      taken !== undefined &&
      taken > 0 &&
      (untilEmpty ? batches < batchesMax : (waiting.get(applicationId) ?? 0) >= eventsMin)
    );
    if (!untilEmpty) return;
    await mergeSmallChunks(applicationId, services.database, signal);
    await measureKeys(applicationId, services.database, signal);
  }

  async function compact(applicationId: string, untilEmpty: boolean, signal?: AbortSignal): Promise<void> {
    clearTimeout(timers.get(applicationId));
    timers.delete(applicationId);
    while (running.has(applicationId)) await running.get(applicationId);
    const done = run(applicationId, untilEmpty, signal).finally(() => {
      running.delete(applicationId);
      if (waiting.has(applicationId)) schedule(applicationId, delayMs);
    });
    running.set(applicationId, done);
    await done;
  }

  function start(applicationId: string): void {
    services.background.run("compact metrics", (signal) => compact(applicationId, false, signal));
  }

  /** Deferred: the caller may still be inside a transaction, which the compaction must not join. */
  function schedule(applicationId: string, inMs: number): void {
    const timer = timers.get(applicationId);
    if (timer !== undefined && inMs > 0) return;
    clearTimeout(timer);
    timers.set(applicationId, setTimeout(start, inMs, applicationId).unref());
  }

  return {
    note(applicationId, eventCount) {
      const before = waiting.get(applicationId) ?? 0;
      waiting.set(applicationId, before + eventCount);
      if (running.has(applicationId)) return;
      schedule(applicationId, before < eventsMin && before + eventCount >= eventsMin ? 0 : delayMs);
    },
    reduceBacklog(applicationId) {
      const isBacklogged = () => (waiting.get(applicationId) ?? 0) >= backlogEventsMax;
      return isBacklogged() ? untilNot(isBacklogged) : undefined;
    },
    statistics: () => ({
      waiting: [...waiting.values()].reduce((sum, each) => sum + each, 0),
      running: running.size,
      compacted,
    }),
    compact: (applicationId, signal) => compact(applicationId, true, signal),
  };
}

async function untilNot(isPending: () => boolean): Promise<void> {
  const since = performance.now();
  while (isPending() && performance.now() - since < backlogWaitMsMax)
    await new Promise((resolve) => setTimeout(resolve, 5));
}
