import type { Database } from "../db/database.ts";
import { eachRow, filterStream } from "../db/search/stream.ts";
import { earliestMs, latestMs } from "../lib/dates.ts";
import type { UserExporter } from "../owned/export.ts";
import { eventsStream } from "./engine/events.ts";
import { listHandles } from "./engine/inbox.store.ts";
import { keysStream } from "./engine/keys.ts";
import type { SaltedHashes } from "./engine/salted-hashes.ts";
import { presentEvent } from "./metrics.operator.contract.ts";

const keysAtOnce = 100;
const eventsAtOnce = 500;

/**
 * Exports the stored events of a user, under the user's current salted hash. Reads all events of the application,
 * because they are stored by key and hour.
 */
export function metricsExporter(services: {
  readonly database: Database;
  readonly saltedHashes: SaltedHashes;
}): UserExporter {
  const { reads } = services.database;
  return async function* ({ applicationId, userId }) {
    const hash = services.saltedHashes.of(applicationId, userId);
    async function* rows() {
      for await (const { key } of eachRow(keysStream(applicationId, "", reads), keysAtOnce)) {
        const range = { from: earliestMs, to: latestMs + 1 };
        const events = filterStream(eventsStream(applicationId, key, range, reads), ({ user }) => user === hash);
        for await (const event of eachRow(events, eventsAtOnce)) {
          const [handle] = event.index === 0 ? await listHandles(applicationId, [event.rowId], reads) : [];
          yield { key, ...presentEvent(event, handle) };
        }
      }
    }
    yield { name: "metrics.ndjson", rows: rows() };
  };
}
