import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * The devices that a user has signed in from; password guessing from elsewhere does not delay them. There is no foreign
 * key to users, because processes of the previous version erase users without knowing this table.
 */
export const recognizedDevices: Migration = {
  name: "0020-recognized-devices",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table recognized_devices (
        application_id ${text} not null,
        user_id ${text} not null,
        device_id ${text} not null,
        recognized_at ${integer} not null,
        primary key (application_id, user_id, device_id),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
  ],
};
