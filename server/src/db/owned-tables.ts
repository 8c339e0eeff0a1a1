import type { IdKind } from "../lib/ids.ts";
import type { OwnedTableName } from "./tables.ts";

interface OwnedTable {
  /** The kinds of its objects. */
  readonly idKinds: readonly IdKind[];
  /** The order in which an index lists all objects of one user; ties are broken by id. */
  readonly listedBy: "created_at" | "id";
}

/**
 * The tables of objects that users own and may share. From here come erasure, metadata rights and the update of fuzzed
 * locations; the compiler refuses a table that extends `Owned` and has no entry.
 */
const ownedTables = {
  checkins: { idKinds: ["Checkin"], listedBy: "created_at" },
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
