import { sql } from "kysely";
import { type Condition, condition, equals, numberOrder, within } from "../db/conditions.ts";
import type { Search } from "../db/search.ts";
import type { FileRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { everyRow } from "../privacy/readable-rows.ts";
import { isOwnerThere } from "../privacy/visibility.ts";
import type { FileKind } from "./files.kinds.ts";
import type { SearchOperatedFiles } from "./files.operator.contract.ts";

/** An operator's search among all files of a kind in an application. */
export function operatedFileSearch(
  kind: FileKind,
  applicationId: string,
  filters: Omit<Static<typeof SearchOperatedFiles>, "pageSize" | "pagingToken">,
): Search<FileRow> {
  const { userID, created, lastModified, sortOrder = "-created" } = filters;
  const conditions: Condition[] = [equals("application_id", applicationId), equals("kind", kind.idKind)];
  if (userID !== undefined) conditions.push(equals("user_id", userID));
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));
  conditions.push(condition("is there", {}, () => isOwnerThere("files")));
  const scope = { shape: "files all", from: sql`files`, select: sql`files.*` };
  return {
    scopes: userID === undefined ? everyRow(scope, conditions) : [{ ...scope, conditions }],
    order: numberOrder("created_at"),
    isDescending: sortOrder === "-created",
  };
}
