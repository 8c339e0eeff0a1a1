import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { adopt, temporaryFolder } from "../bench/children.ts";
import { startThrowawayPostgres } from "../scripts/throwaway-postgres.ts";

/** A PostgreSQL of this run, and what can be done to it. */
export interface Postgres {
  /** Resolves with the address of a new database. @param folder where its tables lie, when that is somewhere else */
  createDatabase(folder?: string): Promise<string>;
  /** Ends it as it should be, but without waiting for clients. */
  stop(): Promise<void>;
  /** Ends all its processes at once, as a crash does: its log is replayed at the next start. */
  crash(): Promise<void>;
  /** Resolves when it takes connections again. */
  restart(): Promise<void>;
  /** Lets none of its processes run. Connections stay open, and nobody answers. */
  freeze(): void;
  thaw(): void;
  /** Ends the connections of all servers, in the midst of whatever they do. @returns how many */
  cutConnections(): Promise<number>;
  /** Resolves when no server has a connection any more: what one that was killed had begun has ended. */
  untilUnused(): Promise<void>;
}

let starting: Promise<Postgres> | undefined;

/** The one of this run, started when it is first asked for. It ends with the run. */
export function thePostgres(): Promise<Postgres> {
  starting ??= start();
  return starting;
}

async function start(): Promise<Postgres> {
  chmodSync(temporaryFolder(), 0o711); // it runs as another account, and enters its own folder
  const { url, process, restart } = await startThrowawayPostgres({ isDurable: true, parent: temporaryFolder() });
  adopt(process(), "SIGINT");
  const [{ data_directory: data = "" } = {}] = await ask<{ data_directory: string }>("show data_directory");
  let count = 0;

  /** One statement over a connection of its own: those of before may have been cut. */
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
      const name = `faults_${count}`; // others may ask for theirs meanwhile
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
  for (const child of children) process.kill(Number(child), signal);
}
