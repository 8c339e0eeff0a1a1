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
 * Compiles a presenter: the members that all kinds have in common, the fields of this one, and others. A member without
 * a value is undefined, as if it were absent. Compiled, because a page has many objects, and an object with a fixed shape
 * costs a quarter of one that is put together.
 *
 * @param others the names of the other members
 */
export function compilePresenter<Row extends ShownRow<OwnedRow>, Others extends object>(
  fields: readonly OwnedField<Row>[],
  others: readonly (keyof Others & string)[],
): (row: Row, others: Others) => PresentedOwned & Others {
  const members = [
    "id: row.id, userID: row.user_id ?? undefined, tag: row.tag ?? undefined",
    ...others.map((name) => `${JSON.stringify(name)}: others[${JSON.stringify(name)}]`),
    ...fields.map(({ name, column }) => `${JSON.stringify(name)}: row[${JSON.stringify(column)}] ?? undefined`),
    "readPermissions: presentAudience(row.read_permission), writePermissions: presentAudience(row.write_permission)",
    "created: formatDate(row.created_at), lastModified: formatDate(row.modified_at)",
  ];
  const code = `return (row, others) => ({ ${members.join(", ")} });`;
  return new Function("presentAudience", "formatDate", code)(presentAudience, formatDate);
}
