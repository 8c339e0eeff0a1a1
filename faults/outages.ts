import { setTimeout as sleep } from "node:timers/promises";
import { createDeployment } from "../testkit/deployment.ts";
import { type RunningServer, startServer } from "../testkit/server.ts";
import { getSharedPostgres, type Postgres } from "./postgres.ts";
import { Probes } from "./probes.ts";
import { type NetworkProxy, startProxy } from "./proxy.ts";
import { Recoveries } from "./recoveries.ts";
import type { Scenario } from "./scenario.ts";
import type { Tally } from "./tally.ts";
import { Workload } from "./workload.ts";

/** The timeout of the server for its database. */
const timeoutMs = 1_000;
/**
 * The longest that a response may take: waits for a connection, a lock and a second attempt, plus the load of the
 * machine.
 */
const answerMsMax = 8 * timeoutMs;

/** A database that becomes unavailable and returns. */
interface Outage {
  readonly postgres: Postgres;
  readonly proxy: NetworkProxy;
  readonly recoveries: Recoveries;
  /** For this time, nothing that needs the database may succeed. */
  away(ms: number): Promise<void>;
}

/** Disturbs the database while clients write, then verifies every answered write. */
function outage(name: string, promise: string, happen: (outage: Outage) => Promise<void>): Scenario {
  return {
    name,
    promise,
    isTimed: true,
    async run(tally) {
      const postgres = await getSharedPostgres();
      const proxy = await startProxy(await postgres.createDatabase());
      const timeout = { DATABASE_TIMEOUT_MS: `${timeoutMs}` };
      const deployment = await createDeployment({ DATABASE_URL: proxy.url, ...timeout });
      const server = await startServer(deployment.settings);
      const workload = await Workload.begin(deployment, server.port, tally, { mayBreak: false });
      const probes = await Probes.begin(deployment, server.port, tally);
      const stop = new AbortController();
      const running = workload.run(server.port, stop.signal);
      const recoveries = new Recoveries(probes, tally);
      const away = (ms: number) => expectNoSuccess(probes, ms, tally);
      await Promise.race([happen({ postgres, proxy, recoveries, away }), failOnExit(server)]);
      await sleep(500);
      stop.abort();
      await Promise.all([running, probes.end()]);
      if (probes.slowestMs() > answerMsMax) tally.wrong.push(`an answer took ${probes.slowestMs().toFixed(0)} ms`);
      await workload.checkAll(server.port);
      const code = await server.end("SIGTERM");
      if (code !== 0) tally.wrong.push(`the server exited with ${code}`);
      proxy.close();
    },
  };
}

/** @throws when the server exits on its own */
async function failOnExit(server: RunningServer): Promise<never> {
  throw new Error(`the server exited with ${await server.ended}`);
}

async function expectNoSuccess(probes: Probes, ms: number, tally: Tally): Promise<void> {
  const from = performance.now();
  await sleep(ms);
  const good = probes.successes(from, performance.now());
  for (const { kind } of good) tally.wrong.push(`a ${kind} succeeded while the database was unavailable`);
}

const outagePromise = "ServiceUnavailable during the outage, a success within a second after it, no write lost";

export const databaseOutages: readonly Scenario[] = [
  outage("PostgreSQL stopped", outagePromise, async ({ postgres, recoveries, away }) => {
    for (const stop of [postgres.stop, postgres.crash]) {
      await recoveries.time(async () => {
        await stop();
        await away(3_000);
        await postgres.restart();
      });
    }
  }),
  outage("connections cut", "repeatedly: no write lost, and the next calls succeed", async (outage) => {
    for (let times = 0; times < 10; times += 1) {
      await outage.recoveries.time(async () => {
        await outage.postgres.cutConnections();
        await sleep(Math.random() * 100);
        outage.proxy.reset(); // also connections that replace those just cut
      });
    }
  }),
  outage("PostgreSQL frozen", outagePromise, async ({ postgres, recoveries, away }) => {
    for (const ms of [timeoutMs / 2, 3 * timeoutMs]) {
      await recoveries.time(async () => {
        postgres.freeze();
        await away(ms);
        postgres.thaw();
      });
    }
  }),
  outage("PostgreSQL out of reach", outagePromise, async ({ proxy, recoveries, away }) => {
    for (let times = 0; times < 4; times += 1) {
      await recoveries.time(async () => {
        proxy.swallow();
        await away((2 + 2 * Math.random()) * timeoutMs); // so that it returns at a random moment of the server's attempts
        proxy.heal();
      });
    }
  }),
];
