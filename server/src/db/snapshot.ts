/** A stored row, the same on both engines. */
export type StoredRow = Readonly<Record<string, string | number | Uint8Array | null>>;

/** A consistent view of the database at one moment, on a separate connection. */
export interface Snapshot {
  /** The applied migrations, in order. */
  readonly migrations: readonly string[];
  /** Names of all tables. */
  readonly tables: readonly string[];
  /** Streams all rows of a table, or those with these values, in no particular order; few are in memory at a time. */
  rows(table: string, having?: StoredRow): AsyncIterable<StoredRow>;
  /**
   * Estimates the number of rows without reading them; undefined if the engine does not know. The rows of one
   * application can be estimated on SQLite only.
   */
  estimateRows(table: string, having?: StoredRow): Promise<number | undefined>;
  /** Closes the snapshot; call it soon, because the engine must retain all visible row versions until then. */
  close(): Promise<void>;
}
