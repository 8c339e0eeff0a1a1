import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { compilable, prepareShapes } from "../db/prepared.ts";
import type { Parameter } from "../db/search/conditions.ts";
import { padList } from "../db/search/list-lengths.ts";

/** A table with the time at which each of its rows was last used. */
interface UsedTable {
  readonly name: "devices" | "user_tokens";
  readonly time: string;
  /** The columns of its primary key after `application_id`. */
  readonly key: readonly string[];
}

/** The last use of one row. */
interface LastUse {
  readonly applicationId: string;
  readonly key: readonly string[];
  readonly at: number;
}

export interface UseStatements {
  readonly dialect: Database["dialect"];
  readonly queries: Queries;
}

/**
 * Stores the last uses of rows, except where a later one is stored, with one statement per application. Rows are locked
 * in the order of their keys, so that processes that store uses of the same rows cannot deadlock.
 *
 * @param uses of different rows, `listLengthMax` at most
 */
export async function storeLastUses(
  table: UsedTable,
  uses: readonly LastUse[],
  { dialect, queries }: UseStatements,
): Promise<void> {
  const byApplication = [...Map.groupBy(uses, ({ applicationId }) => applicationId)];
  for (const [applicationId, given] of byApplication.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const rows = padList(given);
    const values = Object.fromEntries(
      rows.flatMap(({ key, at }, row) => [...key, at].map((value, column) => [nameOf(row, column), value])),
    );
    await runShape(queries, `${table.name} ${rows.length}`, { applicationId, ...values }, (parameter) =>
      compilable(updateOf(table, rows.length, parameter, dialect), queries),
    );
  }
}

const runShape = prepareShapes();

function updateOf(
  { name, time, key }: UsedTable,
  rows: number,
  parameter: Parameter,
  { forUpdate }: Database["dialect"],
) {
  const types = [...key.map(() => sql`text`), sql`bigint`];
  const given = Array.from({ length: rows }, (_, row) => {
    const values = types.map((type, column) => sql`cast(${parameter(nameOf(row, column))} as ${type})`);
    return sql`(${sql.join(values)})`;
  });
  const and = sql` and `;
  const stored = sql.ref(`stored.${time}`);
  const columns = sql.join(key.map((column) => sql.ref(`stored.${column}`)));
  // Both engines name the columns of a list of values `column1`, `column2` …
  const at = sql.ref(`given.column${types.length}`);
  const isGiven = key.map(
    (column, index) => sql`${sql.ref(`stored.${column}`)} = ${sql.ref(`given.column${index + 1}`)}`,
  );
  const isUsed = key.map((column) => sql`${sql.ref(`${name}.${column}`)} = ${sql.ref(`used.${column}`)}`);
  return sql`
    update ${sql.table(name)} set ${sql.ref(time)} = used.at
    from (
      select ${columns}, ${at} as at
      from (values ${sql.join(given)}) as given cross join ${sql.table(name)} as stored
      where stored.application_id = ${parameter("applicationId")} and ${sql.join(isGiven, and)}
        and (${stored} is null or ${stored} < ${at})
      order by ${columns} ${forUpdate}
    ) as used
    where ${sql.ref(`${name}.application_id`)} = ${parameter("applicationId")} and ${sql.join(isUsed, and)}`;
}

function nameOf(row: number, column: number): string {
  return `${row} ${column}`;
}

/** How often the use of a device is stored, which bounds how far behind `last_seen_at` is. */
export const deviceUseMs = 3_600_000;

/** The last use of a device. */
export interface DeviceUse {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly usedAt: number;
}

export async function updateDeviceUses(uses: readonly DeviceUse[], statements: UseStatements): Promise<void> {
  await storeLastUses(
    { name: "devices", time: "last_seen_at", key: ["id"] },
    uses.map(({ applicationId, deviceId, usedAt }) => ({ applicationId, key: [deviceId], at: usedAt })),
    statements,
  );
}
