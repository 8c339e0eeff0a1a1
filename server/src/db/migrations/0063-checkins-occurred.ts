import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * When a check-in happened, and the order by it. Rows without a value, as all of the previous version are, count as of their creation, so
 * that none has to be changed. The expression is written as in `timeField`.
 */
export const checkinsOccurred: Migration = {
  name: "0063-checkins-occurred",
  statements: ({ addColumn, integer }) => [
    sql`alter table checkins ${addColumn} occurred_at ${integer}`,
    sql`
      create index if not exists checkins_own_occurred
      on checkins (application_id, user_id, coalesce(occurred_at, created_at), created_at, id)`,
    sql`
      create index if not exists checkins_shared_occurred
      on checkins (application_id, coalesce(occurred_at, created_at), created_at, id)
      where read_permission = 1`,
  ],
};
