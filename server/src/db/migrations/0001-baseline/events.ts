import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** The event log, from which clients read the changes that concern them (spec/events). */
export const events: Migration["statements"] = ({ text, integer, serial, tableOptions, hasRowLocks }) => [
  sql`
    create table event_logs (
      application_id ${text} not null references applications (application_id),
      name ${text} not null,
      wanted_until ${integer} not null,
      is_complete ${integer} not null,
      dropped_to ${integer} not null,
      recording ${text} not null default 'wanted',
      types ${text} not null default '',
      retention_days ${integer} not null default 7,
      primary key (application_id, name)
    ) ${tableOptions}`,
  sql`create unique index event_logs_one on event_logs (application_id)`,

  // With row locks, events get their positions after the commit. To make them cheaper, no index has an entry for a missing
  // position, and the engine does not look up the application of each event (`deleteApplicationRows` finds events without one).
  sql`
    create table events (
      application_id ${text} not null ${hasRowLocks ? sql`` : sql`references applications (application_id)`},
      number ${serial} not null,
      position ${integer},
      id ${text} not null,
      type ${text} not null,
      at ${integer} not null,
      object_id ${text} not null,
      user_id ${text},
      key ${text},
      slot ${text},
      changed ${text} not null,
      was_shown ${integer} not null,
      is_shown ${integer} not null,
      item_id ${text},
      actor_kind ${text},
      actor_id ${text},
      primary key (application_id, number)
    ) ${tableOptions}`,
  ...(hasRowLocks ? [] : [sql`create unique index events_by_position on events (application_id, position)`]),
  sql`create index events_without_position on events (application_id, number) where position is null`,
  ...(hasRowLocks
    ? [sql`create unique index events_by_placement on events (application_id, position) where position is not null`]
    : []),
];
