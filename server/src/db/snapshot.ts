/** A row as it is stored, the same on both engines. */
export type StoredRow = Readonly<Record<string, string | number | Uint8Array | null>>;

/** The database as it was at one moment, whatever is written meanwhile; over a connection of its own. */
export interface Snapshot {
  /** The migrations that were applied, in their order. */
  readonly migrations: readonly string[];
  /** Names of all tables. */
  readonly tables: readonly string[];
  /** All rows of a table, or those with these values; few are in memory at a time. Rows come in no promised order. */
  rows(table: string, having?: StoredRow): AsyncIterable<StoredRow>;
  /** Ends it; to be called soon, because while it lasts the engine keeps what it shows. */
  close(): Promise<void>;
}
