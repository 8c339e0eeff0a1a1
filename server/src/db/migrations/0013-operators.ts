import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Operators get roles, passwords and sessions, and their actions are audited. Existing operators, who had all
 * permissions, become owners, without a password until one is set. Tokens without an expiry are removed.
 */
export const operatorSessions: Migration = {
  name: "0013-operators",
  statements: ({ text, integer, tableOptions }) => [
    sql`drop table operator_tokens`,
    sql`alter table operators add column role ${text} not null default 'owner'`,
    sql`alter table operators add column password_hash ${text} not null default ''`,
    sql`alter table operators add column last_login_at ${integer}`,
    sql`create index operators_created on operators (created_at, id)`,
    sql`
      create table operator_sessions (
        digest ${text} not null,
        operator_id ${text} not null,
        created_at ${integer} not null,
        used_at ${integer} not null,
        expires_at ${integer} not null,
        primary key (digest),
        foreign key (operator_id) references operators (id)
      ) ${tableOptions}`,
    sql`create index operator_sessions_of on operator_sessions (operator_id)`,
    sql`create index operator_sessions_expiring on operator_sessions (expires_at)`,
    sql`create index operator_sessions_used on operator_sessions (used_at)`,
    sql`
      create table audit_log (
        id ${text} not null,
        at ${integer} not null,
        actor_kind ${text} not null,
        actor_id ${text} not null,
        actor_name ${text} not null,
        action ${text} not null,
        application_id ${text} not null,
        target ${text} not null,
        address ${text} not null,
        request_id ${text} not null,
        details ${text} not null,
        primary key (id)
      ) ${tableOptions}`,
    sql`create index audit_log_at on audit_log (at, id)`,
    sql`create index audit_log_application on audit_log (application_id, at, id)`,
    sql`create index audit_log_actor on audit_log (actor_id, at, id)`,
    sql`create index audit_log_action on audit_log (action, at, id)`,
    sql`create index audit_log_target on audit_log (target, at, id)`,
  ],
};
