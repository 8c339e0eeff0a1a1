import { setTimeout as sleep } from "node:timers/promises";
import { createDeployment, type Deployment } from "../testkit/deployment.ts";
import { prepareServer, type RunningServer } from "../testkit/server.ts";
import { expectNoOrphans } from "./orphans.ts";
import { getSharedPostgres } from "./postgres.ts";
import type { Scenario } from "./scenario.ts";
import type { Tally } from "./tally.ts";
import { Workload } from "./workload.ts";

/** A kill comes at a random time after the load has started and some writes have been answered. */
const loadMsMax = 250;
const answersMax = 60;
const patienceMs = 2_000;

export const killOnSqlite: Scenario = {
  name: "kill -9, SQLite",
  promise: "every answered write is complete after the restart, and nothing deleted or revoked returns",
  async run(tally, { kills }) {
    await killUnderLoad(await createDeployment(), kills.sqlite, tally);
  },
};

/** The number of kills of the server for each crash of PostgreSQL. */
const crashEvery = 5;

export const killOnPostgres: Scenario = {
  name: "kill -9, PostgreSQL",
  promise: "the same, also when PostgreSQL crashes at the same moment",
  async run(tally, { kills }) {
    const postgres = await getSharedPostgres();
    const deployment = await createDeployment({ DATABASE_URL: await postgres.createDatabase() });
    await killUnderLoad(deployment, kills.postgres, tally, async (server, kill) => {
      const isCrash = kill % crashEvery === crashEvery - 1;
      await Promise.all([server.end("SIGKILL"), isCrash ? postgres.crash() : undefined]);
      if (isCrash) await postgres.restart();
      await postgres.untilUnused();
    });
  },
};

/**
 * Kills the server repeatedly while clients write. Verifies the writes since the last kill after each restart, and all
 * writes at the end.
 *
 * @param strike replaces the kill of the server
 */
async function killUnderLoad(
  deployment: Deployment,
  kills: number,
  tally: Tally,
  strike: (server: RunningServer, kill: number) => Promise<unknown> = (server) => server.end("SIGKILL"),
): Promise<void> {
  let next = prepareServer(deployment.settings);
  let workload: Workload | undefined;
  for (let kill = 0; ; kill += 1) {
    const beganAt = performance.now();
    const server = await next.begin();
    if (kill > 0) tally.recoveryMs.push(performance.now() - beganAt);
    workload ??= await Workload.begin(deployment, server.port, tally);
    if (kill === kills) {
      await workload.checkAll(server.port);
      await server.end("SIGTERM");
      await expectNoOrphans(deployment, tally);
      return;
    }
    next = prepareServer(deployment.settings);
    await workload.check(server.port);
    const stop = new AbortController();
    const running = workload.run(server.port, stop.signal);
    await underLoad(tally);
    await strike(server, kill);
    stop.abort();
    await running;
    tally.faults += 1;
  }
}

/** Waits for a random time and a random number of responses. */
export async function underLoad(tally: Tally, random = Math.random): Promise<void> {
  const goal = tally.answered + random() * answersMax;
  const deadline = performance.now() + patienceMs;
  await sleep(random() * loadMsMax);
  while (tally.answered < goal && performance.now() < deadline) await sleep(1);
}
