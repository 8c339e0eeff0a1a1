import type { AuditPage } from "../../../server/src/audit/audit.operator.contract.ts";
import type { Static } from "../../../server/src/contract/schema.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type AuditEntry = Static<typeof AuditPage>["pageResults"][number];

export interface AuditFilters {
  readonly appid?: string;
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly from?: string;
  readonly to?: string;
}

export const listAudit = operation<AuditFilters & PageParameters, Static<typeof AuditPage>>("GET", "/audit", [
  "appid",
  "actor",
  "action",
  "target",
  "from",
  "to",
  "pageSize",
  "pagingToken",
]);
