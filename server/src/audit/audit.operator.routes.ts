import { Readable } from "node:stream";
import { ArchiveResult } from "../contract/file-result.ts";
import type { RouteInput } from "../contract/route.ts";
import type { Static } from "../contract/schema.ts";
import { Bytes } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import type { AuditRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { readRange, startOf } from "../lib/spans.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices, Services } from "../operations/services.ts";
import { countEntries } from "./audit.counts.ts";
import { calledBy } from "./audit.events.ts";
import {
  AuditCounts,
  AuditPage,
  CountAudit,
  ExportAudit,
  ListAudit,
  presentAuditEntry,
  readAuditFilters,
} from "./audit.operator.contract.ts";
import { type AuditFilters, auditSteps, listAuditRows } from "./audit.store.ts";

const rowsPerChunk = 500;

/** Writes all entries that the filters find, newest first, in chunks of some hundred entries each. */
async function* writeEntries(filters: AuditFilters, format: AuditFormat, queries: Queries): AsyncGenerator<string> {
  if (format.head !== "") yield format.head;
  for await (const rows of auditSteps(filters, rowsPerChunk, queries)) yield rows.map(format.line).join("");
}

/** How entries are written to a file. */
interface AuditFormat {
  readonly head: string;
  line(row: AuditRow): string;
}

/** JSON, an entry a line. */
const ndjson: AuditFormat = {
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
const csv: AuditFormat = {
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

export const listAudit = operation({
  method: "GET",
  path: "/_/api/audit",
  operation: "listAudit",
  summary: "List the audit log, newest first",
  description: "Changes by operators, and refusals.",
  tag: "Operators",
  caller: "operator",
  parameters: ListAudit,
  status: 200,
  result: AuditPage,
  errors: [],
  async handle({ caller, parameters, call }, { paging, audit, database }: CommandServices) {
    const request = await paging.read("audit", caller, parameters, call);
    await audit.save();
    const filters = readAuditFilters(request.filters);
    const page = await listAuditRows(filters, request.position, request.size, database.reads);
    return paging.present("audit", caller, request, page, presentAuditEntry);
  },
});

const countAudit = operation({
  method: "GET",
  path: "/_/api/audit/counts",
  operation: "countAudit",
  summary: "Count the entries of the audit log by hour or day, and by action",
  description:
    "Kept counts of past hours, and the entries since, of which at most 5,000 are counted. Other filters of the log have no counts.",
  tag: "Operators",
  caller: "operator",
  parameters: CountAudit,
  status: 200,
  result: AuditCounts,
  errors: [],
  async handle({ parameters }, { audit, clock, config, database }) {
    const { interval = "day", from, to } = parameters;
    const range = readRange(interval, { from: from && startOf(interval, from), to }, clock.now());
    await audit.save();
    const { points, actions, isAtLeast } = await countEntries(
      readAuditFilters(parameters),
      interval,
      range,
      database.reads,
    );
    return {
      interval,
      from: formatDate(range.from),
      to: formatDate(range.to),
      points: points.map(({ at, entries, refused }) => ({ time: formatDate(at), entries, refused })),
      actions,
      keptDays: config.auditDays,
      ...(isAtLeast && { isAtLeast }),
    };
  },
});

const exportOf = {
  method: "GET",
  description: "Everything that the filters find, sent while it is read. The export is an entry itself.",
  tag: "Operators",
  caller: "operator",
  role: "editor",
  isBatchable: false,
  parameters: ExportAudit,
  status: 200,
  errors: [],
} as const;

const exportCsv = operation({
  ...exportOf,
  path: "/_/api/audit.csv",
  operation: "exportAuditAsCsv",
  summary: "Export the audit log as CSV, newest first",
  result: Bytes("text/csv"),
  handle: (input, services) =>
    openExport("exportAuditAsCsv", csv, { contentType: "text/csv", fileName: "audit.csv" }, input, services),
});

const exportNdjson = operation({
  ...exportOf,
  path: "/_/api/audit.ndjson",
  operation: "exportAuditAsNdjson",
  summary: "Export the audit log as JSON, newest first, an entry a line",
  result: Bytes("application/x-ndjson"),
  handle: (input, services) =>
    openExport(
      "exportAuditAsNdjson",
      ndjson,
      { contentType: "application/x-ndjson", fileName: "audit.ndjson" },
      input,
      services,
    ),
});

async function openExport(
  action: string,
  format: AuditFormat,
  file: { readonly contentType: string; readonly fileName: string },
  {
    caller,
    parameters,
    call,
  }: Pick<RouteInput<"operator", unknown, Static<typeof ExportAudit>>, "caller" | "parameters" | "call">,
  { audit, database }: Services,
): Promise<ArchiveResult> {
  const filters = readAuditFilters(parameters);
  await audit.save();
  const event = { ...calledBy(caller, call), action, applicationId: parameters.appid };
  await database.write(({ queries }) => audit.record(event, queries)); // before the first byte
  return new ArchiveResult({
    ...file,
    open: () => Readable.from(writeEntries(filters, format, database.reads), { objectMode: false }),
  });
}

/** The audit log for operators. */
export const auditOperations = [listAudit, countAudit, exportCsv, exportNdjson];
