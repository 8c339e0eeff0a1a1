import { setTimeout as sleep } from "node:timers/promises";
import { createDeployment } from "./deployment.ts";
import { getSharedPostgres, type Postgres } from "./postgres.ts";
import { Probes } from "./probes.ts";
import { type NetworkProxy, startProxy } from "./proxy.ts";
import type { Scenario } from "./scenario.ts";
import { type Server, startServer } from "./server.ts";
import type { Tally } from "./tally.ts";
import { Workload } from "./workload.ts";

/** The timeout of the server for its database. */
const timeoutMs = 1_000;
/**
 * The longest that a response may take: waits for a connection, a lock and a second attempt, plus the load of the
 * machine.
 */
const answerMsMax = 5 * timeoutMs;
const recoveryMsMax = 1_000;
/** How long the scenario waits for a late recovery, so that it can report it. */
const patienceMs = 20_000;

/** A database that becomes unavailable and returns. */
interface Outage {
  readonly postgres: Postgres;
  readonly proxy: NetworkProxy;
  /** Marks the database as available from now on, and waits until the server answers again. */
  recovered(): Promise<void>;
  /** For this time, nothing that needs the database may succeed. */
  away(ms: number): Promise<void>;
}

/** Disturbs the database while clients write, then verifies every answered write. */
function outage(name: string, promise: string, happen: (outage: Outage, tally: Tally) => Promise<void>): Scenario {
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
      await sleep(500);
      await Promise.race([happen({ postgres, proxy, ...watch(probes, tally) }, tally), failOnExit(server)]);
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
async function failOnExit(server: Server): Promise<never> {
  throw new Error(`the server exited with ${await server.ended}`);
}

function watch(probes: Probes, tally: Tally): Pick<Outage, "recovered" | "away"> {
  return {
    async recovered() {
      tally.faults += 1;
      const ms = await probes.recoveryFrom(performance.now(), patienceMs);
      tally.recoveryMs.push(ms ?? Number.POSITIVE_INFINITY);
      if (ms === undefined) tally.wrong.push(`did not recover within ${patienceMs / 1000} s`);
      else if (ms > recoveryMsMax) tally.wrong.push(`recovered after ${ms.toFixed(0)} ms`);
    },
    async away(ms) {
      const from = performance.now();
      await sleep(ms);
      const good = probes.successes(from, performance.now());
      for (const { kind } of good) tally.wrong.push(`a ${kind} succeeded while the database was unavailable`);
    },
  };
}

const outagePromise = "ServiceUnavailable during the outage, a success within a second after it, no write lost";

export const databaseOutages: readonly Scenario[] = [
  outage("PostgreSQL stopped", outagePromise, async ({ postgres, away, recovered }) => {
    for (const stop of [postgres.stop, postgres.crash]) {
      await stop();
      await away(3_000);
      await postgres.restart();
      await recovered();
      await sleep(300);
    }
  }),
  outage("connections cut", "repeatedly: no write lost, and the next calls succeed", async (outage) => {
    for (let cut = 0; cut < 20; cut += 1) {
      if (cut % 2 === 0) await outage.postgres.cutConnections();
      else outage.proxy.reset();
      await outage.recovered();
      await sleep(Math.random() * 100);
    }
  }),
  outage("PostgreSQL frozen", outagePromise, async ({ postgres, away, recovered }) => {
    for (const ms of [timeoutMs / 2, 3 * timeoutMs]) {
      postgres.freeze();
      await away(ms);
      postgres.thaw();
      await recovered();
      await sleep(300);
    }
  }),
  outage("PostgreSQL out of reach", outagePromise, async ({ proxy, away, recovered }) => {
    for (let times = 0; times < 4; times += 1) {
      proxy.swallow();
      await away((2 + 2 * Math.random()) * timeoutMs); // so that it returns at a random moment of the server's attempts
      proxy.heal();
      await recovered();
      await sleep(300);
    }
  }),
];
