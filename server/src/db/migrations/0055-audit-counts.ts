import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The number of entries of the audit log in each hour and day (`audit/audit.counting.ts`). */
export const auditCounts: Migration = {
  name: "0055-audit-counts",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table audit_counts (
        application_id ${text} not null,
        span ${integer} not null,
        starts_at ${integer} not null,
        actor_kind ${text} not null,
        action ${text} not null,
        is_refused ${integer} not null,
        entries ${integer} not null,
        primary key (application_id, span, starts_at, actor_kind, action, is_refused)
      ) ${tableOptions}`,
    sql`create index audit_counts_by_time on audit_counts (span, starts_at)`,
  ],
};
