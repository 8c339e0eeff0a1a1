import type { Config } from "./config.ts";
import { beginSchema, isEmpty } from "./db/begin-schema.ts";
import type { Database } from "./db/database.ts";
import { reservePort } from "./http/early-port.ts";
import { createHeldLog, createLog, type Log } from "./log.ts";
import { openServerDatabase } from "./open-database.ts";
import { workerNumber } from "./worker-number.ts";

/** What a start has done before it loads the modules of the server. */
export interface Begun {
  /** Called again, it does nothing. */
  releasePorts(): Promise<void>;
  readonly log: Log;
  /** Writes the lines that the log holds back. */
  releaseLog(): void;
  /** Open, if it is PostgreSQL. */
  readonly database?: Database;
  /** Resolves when the schema of an empty database is there, with the migrations that this process has applied. */
  readonly created?: Promise<readonly string[]>;
}

/**
 * Reserves the ports, before any file or database is created. Opens PostgreSQL, whose server then creates the schema of an
 * empty database while this process loads its modules; SQLite would work in this process.
 *
 * @param isLogHeld until credentials have been printed, which must be the first line of standard output
 */
export async function begin(config: Config, isLogHeld: boolean): Promise<Begun> {
  const reserving = reservePorts(config);
  const logs = isLogHeld ? createHeldLog(config.logLevel) : { log: createLog(config.logLevel), release() {} };
  const { log, release: releaseLog } = logs;
  if (config.databaseUrl.startsWith("file:")) return { releasePorts: await reserving, log, releaseLog };
  reserving.catch(() => {}); // thrown below
  const database = await openServerDatabase(config, log);
  try {
    const asking = isEmpty(database); // connects meanwhile
    const releasePorts = await reserving;
    const creating = (await asking) ? await beginSchema(database) : undefined;
    return { releasePorts, log, releaseLog, database, ...creating };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Reserves the ports, except in workers: they share a port that their supervisor has probed. */
async function reservePorts({ host, port, metricsHost, metricsPort = 0 }: Config): Promise<() => Promise<void>> {
  const reserved: (() => Promise<void>)[] = [];
  const release = async () => void (await Promise.all(reserved.splice(0).map((each) => each())));
  if (workerNumber !== undefined) return release;
  try {
    if (port !== 0) reserved.push(await reservePort(host, port));
    if (metricsPort !== 0) reserved.push(await reservePort(metricsHost, metricsPort));
  } catch (error) {
    await release();
    throw error;
  }
  return release;
}
