import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * The actor of an event, and the member that it is about besides its object. Processes of the previous version write
 * events without them.
 */
export const eventActors: Migration = {
  name: "0048-event-actors",
  statements: ({ text, integer }) => [
    sql`alter table events add column item_id ${text}`,
    sql`alter table events add column actor_kind ${text}`,
    sql`alter table events add column actor_id ${text}`,
    sql`alter table event_logs add column recording ${text} not null default 'wanted'`,
    sql`alter table event_logs add column types ${text} not null default ''`,
    sql`alter table event_logs add column retention_days ${integer} not null default 7`,
  ],
};
