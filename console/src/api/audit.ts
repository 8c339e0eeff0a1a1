import type { AuditCounts as AuditCountsResult, AuditPage } from "../../../server/src/audit/audit.operator.contract.ts";
import type { Static } from "../../../server/src/contract/schema.ts";
import { downloadOperation, operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type AuditEntry = Static<typeof AuditPage>["pageResults"][number];

export type AuditCounts = Static<typeof AuditCountsResult>;

export interface AuditFilters {
  readonly appid?: string | undefined;
  readonly actor?: string | undefined;
  readonly actorKind?: string | undefined;
  readonly action?: string | undefined;
  readonly exceptAction?: string | undefined;
  readonly refused?: string | undefined;
  readonly target?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const filters = ["appid", "actor", "actorKind", "action", "exceptAction", "refused", "target", "from", "to"] as const;

export const listAudit = operation<AuditFilters & PageParameters, Static<typeof AuditPage>>("GET", "/audit", [
  ...filters,
  "pageSize",
  "pagingToken",
]);

export const countAudit = operation<
  Omit<AuditFilters, "actor" | "target"> & { readonly interval?: AuditCounts["interval"] | undefined },
  AuditCounts
>("GET", "/audit/counts", ["appid", "actorKind", "action", "exceptAction", "refused", "from", "to", "interval"]);

/** All entries that match the filters. */
export const exportAudit = {
  csv: downloadOperation<AuditFilters>("/audit.csv", filters),
  ndjson: downloadOperation<AuditFilters>("/audit.ndjson", filters),
};
