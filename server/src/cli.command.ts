import { styleText } from "node:util";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import { migrate } from "./db/migrate.ts";
import { openDatabase } from "./db/open.ts";
import { createClock } from "./lib/clock.ts";
import { createIdGenerator } from "./lib/ids.ts";

/** What a command of `cli.ts` is given: the settings, the options, and the words behind its name. */
export type Command = (config: Config, values: Values, rest: readonly string[]) => Promise<void>;

export interface Values {
  readonly name?: string;
  readonly role?: string;
  readonly app?: string;
  readonly label?: string;
  readonly region?: string;
  readonly cancel?: boolean;
  readonly json?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly "other-secret"?: boolean;
  readonly "without-files"?: boolean;
}

/** Something the person at the terminal did; printed without a stack. */
export class UsageError extends Error {}

/** Opens the database, brings its schema up to date, runs the command beside whatever server is running, and closes. */
export async function withDatabase(
  config: Config,
  run: (database: Database, appliedMigrations: readonly string[]) => Promise<void>,
): Promise<void> {
  const database = await openDatabase(config.databaseUrl, {
    connectionsMax: 2,
    timeoutMs: config.databaseTimeoutMs,
    isPooled: config.databasePooled,
  });
  try {
    await run(database, await migrate(database));
  } finally {
    await database.close();
  }
}

/** Time, and ids made by it. */
export function createMakers() {
  const clock = createClock();
  return { clock, ids: createIdGenerator(() => clock.now()) };
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Columns for a person; tab-separated when piped. */
export function table(names: readonly string[], rows: readonly Readonly<Record<string, string>>[]): string {
  const lines = [names, ...rows.map((row) => names.map((name) => row[name] ?? ""))];
  if (!process.stdout.isTTY) return lines.map((cells) => cells.join("\t")).join("\n");
  const widths = names.map((_, column) => Math.max(...lines.map((cells) => (cells[column] ?? "").length)));
  const [head, ...body] = lines.map((cells) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "),
  );
  return [styleText("bold", head ?? ""), ...body].join("\n");
}
