import { type IdKind, kindOfId } from "../lib/ids.ts";
import type { AttachedTable, OwnedTableName } from "./tables.ts";

interface OwnedTable {
  /** The kinds of its objects. */
  readonly idKinds: readonly IdKind[];
  /** The order in which an index lists all objects of one user; ties are broken by id. */
  readonly listedBy: "created_at" | "id";
  /** Objects without a user are public (spec/locations#public-locations). */
  readonly mayBePublic?: true;
  /** Tables beside `metadata` whose rows belong to one object, and are erased with it. */
  readonly attached?: readonly AttachedTable[];
}

/**
 * The tables of objects that users own and may share. From here come erasure, metadata rights and the update of fuzzed
 * locations; the compiler refuses a table that extends `Owned` and has no entry.
 */
const ownedTables = {
  checkins: { idKinds: ["Checkin"], listedBy: "created_at" },
  locations: { idKinds: ["Location"], listedBy: "created_at", mayBePublic: true, attached: ["location_flags"] },
  files: { idKinds: ["Picture", "Video", "Blob"], listedBy: "id" },
} as const satisfies Record<OwnedTableName, OwnedTable>;

export const ownedTableNames = Object.keys(ownedTables) as OwnedTableName[]; // of exactly these names

export const ownedIdKinds = ownedTableNames.flatMap((name): readonly IdKind[] => ownedTables[name].idKinds);

/** The table of the objects of this kind; undefined if users do not own them. */
export function ownedTableOf(idKind: IdKind | undefined): OwnedTableName | undefined {
  return ownedTableNames.find((name) => ownedTables[name].idKinds.some((each: IdKind) => each === idKind));
}

/** The order of the objects of one user. */
export function listedBy(table: OwnedTableName): OwnedTable["listedBy"] {
  return ownedTables[table].listedBy;
}

export function mayBePublic(table: OwnedTableName): boolean {
  const entry: OwnedTable = ownedTables[table];
  return entry.mayBePublic === true;
}

/** The tables with rows that belong to this object, and are erased with it. */
export function attachedTables(objectId: string): readonly AttachedTable[] {
  const table = ownedTableOf(kindOfId(objectId));
  const entry: OwnedTable | undefined = table && ownedTables[table];
  return ["metadata", ...(entry?.attached ?? [])];
}
