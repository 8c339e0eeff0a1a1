import type { Tag } from "../contract/tags.ts";
import type { OwnedRow, OwnedTableName, ShownRow } from "../db/tables.ts";
import { type OwnedIdKind, ownedKinds } from "../lib/kinds.ts";
import type { SentLocation } from "../lib/locations.ts";
import type { OwnedField } from "./fields.ts";

/**
 * Declares a kind of object that users own and may share: search, read, change, delete, export and operators' views
 * follow from it.
 */
export interface OwnedKind<Row extends OwnedRow = OwnedRow> {
  readonly idKind: OwnedIdKind;
  readonly table: OwnedTableName;
  /** The column that distinguishes kinds which share a table; its value is `idKind`. */
  readonly kindColumn?: string;
  /** The first part of its paths. */
  readonly collection: string;
  readonly pathParameter: string;
  /** For OpenAPI: one object, and the objects of a user. */
  readonly noun: string;
  readonly plural: string;
  readonly tag: Tag;
  readonly fields: readonly OwnedField<ShownRow<Row>>[];
  /** The columns that a search reads of a row, in addition to those of all owned objects and those of the fields. */
  readonly columns?: readonly (keyof ShownRow<Row> & string)[];
  /** The columns that store the location whose id was sent in place of a point. */
  placeColumns?(place: SentLocation["place"]): object;
}

/** The part of a declaration that follows from the table of kinds. */
export function ownKind<IdKind extends OwnedIdKind>(idKind: IdKind) {
  const { table, collection, tag } = ownedKinds[idKind];
  return { idKind, table, collection, tag, pathParameter: `${idKind.toLowerCase()}Id` };
}
