import { networkOfNode } from "../../sdk/test/network-of-node.ts";
import { createDeployment, type Deployment } from "../../testkit/deployment.ts";
import { createRandom } from "../../testkit/random.ts";
import { prepareServer, type RunningServer } from "../../testkit/server.ts";
import { underLoad } from "../kills.ts";
import { getSharedPostgres } from "../postgres.ts";
import type { Effort, Scenario } from "../scenario.ts";
import type { Tally } from "../tally.ts";
import { Writer } from "./writer.ts";

const promise = "what the client reports as done is stored once, and each of its errors says whether the write may be";

export const clientKillsOnSqlite: Scenario = {
  name: "client, kill -9, SQLite",
  promise,
  async run(tally, effort) {
    await killUnderClients(await createDeployment(), effort.isLong ? 200 : 20, tally, effort);
  },
};

export const clientKillsOnPostgres: Scenario = {
  name: "client, kill -9, PostgreSQL",
  promise,
  isTimed: true, // other scenarios crash the database
  async run(tally, effort) {
    const postgres = await getSharedPostgres();
    const deployment = await createDeployment({ DATABASE_URL: await postgres.createDatabase() });
    await killUnderClients(deployment, effort.isLong ? 50 : 5, tally, effort);
  },
};

/** Kills the server at random moments while clients write, and counts the rows at the end. */
async function killUnderClients(
  deployment: Deployment,
  kills: number,
  tally: Tally,
  { isLong, seed }: Effort,
): Promise<void> {
  const random = createRandom(seed);
  const network = new Network();
  network.use(await prepareServer(deployment.settings).begin());
  const signUps = Array.from({ length: isLong ? 50 : 20 }, (_, index) => {
    // Half of them repeat their calls after the restart; the others use up their repeats before.
    const fetch = index % 2 === 0 ? network.fetch : network.fetchWhenUp;
    return Writer.signUp(deployment, network.url, `writer ${index}`, tally, fetch);
  });
  const writers = await Promise.all(signUps);
  const stop = new AbortController();
  const running = writers.map(async (writer) => {
    while (!stop.signal.aborted) if (!(await writer.write())) await network.untilUp();
  });
  for (let kill = 0; kill < kills; kill += 1) {
    const next = prepareServer(deployment.settings);
    await underLoad(tally, random);
    await network.strike();
    tally.faults += 1;
    network.use(await next.begin());
  }
  stop.abort();
  await Promise.all(running);
  for (const writer of writers) await writer.check(network.url);
  const sum = (count: (writer: Writer) => number) => writers.reduce((all, writer) => all + count(writer), 0);
  const [rejected, replayed] = [sum((writer) => writer.rejected), sum((writer) => writer.replayed)];
  tally.remarks.push(`seed ${seed}`, `${rejected} rejected`, `${replayed} replayed`);
  await Promise.all(writers.map((writer) => writer.close()));
  await network.server.end("SIGTERM");
}

/** Leads to the server that runs at present, whose port differs after each start. */
class Network {
  #server: RunningServer | undefined;
  /** Resolves when a server runs. */
  #up = Promise.withResolvers<void>();

  get server(): RunningServer {
    if (this.#server === undefined) throw new Error("the server is down");
    return this.#server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    // Another program may get the port of a killed server.
    if (this.#server === undefined) throw new TypeError("fetch failed");
    const url = new URL(`${input}`);
    url.port = `${this.#server.port}`;
    return networkOfNode(url, init);
  };

  /** Sends requests that come in an outage after the restart. */
  readonly fetchWhenUp: typeof fetch = async (...request) => {
    await this.untilUp();
    return this.fetch(...request);
  };

  use(server: RunningServer): void {
    this.#server = server;
    this.#up.resolve();
  }

  /** Kills the server. Requests in progress break, and later ones are refused. */
  async strike(): Promise<void> {
    const { server } = this;
    this.#server = undefined;
    this.#up = Promise.withResolvers();
    await server.end("SIGKILL");
  }

  untilUp(): Promise<void> {
    return this.#up.promise;
  }
}
