import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Devices and users that operators make to try calls. There is no foreign key to devices, because processes of the
 * previous version erase applications without knowing this table. The indexes find what refers to a device that is
 * erased.
 */
export const testCallers: Migration = {
  name: "0042-test-callers",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table test_callers (
        application_id ${text} not null,
        device_id ${text} not null,
        user_id ${text},
        ends_at ${integer} not null,
        primary key (application_id, device_id),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
    sql`create index test_callers_by_end on test_callers (ends_at)`,
    sql`create index if not exists crash_reports_of_device on crash_reports (application_id, device_id, id)`,
    sql`create index if not exists crash_group_devices_of_device
      on crash_group_devices (application_id, device_id, fingerprint)`,
  ],
};
