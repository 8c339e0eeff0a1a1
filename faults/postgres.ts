import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { startThrowawayPostgres } from "../scripts/throwaway-postgres.ts";
import { fieldsOf } from "../server/src/lib/fields.ts";
import { adopt, temporaryFolder } from "../testkit/children.ts";

/** The PostgreSQL server of this run, and the faults it can be given. */
export interface Postgres {
  /** Resolves with the URL of a new database. @param folder of its tables, if they lie outside of the data folder */
  createDatabase(folder?: string): Promise<string>;
  /** Shuts it down cleanly, without waiting for clients. */
  stop(): Promise<void>;
  /** Kills all its processes at once, as a crash does; the next start replays its log. */
  crash(): Promise<void>;
  /** Resolves when it accepts connections again. */
  restart(): Promise<void>;
  /** Freezes all its processes: connections stay open and get no responses. */
  freeze(): void;
  thaw(): void;
  /** Terminates the connections of all servers, whatever they are doing. @returns how many */
  cutConnections(): Promise<number>;
  /** Resolves when no server has a connection any more, so that the last statements of a killed server have ended. */
  untilUnused(): Promise<void>;
}

let starting: Promise<Postgres> | undefined;

/** The PostgreSQL server of this run, started on first use and stopped with the run. */
export function getSharedPostgres(): Promise<Postgres> {
  starting ??= start();
  return starting;
}

async function start(): Promise<Postgres> {
  chmodSync(temporaryFolder(), 0o711); // it runs as another account, which must be able to enter its folder
  const { url, process, restart } = await startThrowawayPostgres({ isDurable: true, parent: temporaryFolder() });
  adopt(process(), "SIGINT");
  const [{ data_directory: data = "" } = {}] = await ask<{ data_directory: string }>("show data_directory");
  let count = 0;

  /** Runs one statement over a new connection, because earlier connections may have been cut. */
  async function ask<Row extends object>(statement: string): Promise<Row[]> {
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    const rows = await sql.unsafe<Row[]>(statement);
    await sql.end();
    return [...rows];
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    const exited = once(process(), "exit");
    process().kill(signal);
    await exited;
  }
  const ofServers = "from pg_stat_activity where application_name = 'rollcall'";

  return {
    async createDatabase(folder) {
      count += 1;
      const name = `faults_${count}`; // other scenarios may create databases meanwhile
      if (folder !== undefined) {
        const { uid, gid } = statSync(data);
        mkdirSync(folder);
        chownSync(folder, uid, gid);
        await ask(`create tablespace ${name} location '${folder}'`);
      }
      await ask(`create database ${name} ${folder === undefined ? "" : `tablespace ${name}`}`);
      const address = new URL(url);
      address.pathname = `/${name}`;
      return address.href;
    },
    stop: () => end("SIGINT"),
    crash: () => end("SIGQUIT"),
    async restart() {
      await restart();
      adopt(process(), "SIGINT");
    },
    freeze: () => signalAll(process().pid, "SIGSTOP"),
    thaw: () => signalAll(process().pid, "SIGCONT"),
    cutConnections: async () => (await ask(`select pg_terminate_backend(pid) ${ofServers}`)).length,
    async untilUnused() {
      while ((await ask(`select pid ${ofServers}`)).length > 0) await sleep(5);
    },
  };
}

function signalAll(pid: number | undefined, signal: "SIGSTOP" | "SIGCONT"): void {
  if (pid === undefined) return;
  // The parent first when it stops, so that it starts nothing more; pgrep is on Linux and macOS.
  process.kill(pid, signal);
  const children = execFileSync("pgrep", ["-P", `${pid}`], { encoding: "utf8" })
    .trim()
    .split("\n");
  for (const child of children) {
    try {
      process.kill(Number(child), signal);
    } catch (error) {
      if (fieldsOf(error).code !== "ESRCH") throw error; // it has ended since
    }
  }
}
