import { distributeTables, hasCitus } from "../db/distribution.ts";
import { migrate } from "../db/migrate.ts";
import { openDatabase } from "../db/open.ts";
import { type Command, UsageError } from "./command.ts";

/** The statement timeout, because one statement moves a complete table to its shards. */
const timeoutMs = 3_600_000;

export const commands = {
  async distribute(config, _values, _rest, { progress }) {
    const { databaseUrl, databasePooled } = config;
    if (databaseUrl.startsWith("file:")) throw withoutCitus();
    const database = await openDatabase(databaseUrl, { connectionsMax: 2, timeoutMs, isPooled: databasePooled });
    try {
      if (!(await hasCitus(database))) throw withoutCitus();
      await migrate(database);
      const distributed = await distributeTables(database, (table, done, total) =>
        progress.report({ name: "tables", done, total, detail: table }),
      );
      const lines = distributed.map((table) => `distributed ${table}`);
      return { json: { distributed }, text: lines.join("\n") || "All tables are distributed." };
    } finally {
      await database.close();
    }
  },
} satisfies Readonly<Record<string, Command>>;

function withoutCitus(): UsageError {
  return new UsageError("distribute needs a DATABASE_URL of PostgreSQL with the extension citus");
}
