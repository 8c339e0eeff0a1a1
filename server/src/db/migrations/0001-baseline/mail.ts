import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** The mail outbox, and mail limits by recipient. */
export const mail: Migration["statements"] = ({ text, integer, tableOptions }) => [
  sql`
    create table mail_outbox (
      application_id ${text} not null,
      id ${text} not null,
      user_id ${text} not null,
      kind ${text} not null,
      sealed ${text} not null,
      attempts ${integer} not null,
      due_at ${integer} not null,
      expires_at ${integer} not null,
      primary key (application_id, id),
      foreign key (application_id, user_id) references users (application_id, id)
    ) ${tableOptions}`,
  sql`create index mail_outbox_user on mail_outbox (application_id, user_id)`,
  sql`create index mail_outbox_application_due on mail_outbox (application_id, due_at)`,
  sql`create index mail_outbox_due on mail_outbox (due_at)`,

  sql`
    create table mail_limits (
      application_id ${text} not null,
      subject ${text} not null,
      times ${text} not null,
      expires_at ${integer} not null,
      primary key (application_id, subject),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
  sql`create index mail_limits_expiry on mail_limits (expires_at)`,
];
