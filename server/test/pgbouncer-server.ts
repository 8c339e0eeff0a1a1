import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "../../testkit/free-port.ts";

const program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"].find(existsSync);

/** Why pgbouncer cannot run here; undefined if it can. */
export const pgbouncerIsMissing: string | undefined =
  program === undefined
    ? "pgbouncer is not installed"
    : process.env["TEST_DATABASE_URL"]
      ? undefined
      : "needs PostgreSQL";

/** A pgbouncer in transaction mode with its default settings, in front of one PostgreSQL server. */
export interface Pgbouncer {
  /** The URL of the same database through pgbouncer. */
  throughIt(databaseUrl: string): string;
  stop(): Promise<void>;
}

/** @param settings further lines of its configuration */
export async function startPgbouncer(
  serverUrl: string,
  sessions: number,
  settings: readonly string[] = [],
): Promise<Pgbouncer> {
  const { hostname, port, username, password } = new URL(serverUrl);
  const folder = mkdtempSync(join(tmpdir(), "rollcall-pgbouncer-"));
  chmodSync(folder, 0o755); // pgbouncer does not run as root
  const taken = await findFreePort();
  const file = join(folder, "pgbouncer.ini");
  const login = `user=${username}${password === "" ? "" : ` password=${password}`}`;
  const lines = [
    "[databases]",
    `* = host=${hostname} port=${port || 5432} ${login}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${taken}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    `default_pool_size = ${sessions}`,
    ...settings,
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  const account = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn(program ?? "", [...account, file], { stdio: ["ignore", "ignore", "pipe"] });
  const exited = once(child, "exit");
  let log = "";
  await new Promise<void>((resolve, reject) => {
    exited.then(() => reject(new Error(`pgbouncer did not start: ${log}`)));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-10_000);
      if (log.includes("process up")) resolve();
    });
  });
  return {
    throughIt(databaseUrl) {
      const url = new URL(databaseUrl);
      url.host = `127.0.0.1:${taken}`;
      return url.href;
    },
    async stop() {
      child.kill("SIGTERM");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
