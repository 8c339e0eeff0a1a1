import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import { openDatabase } from "./db/open.ts";
import { createSlowQueryLog } from "./insight/slow-query-log.ts";
import type { Log } from "./log.ts";

/** Opens the database of a server, whose slow statements are logged. */
export function openServerDatabase(config: Config, log: Log): Promise<Database> {
  return openDatabase(config.databaseUrl, {
    connectionsMax: config.databaseConnectionsMax,
    timeoutMs: config.databaseTimeoutMs,
    slowQueryMs: config.slowQueryMs,
    onSlow: createSlowQueryLog(log),
    isPooled: config.databasePooled,
  });
}
