import type { Queries } from "../db/database.ts";
import type { AuditRow } from "../db/tables.ts";
import { presentAuditEntry } from "./audit.operator.contract.ts";
import { type AuditFilters, auditSteps } from "./audit.store.ts";

const rowsAtOnce = 500;

/** All entries that the filters find, newest first, as texts of some hundred entries each. */
export async function* writeEntries(
  filters: AuditFilters,
  format: AuditFormat,
  queries: Queries,
): AsyncGenerator<string> {
  if (format.head !== "") yield format.head;
  for await (const rows of auditSteps(filters, rowsAtOnce, queries)) yield rows.map(format.line).join("");
}

/** How entries are written to a file. */
export interface AuditFormat {
  readonly head: string;
  line(row: AuditRow): string;
}

/** JSON, an entry a line. */
export const ndjson: AuditFormat = {
  head: "",
  line: (row) => `${JSON.stringify({ ...presentAuditEntry(row), details: JSON.parse(row.details) })}\n`,
};

const columns: Readonly<Record<string, (row: AuditRow) => string>> = {
  id: (row) => row.id,
  at: (row) => new Date(row.at).toISOString(),
  actorKind: (row) => row.actor_kind,
  actorId: (row) => (row.actor_id === row.actor_kind ? "" : row.actor_id),
  actorName: (row) => row.actor_name,
  action: (row) => row.action,
  appid: (row) => row.application_id,
  target: (row) => row.target,
  address: (row) => row.address,
  requestId: (row) => row.request_id,
  details: (row) => row.details,
  count: (row) => `${row.count}`,
  lastSeen: (row) => (row.count > 1 ? new Date(row.last_at ?? row.at).toISOString() : ""),
};

/** CSV of RFC 4180. */
export const csv: AuditFormat = {
  head: `${Object.keys(columns).join(",")}\r\n`,
  line: (row) =>
    `${Object.values(columns)
      .map((read) => writeCell(read(row)))
      .join(",")}\r\n`,
};

/** Spreadsheets would run a cell that begins like a formula. */
function writeCell(text: string): string {
  const safe = /^[=+\-@\p{Cc}]/u.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
