import { operation } from "../operation.ts";
import type { CommandServices } from "../services.ts";
import { AuditPage, ListAudit, presentAuditEntry, readAuditFilters } from "./audit.operator.contract.ts";
import { listAuditRows } from "./audit.store.ts";

export const listAudit = operation({
  method: "GET",
  path: "/_/api/audit",
  operation: "listAudit",
  summary: "List the audit log, newest first",
  description: "What operators changed, and what was refused to whom.",
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

/** The audit log for operators. */
export const auditOperations = [listAudit];
