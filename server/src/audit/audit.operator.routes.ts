import { Readable } from "node:stream";
import { ArchiveResult } from "../contract/file-result.ts";
import type { RouteInput } from "../contract/route.ts";
import type { Static } from "../contract/schema.ts";
import { Bytes } from "../contract/wire.ts";
import { formatDate } from "../lib/dates.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices, Services } from "../operations/services.ts";
import { countEntries, readCountedRange } from "./audit.counting.ts";
import { calledBy } from "./audit.events.ts";
import { type AuditFormat, csv, ndjson, writeEntries } from "./audit.export.ts";
import {
  AuditCounts,
  AuditPage,
  CountAudit,
  ExportAudit,
  ListAudit,
  presentAuditEntry,
  readAuditFilters,
} from "./audit.operator.contract.ts";
import { listAuditRows } from "./audit.store.ts";

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
    const { interval = "day" } = parameters;
    const range = readCountedRange(interval, parameters, clock.now());
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
