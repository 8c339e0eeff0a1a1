import type { Readable } from "node:stream";

/** Whose export it is. */
export interface ExportOwner {
  readonly applicationId: string;
  readonly userId: string;
}

/**
 * What one noun adds to the export of a user. It is read while it is written, a bounded page at a time, so that a large
 * export takes no more memory than a small one.
 */
export type UserExporter = (owner: ExportOwner) => AsyncIterable<ExportEntry>;

/** A file of an export. Its name is made of words and ids, never of what somebody has written. */
export type ExportEntry = RowsEntry | BytesEntry;

/** Objects, each on a line of its own as JSON. */
export interface RowsEntry {
  readonly name: string;
  readonly rows: AsyncIterable<object> | Iterable<object>;
}

/** Bytes as they are stored. */
export interface BytesEntry {
  readonly name: string;
  /** @returns undefined when they are gone meanwhile */
  open(): Promise<Readable | undefined>;
  readonly contentLength: number;
}
