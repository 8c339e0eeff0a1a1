import { type AuditEvent, atTerminal, newAuditRow } from "../audit/audit.events.ts";
import { insertAuditRows } from "../audit/audit.store.ts";
import type { Config } from "../config/config.ts";
import type { Database, Queries } from "../db/database.ts";
import { migrate } from "../db/migrate.ts";
import { openDatabase } from "../db/open.ts";
import { createClock } from "../lib/clock.ts";
import { createIdGenerator, describeIds, kindOfId } from "../lib/ids.ts";
import type { IdKind } from "../lib/kinds.ts";
import type { CommandResult, Notices } from "./output.ts";

/**
 * A command of `run.ts`.
 *
 * @param rest the words after its name
 * @returns undefined if the command continues to run, as `serve` does
 */
export type Command = (
  config: Config,
  values: Values,
  rest: readonly string[],
  notices: Notices,
) => Promise<CommandResult | undefined>;

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
  readonly "keep-tokens"?: boolean;
  readonly "without-files"?: boolean;
  readonly fast?: boolean;
  readonly throwaway?: boolean;
  readonly resume?: string;
  readonly "new-secret"?: boolean;
  readonly "new-region"?: boolean;
  readonly clock?: boolean;
}

/** A mistake in the command line, which is printed without a stack. */
export class UsageError extends Error {}

/** The placeholders of ids in usage texts. */
const idPlaceholders = {
  App: "an APPID",
  ApplicationKey: "a KEYID",
  Device: "a DEVICEID",
  User: "a USERID",
  Operator: "an ID",
} as const satisfies Partial<Record<IdKind, string>>;

/** @throws UsageError */
export function requireId(command: string, kind: keyof typeof idPlaceholders, given: string | undefined): string {
  const word = idPlaceholders[kind];
  if (given === undefined) throw new UsageError(`${command} needs ${word}`);
  if (kindOfId(given) !== kind) throw new UsageError(`"${given}" is not ${word}, which is ${describeIds(kind)}`);
  return given;
}

/** Opens the database with the few connections that a command needs. */
export function openForCommand(config: Config): Promise<Database> {
  return openDatabase(config.databaseUrl, {
    connectionsMax: 2,
    timeoutMs: config.databaseTimeoutMs,
    isPooled: config.databasePooled,
  });
}

/** Opens the database, migrates its schema, runs `run`, and closes it. Safe while a server is running. */
export async function withDatabase<T>(config: Config, run: (database: Database) => Promise<T>): Promise<T> {
  const database = await openForCommand(config);
  try {
    await migrate(database);
    return await run(database);
  } finally {
    // Ignored, because the command is committed, and its result may contain a password that is shown only once.
    await database.close().catch(() => {});
  }
}

/** The clock and the id generator of a command. */
export function createClockAndIds() {
  const clock = createClock();
  return { clock, ids: createIdGenerator(() => clock.now()) };
}

/** Records a command that runs no operation in the audit log, in the transaction of its change. */
export async function recordCommand(event: Omit<AuditEvent, "actor">, queries: Queries): Promise<void> {
  const { clock, ids } = createClockAndIds();
  await insertAuditRows([newAuditRow({ ...event, ...atTerminal }, clock.now(), ids)], queries);
}
