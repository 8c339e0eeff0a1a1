import { type RawBuilder, sql } from "kysely";
import type { Queries } from "./database.ts";
import type { deploymentTables, Tables } from "./tables.ts";

/** By what the rows of a table are told apart from the others of their application, or of their owner in it. */
const rowKeys = {
  metric_inbox: ["id"],
  metric_handles: ["id"],
  metric_chunks: ["id"],
  metric_rollups: ["id"],
  metric_keys: ["key"],
  metric_batches: ["id"],
  metadata: ["object_id", "slot", "key"],
  unfinished_erasures: ["object_id"],
  checkins: ["id"],
  files: ["id"],
  upload_segments: ["upload_id", "first_byte"],
  resumable_uploads: ["id"],
  loose_bytes: ["key"],
  file_usage: ["user_id"],
  identities: ["identifier"],
  location_shifts: ["id"],
  password_resets: ["user_id"],
  user_tokens: ["id"],
  users: ["id"],
  crash_group_devices: ["fingerprint", "device_id"],
  crash_group_versions: ["fingerprint", "app_version"],
  crash_groups: ["fingerprint"],
  crash_reports: ["id"],
  devices: ["id"],
  application_keys: ["id"],
  kept_replies: ["device_id", "key"],
} as const satisfies Record<
  Exclude<keyof Tables, "applications" | (typeof deploymentTables)[number]>,
  readonly string[]
>;

type ErasableTable = keyof typeof rowKeys;

/** So many at once where a row may be large. */
const largeRowsMax: { readonly [Table in ErasableTable]?: number } = {
  metric_inbox: 20,
  metric_chunks: 50,
  metric_rollups: 50,
};

/** Whose rows: the values of some columns. */
interface Owner {
  readonly application_id: string;
  readonly user_id?: string;
  readonly object_id?: string;
  readonly slot?: string;
}

/**
 * Deletes some of an owner's rows, about `count` of them, fewer of large ones. They are looked up first: in one statement
 * PostgreSQL, as long as it has no statistics of a table, looks up all of them again for each row of the owner.
 *
 * @param also narrows it down in the words of an index
 * @returns how many, 0 when there were none left
 */
export async function deleteSomeRows(
  table: ErasableTable,
  owner: Owner,
  count: number,
  queries: Queries,
  also: RawBuilder<unknown> = sql``,
): Promise<number> {
  const owned = isKey({ ...owner });
  const columns: readonly string[] = rowKeys[table];
  const key = sql.join(columns.map((column) => sql.ref(column)));
  const { rows } = await sql<RowKey>`
    select ${key} from ${sql.table(table)} where ${owned} ${also} limit ${Math.min(count, largeRowsMax[table] ?? count)}`.execute(
    queries,
  );
  await Promise.all(
    alikeButInLast(columns, rows).map((alike) => {
      const [first = {}] = alike;
      const last = columns.at(-1) ?? "";
      const { [last]: _, ...others } = first;
      const isOneOfThem = sql`${sql.ref(last)} in (${sql.join(alike.map((row) => sql`${row[last]}`))})`;
      return sql`delete from ${sql.table(table)} where ${isKey({ ...owner, ...others })} and ${isOneOfThem}`.execute(
        queries,
      );
    }),
  );
  return rows.length;
}

type RowKey = Readonly<Record<string, string>>;

/** A list of keys of several columns would be a join to PostgreSQL, which it again makes row by row. */
function alikeButInLast(columns: readonly string[], rows: readonly RowKey[]): readonly (readonly RowKey[])[] {
  const others = columns.slice(0, -1);
  return [...Map.groupBy(rows, (row) => JSON.stringify(others.map((column) => row[column]))).values()];
}

/** That a row has this key. */
export function isKey(key: RowKey): RawBuilder<unknown> {
  const equalities = Object.entries(key).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  return sql.join(equalities, sql` and `);
}
