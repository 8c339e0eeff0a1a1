import type { Queries } from "../../db/database.ts";
import { isOnSide, type Stream, sortRows, type Take } from "../../db/search/stream.ts";
import { type KeyRow, readKey, readKeys } from "./snapshot.store.ts";
import { readWaiting } from "./waiting.ts";

const order = { keyOf: ({ key }: KeyRow) => [key], isDescending: false } as const;

/** Streams the event keys of an application in order, including keys that are only in the inbox. */
export function keysStream(applicationId: string, prefix: string, queries: Queries): Stream<KeyRow> {
  return {
    ...order,
    async take({ direction, bound: asked, count }, work) {
      const isDown = direction === "backward";
      const bound = asked ?? boundOf(prefix, isDown);
      const [key] = bound?.key ?? [];
      const limit = bound === undefined ? undefined : { side: bound.side, key: String(key) };
      const { keys, waiting } = await readKeys(applicationId, limit, { isDown, count }, queries);
      const more = await readWaiting(waiting).keys();
      const rows = keys.map((row) => {
        const waiting = more.get(row.key);
        more.delete(row.key);
        return waiting === undefined
          ? row
          : {
              key: row.key,
              eventCount: row.eventCount + waiting.eventCount,
              lastReceivedAt: Math.max(row.lastReceivedAt, waiting.lastReceivedAt),
            };
      });
      // Stored keys after the last row read sort after it here, too, and are cut off.
      for (const [each, counted] of more) {
        if (bound === undefined || isOnSide(order, [each], bound)) rows.push({ key: each, ...counted });
      }
      work?.examined(rows.length);
      const found = sortRows(rows, order, direction).slice(0, count);
      // Keys with the prefix are adjacent, so the search stops at the first other key.
      return { rows: found.filter((row) => row.key.startsWith(prefix)) };
    },
  };
}

/** Returns the position where keys with a prefix start, in either direction. */
function boundOf(prefix: string, isDown: boolean): Take["bound"] {
  if (prefix === "") return undefined;
  return isDown ? { side: "until", key: [`${prefix}\u{10FFFF}`] } : { side: "from", key: [prefix] };
}

/** Whether an application has events under a key, stored or waiting. */
export async function isKnownKey(applicationId: string, key: string, queries: Queries): Promise<boolean> {
  const { isKnown, waiting } = await readKey(applicationId, key, queries);
  return isKnown || (await readWaiting(waiting).keys()).has(key);
}
