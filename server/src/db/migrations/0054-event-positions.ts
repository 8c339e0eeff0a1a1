import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Makes events cheaper where they get their positions after the commit: no index has an entry for a missing position, and the
 * engine does not look up the application of each event (`deleteApplicationRows` finds events without one).
 */
export const eventPositions: Migration = {
  name: "0054-event-positions",
  statements: ({ hasRowLocks }) =>
    hasRowLocks
      ? [
          sql`
            create unique index if not exists events_by_placement on events (application_id, position)
            where position is not null`,
          sql`drop index events_by_position`,
          sql`alter table events drop constraint events_application_id_fkey`,
        ]
      : [],
};
