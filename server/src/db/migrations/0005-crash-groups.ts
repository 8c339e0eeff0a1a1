import { sql } from "kysely";
import { identifyCrash } from "../../crashes/crash-identity.ts";
import type { Queries } from "../database.ts";
import type { Migration } from "./migration.ts";

/**
 * Groups crash reports by bug. The counts of a group are stored with it: they survive the reports, and a page of groups
 * reads no report.
 */
export const crashGroups: Migration = {
  name: "0005-crash-groups",
  statements: ({ text, integer, tableOptions }) => [
    sql`alter table crash_reports add column fingerprint ${text} not null default ''`,
    sql`create index crash_reports_of_group on crash_reports (application_id, fingerprint, created_at, id)`,
    sql`create index crash_reports_by_age on crash_reports (application_id, created_at, id)`,
    sql`
      create table crash_groups (
        application_id ${text} not null,
        fingerprint ${text} not null,
        title ${text} not null,
        reports ${integer} not null,
        devices ${integer} not null,
        first_seen_at ${integer} not null,
        last_seen_at ${integer} not null,
        primary key (application_id, fingerprint),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
    sql`create index crash_groups_by_last_seen on crash_groups (application_id, last_seen_at, fingerprint)`,
    sql`create index crash_groups_by_first_seen on crash_groups (application_id, first_seen_at, fingerprint)`,
    sql`create index crash_groups_by_reports on crash_groups (application_id, reports, fingerprint)`,
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
    sql`create index crash_group_versions_by_last_seen
      on crash_group_versions (application_id, fingerprint, last_seen_at, app_version)`,
    sql`
      create table crash_group_devices (
        application_id ${text} not null,
        fingerprint ${text} not null,
        device_id ${text} not null,
        primary key (application_id, fingerprint, device_id),
        foreign key (application_id, device_id) references devices (application_id, id)
      ) ${tableOptions}`,
  ],
  fill,
};

/** Stack traces are long, so this many are in memory at a time. */
const reportsPerStep = 50;

async function fill(queries: Queries): Promise<void> {
  let last: Pick<Report, "application_id" | "id"> | undefined = { application_id: "", id: "" };
  while (last !== undefined) {
    const reports: readonly Report[] = await readReports(last, queries);
    for (const report of reports) await identifyReport(report, queries);
    last = reports.at(-1);
  }
  await sql`
    update crash_groups set
      reports = (select count(*) ${reportsOfGroup}),
      devices = (select count(distinct device_id) ${reportsOfGroup}),
      first_seen_at = (select min(created_at) ${reportsOfGroup}),
      last_seen_at = (select max(created_at) ${reportsOfGroup})`.execute(queries);
  await sql`
    insert into crash_group_devices (application_id, fingerprint, device_id)
    select distinct application_id, fingerprint, device_id from crash_reports`.execute(queries);
  await sql`
    insert into crash_group_versions (application_id, fingerprint, app_version, reports, first_seen_at, last_seen_at)
    select application_id, fingerprint, coalesce(app_version, ''), count(*), min(created_at), max(created_at)
    from crash_reports group by application_id, fingerprint, coalesce(app_version, '')`.execute(queries);
}

const reportsOfGroup = sql`from crash_reports as report
  where report.application_id = crash_groups.application_id and report.fingerprint = crash_groups.fingerprint`;

interface Report {
  readonly application_id: string;
  readonly id: string;
  readonly stack_trace: string;
  readonly message: string | null;
}

async function readReports(after: Pick<Report, "application_id" | "id">, queries: Queries): Promise<readonly Report[]> {
  const { rows } = await sql<Report>`
    select application_id, id, stack_trace, message from crash_reports
    where (application_id, id) > (${after.application_id}, ${after.id})
    order by application_id, id limit ${reportsPerStep}`.execute(queries);
  return rows;
}

/** Reports come in order of creation, so the first of a group names it. The counts are computed at the end. */
async function identifyReport({ application_id, id, ...report }: Report, queries: Queries): Promise<void> {
  const { fingerprint, title } = identifyCrash(report.stack_trace, report.message);
  await sql`
    insert into crash_groups (application_id, fingerprint, title, reports, devices, first_seen_at, last_seen_at)
    values (${application_id}, ${fingerprint}, ${title}, 0, 0, 0, 0)
    on conflict do nothing`.execute(queries);
  await sql`
    update crash_reports set fingerprint = ${fingerprint}
    where application_id = ${application_id} and id = ${id}`.execute(queries);
}
