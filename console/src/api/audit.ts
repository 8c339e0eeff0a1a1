import type { AuditPage } from "../../../server/src/audit/audit.operator.contract.ts";
import type { Static } from "../../../server/src/contract/schema.ts";
import { downloadOperation, operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type AuditEntry = Static<typeof AuditPage>["pageResults"][number];

export interface AuditFilters {
  readonly appid?: string;
  readonly actor?: string;
  readonly actorKind?: string;
  readonly action?: string;
  readonly refused?: string;
  readonly target?: string;
  readonly from?: string;
  readonly to?: string;
}

const filters = ["appid", "actor", "actorKind", "action", "refused", "target", "from", "to"] as const;

export const listAudit = operation<AuditFilters & PageParameters, Static<typeof AuditPage>>("GET", "/audit", [
  ...filters,
  "pageSize",
  "pagingToken",
]);

/** All entries that match the filters. */
export const exportAudit = {
  csv: downloadOperation<AuditFilters>("/audit.csv", filters),
  ndjson: downloadOperation<AuditFilters>("/audit.ndjson", filters),
};
