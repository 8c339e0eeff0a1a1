import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { isSqliteBusy } from "../db/dialect.ts";
import { addressOf } from "../db/postgres/address.ts";

/** True if another process has the database open, such as a running server. */
export async function isOccupied(url: string): Promise<boolean> {
  return url.startsWith("file:") ? isOccupiedFile(fileURLToPath(url)) : isOccupiedServer(url);
}

/** Tries to lock the file exclusively, which every open connection prevents. */
function isOccupiedFile(file: string): boolean {
  if (!existsSync(file)) return false;
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("pragma locking_mode = exclusive; begin exclusive; commit");
    return false;
  } catch (error) {
    if (isSqliteBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

async function isOccupiedServer(url: string): Promise<boolean> {
  const address = addressOf(url);
  const client = postgres(address.url, {
    ...address.options,
    max: 1,
    connection: { application_name: "rollcall archive" },
    onnotice: () => {},
  });
  try {
    const [row] = await client`
      select count(*)::int as connections from pg_stat_activity
      where datname = current_database() and application_name = 'rollcall'`;
    return row?.["connections"] > 0;
  } finally {
    await client.end({ timeout: 5 });
  }
}
