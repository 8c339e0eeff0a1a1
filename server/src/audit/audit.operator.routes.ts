import type { Database } from "../db/database.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import { AuditPage, ListAudit, presentAuditEntry, readAuditFilters } from "./audit.operator.contract.ts";
import { listAuditRows } from "./audit.store.ts";
import type { Audit } from "./audit.ts";

/** The audit log for operators. */
export function auditOperatorRoutes(services: {
  readonly database: Database;
  readonly paging: Paging;
  readonly audit: Audit;
}): Route[] {
  const { database, paging, audit } = services;

  const listAudit = route({
    method: "GET",
    path: "/_/api/audit",
    operation: "listAudit",
    summary: "List who did what, and who tried to, newest first",
    tag: "Operators",
    caller: "operator",
    parameters: ListAudit,
    status: 200,
    result: AuditPage,
    errors: [],
    async handle({ caller, parameters, call }) {
      const request = await paging.read("audit", caller, parameters, call);
      await audit.save();
      const filters = readAuditFilters(request.filters);
      const page = await listAuditRows(filters, request.position, request.size, database.reads);
      return paging.present("audit", caller, request, page, presentAuditEntry);
    },
  });

  return [listAudit];
}
