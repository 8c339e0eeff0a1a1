import type { Database } from "../db/database.ts";
import { eachRow, filterStream } from "../db/stream.ts";
import type { UserExporter } from "../exports/user-export.ts";
import { earliestMs, latestMs } from "../lib/dates.ts";
import { eventsStream } from "./metrics.events.ts";
import { keysStream } from "./metrics.keys.ts";
import { presentEvent } from "./metrics.operator.contract.ts";
import type { Pseudonyms } from "./metrics.pseudonyms.ts";
import { listHandles } from "./metrics.store.ts";

const keysAtOnce = 100;
const eventsAtOnce = 500;

/**
 * The events of a user that are kept, for the export of the user: those under the pseudonym that the user has now. Events
 * are kept by key and hour, not by user, so all of the application's are gone through.
 */
export function metricsExporter(services: {
  readonly database: Database;
  readonly pseudonyms: Pseudonyms;
}): UserExporter {
  const { reads } = services.database;
  return async function* ({ applicationId, userId }) {
    const pseudonym = services.pseudonyms.of(applicationId, userId);
    async function* rows() {
      for await (const { key } of eachRow(keysStream(applicationId, reads), keysAtOnce)) {
        const range = { from: earliestMs, to: latestMs + 1 };
        const events = filterStream(eventsStream(applicationId, key, range, reads), ({ user }) => user === pseudonym);
        for await (const event of eachRow(events, eventsAtOnce)) {
          const [handle] = event.index === 0 ? await listHandles(applicationId, [event.rowId], reads) : [];
          yield { key, ...presentEvent(event, handle) };
        }
      }
    }
    yield { name: "metrics.ndjson", rows: rows() };
  };
}
