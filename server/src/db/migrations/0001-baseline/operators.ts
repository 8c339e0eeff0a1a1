import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** The operators of the deployment, who belong to no application, and the audit log. */
export const operators: Migration["statements"] = ({ text, integer, tableOptions }) => [
  sql`
    create table operators (
      id ${text} not null,
      name ${text} not null,
      created_at ${integer} not null,
      role ${text} not null default 'owner',
      password_hash ${text} not null default '',
      last_login_at ${integer},
      must_change_password ${integer} not null default 0,
      primary key (id),
      unique (name)
    ) ${tableOptions}`,
  sql`create index operators_created on operators (created_at, id)`,
  sql`create index operators_lower_name on operators (lower(name), id)`,

  sql`
    create table operator_sessions (
      digest ${text} not null,
      operator_id ${text} not null,
      created_at ${integer} not null,
      used_at ${integer} not null,
      expires_at ${integer} not null,
      proved_at ${integer},
      address ${text} not null default '',
      browser ${text} not null default '',
      is_cookie ${integer} not null default 0,
      primary key (digest),
      foreign key (operator_id) references operators (id)
    ) ${tableOptions}`,
  sql`create index operator_sessions_of on operator_sessions (operator_id)`,
  sql`create index operator_sessions_expiring on operator_sessions (expires_at)`,
  sql`create index operator_sessions_used on operator_sessions (used_at)`,
  sql`create index operator_sessions_created on operator_sessions (operator_id, created_at, digest)`,

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
      count ${integer} not null default 1,
      last_at ${integer},
      primary key (id)
    ) ${tableOptions}`,
  sql`create index audit_log_at on audit_log (at, id)`,
  sql`create index audit_log_application on audit_log (application_id, at, id)`,
  sql`create index audit_log_actor on audit_log (actor_id, at, id)`,
  sql`create index audit_log_action on audit_log (action, at, id)`,
  sql`create index audit_log_target on audit_log (target, at, id)`,
  sql`create index audit_log_actor_kind on audit_log (actor_kind, at, id)`,
  sql`create index audit_log_refused on audit_log (at, id) where replace(details, '"error":', '') <> details`,
  sql`create index audit_log_request on audit_log (request_id, at, id) where request_id <> ''`,

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
];
