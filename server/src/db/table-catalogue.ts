import { forOwnedTables } from "./owned-tables.ts";
import type { Tables } from "./tables.ts";

/** The properties of a table that are not columns. */
interface TableEntry {
  /**
   * Rows of the deployment are copied to every node of a distributed database; all others lie with their application.
   * Rows of a user have a `user_id`, and are erased with the user; so are owned objects (`owned/`) and uploads, each
   * with its dependent rows (`users/users.erasure.ts`).
   */
  readonly owner: "deployment" | "application" | "user";
  /**
   * The primary key, at least one column, without the `application_id` that comes first in a row of an application. The
   * deployment's tables have it here if rows expire.
   */
  readonly key?: readonly string[];
  /**
   * A backup contains everything except the rows of running processes. An archive of one application omits responses
   * and mails, which are sealed under the secret of the deployment, unfinished uploads, which clients send again, and
   * the log of events.
   */
  readonly archive: "everywhere" | "backup" | "never";
  /** Rows erased per transaction, where a row may be large. */
  readonly rowsPerStep?: number;
}

/** Owned objects do not refer to each other's rows, so their order is free. */
const ownedEntries = forOwnedTables(() => ({ owner: "application", key: ["id"], archive: "everywhere" }) as const);

/** One entry for each table, in the order of erasure: a row is erased before the rows to which it refers. */
export const tableCatalogue = {
  webhook_deliveries: { owner: "application", key: ["webhook_id", "id"], archive: "never" },
  webhooks: { owner: "application", key: ["id"], archive: "everywhere" },
  events: { owner: "application", key: ["number"], archive: "backup" },
  event_logs: { owner: "application", key: ["name"], archive: "backup" },
  kept_replies: { owner: "user", key: ["user_id", "device_id", "key"], archive: "backup" },
  idempotency_usage: { owner: "user", key: ["user_id", "device_id", "ends_at"], archive: "backup" },
  metadata: { owner: "application", key: ["object_id", "slot", "key"], archive: "everywhere" },
  unfinished_erasures: { owner: "application", key: ["object_id"], archive: "everywhere" },
  location_flags: { owner: "user", key: ["object_id", "user_id"], archive: "everywhere" },
  ...ownedEntries,
  upload_segments: { owner: "application", key: ["upload_id", "first_byte"], archive: "backup" },
  resumable_uploads: { owner: "application", key: ["id"], archive: "backup" },
  loose_bytes: { owner: "application", key: ["key"], archive: "backup" },
  file_usage: { owner: "application", key: ["user_id"], archive: "everywhere" },
  metric_inbox: { owner: "application", key: ["id"], archive: "everywhere", rowsPerStep: 20 },
  metric_handles: { owner: "user", key: ["id"], archive: "everywhere" },
  metric_chunks: { owner: "application", key: ["id"], archive: "everywhere", rowsPerStep: 50 },
  metric_rollups: { owner: "application", key: ["id"], archive: "everywhere", rowsPerStep: 50 },
  metric_keys: { owner: "application", key: ["key"], archive: "everywhere" },
  metric_batches: { owner: "application", key: ["id"], archive: "everywhere" },
  identities: { owner: "user", key: ["provider", "identifier"], archive: "everywhere" },
  location_shifts: { owner: "user", key: ["user_id", "id"], archive: "everywhere" },
  password_resets: { owner: "user", key: ["user_id"], archive: "everywhere" },
  email_codes: { owner: "user", key: ["user_id"], archive: "everywhere" },
  mail_outbox: { owner: "user", key: ["id"], archive: "backup" },
  statistics: { owner: "application", key: ["span", "starts_at", "writer"], archive: "everywhere", rowsPerStep: 50 },
  kept_counts: { owner: "application", key: ["kind"], archive: "never" },
  app_versions: { owner: "application", key: ["app_version"], archive: "everywhere" },
  limit_buckets: { owner: "application", key: ["key"], archive: "never" },
  guess_counts: { owner: "application", key: ["key"], archive: "never" },
  mail_limits: { owner: "application", key: ["subject"], archive: "backup" },
  recognized_devices: { owner: "user", key: ["user_id", "device_id"], archive: "everywhere" },
  user_tokens: { owner: "user", key: ["user_id", "id"], archive: "everywhere" },
  users: { owner: "application", key: ["id"], archive: "everywhere" },
  crash_group_devices: { owner: "application", key: ["fingerprint", "device_id"], archive: "everywhere" },
  crash_group_days: {
    owner: "application",
    key: ["fingerprint", "day", "app_version", "os_version"],
    archive: "everywhere",
  },
  crash_group_platforms: { owner: "application", key: ["fingerprint", "platform"], archive: "everywhere" },
  crash_group_versions: { owner: "application", key: ["fingerprint", "app_version"], archive: "everywhere" },
  crash_groups: { owner: "application", key: ["fingerprint"], archive: "everywhere" },
  crash_reports: { owner: "application", key: ["id"], archive: "everywhere" },
  test_callers: { owner: "application", key: ["device_id"], archive: "everywhere" },
  devices: { owner: "application", key: ["id"], archive: "everywhere" },
  application_keys: { owner: "application", key: ["id"], archive: "everywhere" },
  applications: { owner: "application", key: [], archive: "everywhere" },
  application_regions: { owner: "deployment", archive: "backup" },
  audit_log: { owner: "deployment", archive: "backup" },
  audit_counts: { owner: "deployment", archive: "backup" },
  deployment_statistics: { owner: "deployment", archive: "backup" },
  leases: { owner: "deployment", archive: "never" },
  deployment_facts: { owner: "deployment", archive: "never" },
  deployment_limit_buckets: { owner: "deployment", key: ["application_id", "key"], archive: "never" },
  deployment_guess_counts: { owner: "deployment", key: ["application_id", "key"], archive: "never" },
  server_processes: { owner: "deployment", archive: "never" },
  region_nonces: { owner: "deployment", key: ["nonce"], archive: "never" },
  operator_sessions: { owner: "deployment", key: ["digest"], archive: "backup" },
  operators: { owner: "deployment", archive: "backup" },
} as const satisfies Record<keyof Tables, TableEntry>;

type TableOf<Owner extends TableEntry["owner"]> = {
  [Table in keyof Tables]: (typeof tableCatalogue)[Table]["owner"] extends Owner ? Table : never;
}[keyof Tables];

/** Tables with rows of applications, except for `applications`. */
export type ApplicationTable = Exclude<TableOf<"application" | "user">, "applications">;

/** Tables whose entry has the primary key. */
export type KeyedTable = {
  [Table in keyof Tables]: (typeof tableCatalogue)[Table] extends { readonly key: readonly string[] } ? Table : never;
}[keyof Tables];

/** The columns of the primary key, in the order of its index. */
export function keyOf(table: KeyedTable): readonly string[] {
  const { owner, key } = tableCatalogue[table];
  return owner === "deployment" ? key : ["application_id", ...key];
}

const entries = Object.entries(tableCatalogue) as readonly [keyof Tables, TableEntry][]; // of exactly these names

function tablesOf<Owner extends TableEntry["owner"]>(...owners: readonly Owner[]): readonly TableOf<Owner>[] {
  const isOwned = (table: keyof Tables): table is TableOf<Owner> =>
    owners.some((owner) => owner === tableCatalogue[table].owner);
  return entries.map(([table]) => table).filter(isOwned);
}

export const deploymentTables = tablesOf("deployment");

export const tablesInErasureOrder = tablesOf("application", "user").filter((table) => table !== "applications");

export const userTablesInErasureOrder = tablesOf("user");
