import { chmodSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tally } from "../../faults/tally.ts";
import { adopt, temporaryFolder } from "../../testkit/children.ts";
import { createDeployment, type Deployment } from "../../testkit/deployment.ts";
import { type RunningServer, startServer } from "../../testkit/server.ts";
import { startThrowawayPostgres } from "../throwaway-postgres.ts";
import { choosePorts, createAuthorities, type Haproxy, type ProcessName, startHaproxy } from "./haproxy.ts";

/** A deployment of two processes behind a proxy, on a PostgreSQL of its own. */
export interface Region {
  readonly name: string;
  readonly deployment: Deployment;
  readonly proxy: Haproxy;
  /** Drains the process, ends it as an operator would, and starts its successor. */
  replace(process: ProcessName, tally: Tally): Promise<void>;
  /** Replaces the processes by others with a new secret before the old one, and resolves when the new one seals. */
  rotateSecret(tally: Tally): Promise<void>;
  /** Kills the process and starts it again, as a supervisor would. */
  kill(process: ProcessName, tally: Tally): Promise<void>;
  /** Ends both processes. */
  end(tally: Tally): Promise<void>;
}

export const processNames: readonly ProcessName[] = ["a", "b"];
const rotationMsMax = 120_000;
const followMs = 12_000;
const pollMs = 200;

/** Starts the regions `main` and `eu`, which know each other. @param haproxy the command that starts it */
export async function startRegions(haproxy: string): Promise<readonly [Region, Region]> {
  const ports = { main: await choosePorts(), eu: await choosePorts() };
  const settings = {
    REGIONS: `main=https://127.0.0.1:${ports.main.proxy},eu=https://127.0.0.1:${ports.eu.proxy}`,
    REGION_SECRET: "a secret of the regions of the drill",
    REQUIRE_HTTPS: "true",
    DATABASE_TIMEOUT_MS: "2500", // a response waits for several of these, together less than the patience of the clients
    TRUST_PROXY: "loopback",
    NODE_EXTRA_CA_CERTS: createAuthorities(),
  };
  const start = (name: "main" | "eu") => startRegion(name, ports[name], settings, haproxy);
  return [await start("main"), await start("eu")];
}

async function startRegion(
  name: string,
  ports: Awaited<ReturnType<typeof choosePorts>>,
  shared: Readonly<Record<string, string>>,
  haproxy: string,
): Promise<Region> {
  chmodSync(temporaryFolder(), 0o711); // PostgreSQL runs as another account, which must be able to enter its folder
  const postgres = await startThrowawayPostgres({ isDurable: true, parent: temporaryFolder() });
  adopt(postgres.process(), "SIGINT");
  const deployment = await createDeployment({
    ...shared,
    REGION: name,
    DATABASE_URL: postgres.url,
    ROLLCALL_SECRET: `a secret of the region ${name}`,
  });
  let secrets = deployment.settings["ROLLCALL_SECRET"] ?? "";
  const begin = (process: ProcessName) =>
    startServer({ ...deployment.settings, ROLLCALL_SECRET: secrets, PORT: `${ports.processes[process]}` });
  const servers: Record<ProcessName, RunningServer> = { a: await begin("a"), b: await begin("b") };
  const proxy = await startHaproxy(haproxy, ports.proxy, ports.processes);
  for (const process of processNames) await proxy.untilUp(process);

  async function terminate(process: ProcessName, tally: Tally): Promise<void> {
    const code = await servers[process].end("SIGTERM");
    if (code !== 0) tally.wrong.push(`process ${process} of ${name} exited with ${code}`);
  }
  async function replace(process: ProcessName, tally: Tally): Promise<void> {
    await proxy.drain(process);
    await terminate(process, tally);
    servers[process] = await begin(process);
    await proxy.undrain(process);
    await proxy.untilUp(process);
    tally.faults += 1;
  }
  return {
    name,
    deployment,
    proxy,
    replace,
    async rotateSecret(tally) {
      secrets = `the next secret of the region ${name},${secrets}`;
      for (const process of processNames) await replace(process, tally);
      const isDone = () => processNames.some((process) => servers[process].output().includes("seals from now on"));
      const deadline = performance.now() + rotationMsMax;
      while (!isDone()) {
        if (performance.now() > deadline) throw new Error(`the new secret of ${name} does not seal`);
        await sleep(pollMs);
      }
      await sleep(followMs); // the other process follows with its next report
    },
    async kill(process, tally) {
      const startedAt = performance.now();
      await servers[process].end("SIGKILL");
      await proxy.untilDown(process);
      servers[process] = await begin(process);
      await proxy.untilUp(process);
      tally.recoveryMs.push(performance.now() - startedAt);
      tally.faults += 1;
    },
    async end(tally) {
      await Promise.all(processNames.map((process) => terminate(process, tally)));
    },
  };
}
