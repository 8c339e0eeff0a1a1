import { setImmediate } from "node:timers/promises";
import type { Database } from "../../db/database.ts";
import { type ChunkRow, deleteChunk, findChunk, insertChunk, listSmallChunks } from "./series.store.ts";
import { hourOfChunk } from "./series.ts";

const pageRows = 512;
/** The maximum size of a merged chunk. */
const chunksMax = 64;
const eventsMax = 1_000;

/** Merges the small chunks of an hour, so that a key with an event a minute has one chunk an hour instead of sixty. */
export async function foldSmallChunks(applicationId: string, database: Database, signal?: AbortSignal): Promise<void> {
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
    for (const statement of dialect.takeTurns(`chunks ${applicationId}`)) await statement.execute(queries);
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
    // The id of the last chunk carries the time of the latest event.
    await insertChunk(applicationId, { id: last.id, event_count, payload }, queries);
  });
}
