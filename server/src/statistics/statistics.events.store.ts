import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { rowLimit } from "../db/row-limit.ts";
import type { CrashGroupRow } from "../db/tables.ts";
import type { Range } from "../lib/spans.ts";

/** Operator actions that may explain a change in the statistics. */
export const markedActions = [
  "changeApplicationSettings",
  "putApplicationSettings",
  "createApplicationKey",
  "retireApplicationKey",
  "revokeKeyTokens",
  "revokeApplicationTokens",
  "replaceApplicationKeys",
  "putSigningSecret",
  "deleteSigningSecret",
  "suspendApplication",
  "resumeApplication",
] as const;

const markersMax = 500;
const crashesMax = 5;

export interface MarkerRow {
  readonly at: number;
  readonly action: (typeof markedActions)[number];
  readonly actor_name: string;
  readonly details: string;
}

/**
 * Lists the audit log entries of these actions, including refused ones, unordered. Selects by action, because an
 * application may have a million entries by its users.
 */
export async function listMarkers(
  applicationId: string,
  { from, to }: Range,
  queries: Queries,
): Promise<readonly MarkerRow[]> {
  const statement = sql<MarkerRow>`
    select at, action, actor_name, details from audit_log
    where action in (${sql.join(markedActions)}) and at >= ${from} and at < ${to}
      and application_id || '' = ${applicationId}
    limit ${rowLimit(markersMax)}`;
  const { rows } = await queries.executeQuery(statement.compile(queries));
  return rows.map((row) => ({ ...row, at: Number(row.at) }));
}

/** Lists the crashes that were first reported in a range, the latest first. */
export async function listNewCrashes(
  applicationId: string,
  { from, to }: Range,
  queries: Queries,
): Promise<Pick<CrashGroupRow, "fingerprint" | "title" | "reports" | "first_seen_at">[]> {
  const statement = queries
    .selectFrom("crash_groups")
    .select(["fingerprint", "title", "reports", "first_seen_at"])
    .where("application_id", "=", applicationId)
    .where("first_seen_at", ">=", from)
    .where("first_seen_at", "<", to)
    .orderBy("first_seen_at", "desc")
    .orderBy("fingerprint", "desc")
    .limit(rowLimit(crashesMax));
  return (await queries.executeQuery(statement.compile())).rows;
}
