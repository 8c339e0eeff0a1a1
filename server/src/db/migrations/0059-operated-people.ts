import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * For operators: the users with an identifier, deleted users whose data is still being erased, and the platforms whose devices
 * have reported a crash. The index of identifiers has the user, too, because SQLite without statistics would otherwise walk
 * an index of all identities. A report that a process of the previous version stores meanwhile adds no platform; the next
 * report of the crash from that platform does.
 */
export const operatedPeople: Migration = {
  name: "0059-operated-people",
  statements: ({ text, tableOptions }) => [
    sql`
      create table crash_group_platforms (
        application_id ${text} not null,
        fingerprint ${text} not null,
        platform ${text} not null,
        primary key (application_id, fingerprint, platform),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
    sql`
      insert into crash_group_platforms (application_id, fingerprint, platform)
      select distinct reporter.application_id, reporter.fingerprint, device.platform
      from crash_group_devices as reporter
      join devices as device on device.application_id = reporter.application_id and device.id = reporter.device_id`,
    sql`create index if not exists identities_of_identifier on identities (application_id, identifier, user_id)`,
    sql`drop index if exists identities_identifier`,
    sql`create index if not exists users_deleted on users (application_id, deleted_at, id) where deleted_at is not null`,
  ],
};
