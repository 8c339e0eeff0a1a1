import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Indexes for the operators' search (`search/`): names and labels regardless of the case of the letters A to Z,
 * identities of any provider, and the audit log by request.
 */
export const operatorSearch: Migration = {
  name: "0051-operator-search",
  statements: () => [
    sql`create index applications_live_lower_name on applications (lower(name), application_id) where deleted_at is null`,
    sql`create index operators_lower_name on operators (lower(name), id)`,
    sql`create index application_keys_lower_label on application_keys (application_id, lower(label), id)`,
    sql`create index if not exists identities_identifier on identities (application_id, identifier, provider)`,
    sql`create index if not exists audit_log_request on audit_log (request_id, at, id) where request_id <> ''`,
  ],
};
