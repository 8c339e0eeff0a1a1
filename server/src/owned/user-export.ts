import type { Readable } from "node:stream";

/** The owner of an export. */
export interface ExportOwner {
  readonly applicationId: string;
  readonly userId: string;
}

/**
 * What one resource adds to the export of a user. Rows are read while they are written, a bounded page at a time, so
 * that a large export needs no more memory than a small one.
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
  /** @returns undefined if the object was deleted meanwhile */
  open(): Promise<Readable | undefined>;
  readonly contentLength: number;
}
