import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * For operators: the holders of an identifier, which SQLite without statistics reads from an index of all identities unless one
 * with both columns has the user, too; deleted users whose data is still being erased, and the platforms whose devices have reported a crash. Reports that processes of the previous version store meanwhile add none;
 * the next report of the crash from the platform does.
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
