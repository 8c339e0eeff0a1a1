import { kindOfId } from "../lib/ids.ts";
import { isOwnedKind, type OwnedEntry, type OwnedIdKind, ownedIdKinds, ownedKinds } from "../lib/kinds.ts";
import type { AttachedTable, OwnedTableName, Tables } from "./tables.ts";

/** An entry of the table of kinds, as the schema requires it. */
interface CheckedEntry<Table extends OwnedTableName> extends OwnedEntry {
  readonly table: Table;
  readonly title: keyof Tables[Table] & string;
  readonly attached?: readonly AttachedTable[];
}

type KindTable<Kind extends OwnedIdKind = OwnedIdKind> = (typeof ownedKinds)[Kind]["table"];

/** The compiler refuses a kind whose table does not extend `Owned`, and a title that is not a column of the table. */
const entries: { readonly [Kind in OwnedIdKind]: CheckedEntry<KindTable<Kind>> } = ownedKinds;

/** The tables of objects that users own and may share. */
export const ownedTableNames: readonly KindTable[] = [...new Set(ownedIdKinds.map((kind) => ownedKinds[kind].table))];

/**
 * Creates an object with a property for each of these tables. Its type has the tables of the kinds, so that the compiler
 * refuses a table that extends `Owned` and has no kind.
 */
export function forOwnedTables<Value>(create: (table: KindTable) => Value): Record<KindTable, Value> {
  const properties = ownedTableNames.map((table) => [table, create(table)] as const);
  return Object.fromEntries(properties) as Record<KindTable, Value>; // Object.fromEntries loses the types of the names
}

/** The order of the objects of one user. */
export function listedBy(table: OwnedTableName): OwnedEntry["listedBy"] {
  return entryOf(table).listedBy;
}

export function mayBePublic(table: OwnedTableName): boolean {
  return entryOf(table).mayBePublic === true;
}

/** The tables with rows that belong to this object, and are erased with it. */
export function attachedTables(objectId: string): readonly AttachedTable[] {
  const kind = kindOfId(objectId);
  return ["metadata", ...((isOwnedKind(kind) && entries[kind].attached) || [])];
}

/** Kinds that share a table have the same order and audience, so the first kind decides. */
function entryOf(table: OwnedTableName): OwnedEntry {
  const kind = ownedIdKinds.find((each) => ownedKinds[each].table === table);
  if (kind === undefined) throw new Error(`No kind has the table ${table}`);
  return ownedKinds[kind];
}
