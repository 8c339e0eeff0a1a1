import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestDatabase } from "./databases.ts";
import { type Answer, type CallOptions, runProgram, send } from "./harness.ts";
import { type RunningServer, startProgram } from "./running-server.ts";

type Settings = Readonly<Record<string, string>>;

/** A region: a deployment of its own, with its own database and its own secret. */
export interface TestRegion {
  readonly name: string;
  readonly root: string;
  readonly settings: Settings;
  readonly folder: string;
  start(more?: Settings): Promise<RunningServer>;
  call(operation: string, options?: CallOptions): Promise<Answer>;
  /** Runs a command of `rollcall` there. */
  run(...args: string[]): ReturnType<typeof runProgram>;
  /** What a command prints that must succeed. */
  printed(...args: string[]): Promise<string>;
}

/** Several regions that know of each other; none of them runs yet. */
export async function createRegions<Name extends string>(
  names: readonly Name[],
): Promise<{ readonly regions: Readonly<Record<Name, TestRegion>>; remove(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  const ports = await freePorts(names.length);
  const rootOf = (index: number) => `http://127.0.0.1:${ports[index]}`;
  const REGIONS = names.map((name, index) => `${name}=${rootOf(index)}`).join();
  const drops: (() => Promise<void>)[] = [];
  const made = await Promise.all(
    names.map(async (name, index) => {
      const dataDir = join(folder, name);
      const { url, drop } = await createTestDatabase(dataDir);
      drops.push(drop);
      const settings = {
        DATA_DIR: dataDir,
        DATABASE_URL: url,
        ROLLCALL_SECRET: `the secret of the region ${name}`,
        PASSWORD_HASH_MEMORY_KIB: "8",
        PASSWORD_HASH_PASSES: "1",
        PORT: `${ports[index]}`,
        REGION: name,
        REGIONS,
        REGION_SECRET: "a secret between regions",
      };
      const run = (...args: string[]) => runProgram("src/cli.ts", args, settings);
      const region: TestRegion = {
        name,
        root: rootOf(index),
        settings,
        folder: dataDir,
        start: (more = {}) => startProgram({ ...settings, ...more }),
        call(operation, options) {
          const [method = "", path = ""] = operation.split(/ (.*)/);
          return send(ports[index] ?? 0, method, path, options);
        },
        run,
        async printed(...args) {
          const { code, stdout, stderr } = await run(...args);
          assert.deepEqual([code, stderr], [0, ""], args.join(" "));
          return stdout;
        },
      };
      return [name, region] as const;
    }),
  );
  return {
    regions: Object.fromEntries(made) as Record<Name, TestRegion>, // of every name
    async remove() {
      for (const drop of drops) await drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Ports that nobody listens on. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port); // it listens on a port
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
