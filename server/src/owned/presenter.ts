import { type GivenPermissions, presentAudience } from "../contract/permissions.ts";
import type { OwnedRow, ShownRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import type { OwnedField } from "./fields.ts";

/** The members that all kinds have in common. */
interface PresentedOwned extends GivenPermissions {
  readonly id: string;
  /** Absent for objects without a user. */
  readonly userID: string;
  readonly tag?: string;
  readonly created: string;
  readonly lastModified: string;
}

/**
 * Presents a row: the members that all kinds have in common, the fields of this one, and others. A member without a
 * value is undefined, as if it were absent.
 */
export function presentOwned<Row extends ShownRow<OwnedRow>, Others extends object>(
  row: Row,
  fields: readonly OwnedField<Row>[],
  others: Others,
): PresentedOwned & Others {
  const presented: Record<string, unknown> = Object.assign(
    { id: row.id, userID: row.user_id ?? undefined, tag: row.tag ?? undefined },
    others,
  );
  for (const field of fields) presented[field.name] = field.valueOf(row) ?? undefined;
  presented["readPermissions"] = presentAudience(row.read_permission);
  presented["writePermissions"] = presentAudience(row.write_permission);
  presented["created"] = formatDate(row.created_at);
  presented["lastModified"] = formatDate(row.modified_at);
  return presented as unknown as PresentedOwned & Others;
}
