import type { Snapshot } from "./snapshot.ts";

/**
 * Everything whose write was answered before this is called is in it.
 *
 * @throws Error when there is no database, or none of ours
 */
export async function openSnapshot(url: string): Promise<Snapshot> {
  if (url.startsWith("file:")) {
    const { openSqliteSnapshot } = await import("./sqlite-snapshot.ts");
    return openSqliteSnapshot(url);
  }
  const { openPostgresSnapshot } = await import("./postgres-snapshot.ts");
  return openPostgresSnapshot(url);
}
