import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttpServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "./command-line.ts";
import { copyTestDatabase } from "./databases.ts";
import { type Answer, type CallOptions, send } from "./harness.ts";
import {
  noEnvFile,
  type RunningServer,
  rollcall,
  type runProgram,
  serverEnvironment,
  startProgram,
} from "./running-server.ts";

type Settings = Readonly<Record<string, string>>;

/**
 * The fault of calls with this name: a call is not sent, is interrupted, or loses its response, with the connection or
 * silently.
 */
export interface Fault {
  readonly name: string;
  readonly how: "not sent" | "stalled" | "broken off" | "unanswered" | "never answered";
}

export interface BrokenCalls {
  /** Whether the fault has occurred. */
  isHit(): boolean;
  /** Removes the fault. */
  mend(): void;
}

/** A region: a deployment with its own database and its own secret. */
export interface TestRegion {
  readonly name: string;
  /** The address that clients use: a proxy that simulates the network. */
  readonly root: string;
  readonly settings: Settings;
  readonly folder: string;
  start(more?: Settings): Promise<RunningServer>;
  call(operation: string, options?: CallOptions): Promise<Answer>;
  /** Injects a fault into calls from other regions. */
  breakCalls(fault: Fault): BrokenCalls;
  /** Starts a command of `rollcall` there. */
  begin(...args: string[]): ChildProcess;
  /** Runs a command until it exits. */
  run(...args: string[]): ReturnType<typeof runProgram>;
  /** Runs a command that must succeed. @returns its output */
  printed(...args: string[]): Promise<string>;
}

/** Several regions that are configured with each other; none of them runs yet. */
export async function createRegions<Name extends string>(
  names: readonly Name[],
): Promise<{ readonly regions: Readonly<Record<Name, TestRegion>>; remove(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  const networks = await Promise.all(names.map(async (name) => ({ name, proxy: await startProxy() })));
  const REGIONS = networks.map(({ name, proxy }) => `${name}=${proxy.root}`).join();
  const drops: (() => Promise<void>)[] = [];
  const made = await Promise.all(
    networks.map(async ({ name, proxy }) => {
      const dataDir = join(folder, name);
      const { url, drop } = await copyTestDatabase(dataDir);
      drops.push(drop);
      const settings = {
        DATA_DIR: dataDir,
        DATABASE_URL: url,
        ROLLCALL_SECRET: `the secret of the region ${name}`,
        PASSWORD_HASH_MEMORY_KIB: "8",
        PASSWORD_HASH_PASSES: "1",
        TRUST_PROXY: "loopback",
        REGION: name,
        REGIONS,
        REGION_SECRET: "a secret between regions",
        REGION_TIMEOUT_MS: "10000",
      };
      const run = (...args: string[]) => runCommand(args, settings);
      let port = 0;
      const region: TestRegion = {
        name,
        root: proxy.root,
        settings,
        folder: dataDir,
        async start(more = {}) {
          const running = await startProgram({ ...settings, ...more });
          ({ port } = running);
          proxy.sendTo(port);
          return running;
        },
        call(operation, options) {
          const [method = "", path = ""] = operation.split(/ (.*)/);
          return send(port, method, path, options);
        },
        breakCalls: proxy.breakCalls,
        begin: (...args) =>
          spawn(process.execPath, [rollcall, ...args], {
            cwd: noEnvFile,
            env: { ...serverEnvironment, ...settings },
            stdio: "ignore",
          }),
        run,
        async printed(...args) {
          const { code, stdout, stderr } = await run(...args);
          assert.equal(code, 0, `${args.join(" ")}: ${stderr}`); // a slow command also prints its progress there
          return stdout;
        },
      };
      return [name, region] as const;
    }),
  );
  return {
    regions: Object.fromEntries(made) as Record<Name, TestRegion>, // has every name
    async remove() {
      for (const { proxy } of networks) proxy.close();
      for (const drop of drops) await drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Forwards calls to a running region, except for the injected faults. Reserves the address of a region that is not
 * running.
 */
export async function startProxy() {
  let port: number | undefined;
  let fault: Fault | undefined;
  let isHit = false;
  const server = createHttpServer((incoming, outgoing) => {
    const isMeant = fault !== undefined && incoming.url?.endsWith(`/${fault.name}`) === true;
    const how = isMeant ? fault?.how : undefined;
    isHit ||= isMeant;
    if (how === "not sent" || port === undefined) {
      incoming.socket.destroy();
      return;
    }
    if (how === "stalled") return;
    const { method, url: path, headers } = incoming;
    const onward = request({ port, host: "127.0.0.1", method, path, headers, agent: false }, (answer) => {
      if (how === "unanswered") {
        answer.resume().on("end", () => incoming.socket.destroy());
        return;
      }
      if (how === "never answered") {
        answer.resume();
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => incoming.socket.destroy());
    incoming.on("error", () => onward.destroy());
    if (how === "broken off") {
      incoming.once("data", (chunk: Buffer) => {
        onward.write(chunk.subarray(0, 700), () => {
          onward.destroy();
          incoming.socket.destroy();
        });
      });
    } else incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    root: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a TCP listener has an address object
    sendTo(target: number): void {
      port = target;
    },
    breakCalls(next: Fault): BrokenCalls {
      fault = next;
      isHit = false;
      return {
        isHit: () => isHit,
        mend() {
          fault = undefined;
        },
      };
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
