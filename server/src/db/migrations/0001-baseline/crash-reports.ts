import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/**
 * Crash reports, grouped by bug. The counts of a group are stored with it: they survive the reports, and a page of groups
 * reads no report.
 */
export const crashReports: Migration["statements"] = ({ text, integer, real, tableOptions }) => [
  sql`
    create table crash_reports (
      application_id ${text} not null,
      id ${text} not null,
      device_id ${text} not null,
      stack_trace ${text} not null,
      message ${text},
      method_name ${text},
      tag ${text},
      lat ${real},
      lng ${real},
      app_version ${text},
      os_version ${text},
      created_at ${integer} not null,
      fingerprint ${text} not null default '',
      primary key (application_id, id),
      foreign key (application_id, device_id) references devices (application_id, id)
    ) ${tableOptions}`,
  sql`create index crash_reports_of_group on crash_reports (application_id, fingerprint, created_at, id)`,
  sql`create index crash_reports_by_age on crash_reports (application_id, created_at, id)`,
  sql`create index crash_reports_of_device on crash_reports (application_id, device_id, id)`,

  sql`
    create table crash_groups (
      application_id ${text} not null,
      fingerprint ${text} not null,
      title ${text} not null,
      reports ${integer} not null,
      devices ${integer} not null,
      first_seen_at ${integer} not null,
      last_seen_at ${integer} not null,
      state ${text} not null default 'open',
      state_at ${integer} not null default 0,
      resolved_in ${text},
      ignored_until_reports ${integer},
      ignored_until_devices ${integer},
      ignored_until_date ${integer},
      reopened_at ${integer},
      note ${text},
      primary key (application_id, fingerprint),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
  sql`create index crash_groups_by_last_seen on crash_groups (application_id, last_seen_at, fingerprint)`,
  sql`create index crash_groups_by_first_seen on crash_groups (application_id, first_seen_at, fingerprint)`,
  sql`create index crash_groups_by_reports on crash_groups (application_id, reports, fingerprint)`,
  sql`create index crash_groups_state_last_seen_at on crash_groups (application_id, state, last_seen_at, fingerprint)`,
  sql`
    create index crash_groups_state_first_seen_at
    on crash_groups (application_id, state, first_seen_at, fingerprint)`,
  sql`create index crash_groups_state_reports on crash_groups (application_id, state, reports, fingerprint)`,

  sql`
    create table crash_group_versions (
      application_id ${text} not null,
      fingerprint ${text} not null,
      app_version ${text} not null,
      reports ${integer} not null,
      first_seen_at ${integer} not null,
      last_seen_at ${integer} not null,
      primary key (application_id, fingerprint, app_version),
      foreign key (application_id, fingerprint) references crash_groups (application_id, fingerprint)
    ) ${tableOptions}`,
  sql`
    create index crash_group_versions_by_last_seen
    on crash_group_versions (application_id, fingerprint, last_seen_at, app_version)`,

  sql`
    create table crash_group_devices (
      application_id ${text} not null,
      fingerprint ${text} not null,
      device_id ${text} not null,
      primary key (application_id, fingerprint, device_id),
      foreign key (application_id, device_id) references devices (application_id, id)
    ) ${tableOptions}`,
  sql`create index crash_group_devices_of_device on crash_group_devices (application_id, device_id, fingerprint)`,

  sql`
    create table crash_group_platforms (
      application_id ${text} not null,
      fingerprint ${text} not null,
      platform ${text} not null,
      primary key (application_id, fingerprint, platform),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,

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
];
