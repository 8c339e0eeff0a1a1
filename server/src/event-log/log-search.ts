import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { condition, equals, type Order } from "../db/search/conditions.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { Stream, Taken } from "../db/search/stream.ts";
import { yieldWork } from "../lib/call-work.ts";
import type { PlacedEvent } from "./log-rows.store.ts";
import { msPerRead, rowsPerRead, rowsPerStep } from "./read-limits.ts";

/**
 * The events of a log that match, newest first. The log has no index but its order, so a search reads a bounded part of
 * it, and reports where it stopped.
 */
export function logStream(
  applicationId: string,
  fits: (event: PlacedEvent) => boolean,
  queries: Queries,
): Stream<PlacedEvent> {
  const scope = {
    ...{ shape: "log of events", from: sql`events`, select: sql`events.*` },
    conditions: [equals("application_id", applicationId), hasPosition],
  };
  const rows = scopeStream<PlacedEvent>(scope, byPosition, true, queries);
  const endsAt = performance.now() + msPerRead;
  let examined = 0;
  return {
    ...rows,
    async take(take, work) {
      const found: PlacedEvent[] = [];
      let { bound } = take;
      for (;;) {
        const chunk = await rows.take({ ...take, bound, count: rowsPerStep }, work);
        found.push(...chunk.rows.filter(fits));
        examined += chunk.rows.length;
        if (found.length >= take.count) return { rows: found.slice(0, take.count) };
        const last = chunk.rows.at(-1);
        if (last === undefined || chunk.rows.length < rowsPerStep) return { rows: found } satisfies Taken<PlacedEvent>;
        const key = rows.keyOf(last);
        if (examined >= rowsPerRead || performance.now() > endsAt) return { rows: found, reached: key };
        bound = { side: take.direction === "forward" ? "after" : "before", key };
        await yieldWork(work);
      }
    },
  };
}

const hasPosition = condition("placed", {}, () => sql`position is not null`);

const byPosition: Order<PlacedEvent> = {
  shape: "position",
  columns: [sql.ref("position")],
  keyOf: ({ position }) => [position],
};
