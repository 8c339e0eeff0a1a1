import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Indexes for what operators list: users by their last login, applications by name, and the audit log by kind of actor. */
export const operatorLists: Migration = {
  name: "0040-operator-lists",
  statements: () => [
    sql`create index users_all_login on users (application_id, last_login_at, id) where deleted_at is null`,
    sql`create index applications_live_name on applications (name, application_id) where deleted_at is null`,
    sql`create index audit_log_actor_kind on audit_log (actor_kind, at, id)`,
    // Written as `audit/audit.store.ts` writes it.
    sql`create index audit_log_refused on audit_log (at, id) where replace(details, '"error":', '') <> details`,
  ],
};
