import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * The state that operators have set for a crash, and its reports by day. There is no foreign key to groups, because
 * processes of the previous version erase groups without knowing the counts.
 */
export const crashStates: Migration = {
  name: "0047-crash-states",
  statements: ({ text, integer, tableOptions }) => [
    sql`alter table crash_groups add column state ${text} not null default 'open'`,
    sql`alter table crash_groups add column state_at ${integer} not null default 0`,
    sql`alter table crash_groups add column resolved_in ${text}`,
    sql`alter table crash_groups add column ignored_until_reports ${integer}`,
    sql`alter table crash_groups add column ignored_until_devices ${integer}`,
    sql`alter table crash_groups add column ignored_until_date ${integer}`,
    sql`alter table crash_groups add column reopened_at ${integer}`,
    sql`alter table crash_groups add column note ${text}`,
    ...["last_seen_at", "first_seen_at", "reports"].map(
      (column) => sql`create index if not exists ${sql.ref(`crash_groups_state_${column}`)}
        on crash_groups (application_id, state, ${sql.ref(column)}, fingerprint)`,
    ),
    sql`
      create table crash_group_days (
        application_id ${text} not null,
        fingerprint ${text} not null,
        day ${integer} not null,
        app_version ${text} not null,
        os_version ${text} not null,
        reports ${integer} not null,
        primary key (application_id, fingerprint, day, app_version, os_version),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
    sql`create index crash_group_days_by_age on crash_group_days (application_id, day)`,
    sql`
      insert into crash_group_days (application_id, fingerprint, day, app_version, os_version, reports)
      select application_id, fingerprint, created_at / 86400000 * 86400000, coalesce(app_version, ''),
        coalesce(os_version, ''), count(*)
      from crash_reports
      group by application_id, fingerprint, created_at / 86400000 * 86400000, coalesce(app_version, ''),
        coalesce(os_version, '')`,
  ],
};
