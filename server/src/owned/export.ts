import type { Readable } from "node:stream";
import { type RawBuilder, sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { listedBy } from "../db/owned-tables.ts";
import { equals, numberOrder, tieOrder } from "../db/search/conditions.ts";
import { scopeStream } from "../db/search/scope.ts";
import { eachRow } from "../db/search/stream.ts";
import type { OwnedRow, OwnedTableName, ShownRow } from "../db/tables.ts";
import type { OwnedKind } from "./kind.ts";

const rowsPerChunk = 500;

/** Reads all objects of a user in a table, a bounded number at a time. */
export function ownedRows<Row extends OwnedRow>(
  table: OwnedTableName,
  owner: ExportOwner,
  queries: Queries,
): AsyncIterable<Row> {
  return listed<Row>(table, "exported", sql`${sql.table(table)}.*`, owner, queries);
}

/** The ids of these objects. */
export function ownedIds(table: OwnedTableName, owner: ExportOwner, queries: Queries): AsyncIterable<ListedRow> {
  return listed<ListedRow>(table, "ids exported", sql`id, created_at`, owner, queries);
}

interface ListedRow {
  readonly id: string;
  readonly created_at: number;
}

function listed<Row extends ListedRow>(
  table: OwnedTableName,
  what: string,
  select: RawBuilder<unknown>,
  { applicationId, userId }: ExportOwner,
  queries: Queries,
): AsyncIterable<Row> {
  const conditions = [equals("application_id", applicationId), equals("user_id", userId)];
  const scope = { shape: `${table} ${what}`, from: sql.table(table), select, conditions };
  const order = listedBy(table) === "id" ? tieOrder("id") : numberOrder("created_at");
  return eachRow(scopeStream<Row>(scope, order, false, queries), rowsPerChunk);
}

/** Exports a user's objects of a kind in the form that the user reads. */
export function ownedExporter<Row extends OwnedRow>(
  { table }: OwnedKind<Row>,
  present: (row: ShownRow<Row>, readerId: string) => object,
  { database }: { readonly database: Database },
): UserExporter {
  return async function* (owner) {
    async function* rows() {
      for await (const row of ownedRows<Row>(table, owner, database.reads)) yield present(row, owner.userId);
    }
    yield { name: `${table}.ndjson`, rows: rows() };
  };
}

/** The owner of an export. */
export interface ExportOwner {
  readonly applicationId: string;
  readonly userId: string;
}

/**
 * Exports the data of a user in one resource. Rows are read while they are written, a bounded page at a time, so that a
 * large export needs no more memory than a small one.
 */
export type UserExporter = (owner: ExportOwner) => AsyncIterable<ExportEntry>;

/** A file of an export. Its name consists of words and ids, never of user input. */
export type ExportEntry = RowsEntry | BytesEntry;

/** Objects, one JSON line each. */
export interface RowsEntry {
  readonly name: string;
  readonly rows: AsyncIterable<object> | Iterable<object>;
}

/** Stored bytes, unchanged. */
export interface BytesEntry {
  readonly name: string;
  /** @returns undefined if the object has been deleted */
  open(): Promise<Readable | undefined>;
  readonly contentLength: number;
}
