import type { Snapshot } from "./snapshot.ts";

/**
 * Opens a snapshot that contains every write answered before this call.
 *
 * @throws Error if the database is missing or is not a Rollcall database
 */
export async function openSnapshot(url: string): Promise<Snapshot> {
  if (url.startsWith("file:")) {
    const { openSqliteSnapshot } = await import("./sqlite/snapshot.ts");
    return openSqliteSnapshot(url);
  }
  const { openPostgresSnapshot } = await import("./postgres/snapshot.ts");
  return openPostgresSnapshot(url);
}
