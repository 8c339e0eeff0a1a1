import { setTimeout as sleep } from "node:timers/promises";
import { createDeployment, type Deployment } from "../testkit/deployment.ts";
import { registerDevice, signUp } from "../testkit/people.ts";
import { startServer } from "../testkit/server.ts";
import { type Api, createApi } from "./api.ts";
import { getSharedPostgres } from "./postgres.ts";
import type { Scenario } from "./scenario.ts";
import type { Tally } from "./tally.ts";
import { Workload } from "./workload.ts";

const shiftedClock = import.meta.resolve("./shifted-clock.mjs");
const tokenMs = 3_000;
const steps = 2;

function clockStepsBack(name: string, settings: () => Promise<Readonly<Record<string, string>>>): Scenario {
  return {
    name,
    promise:
      "by an hour under load: ids stay unique, expired tokens stay expired, paging skips nothing, no write is lost",
    async run(tally) {
      const deployment = await createDeployment(await settings());
      const server = await startServer(deployment.settings, { preloads: [shiftedClock] });
      const workload = await Workload.begin(deployment, server.port, tally, { mayBreak: false });
      const api = createApi(server.port, tally, { mayBreak: false, isCounted: false });
      const pager = await Pager.begin(api, deployment, tally);
      const short = await startServer(
        { ...deployment.settings, DEVICE_TOKEN_LIFETIME_MS: `${tokenMs}` },
        { preloads: [shiftedClock] },
      );
      const stop = new AbortController();
      const running = [workload.run(server.port, stop.signal), pager.write(stop.signal)];
      for (let step = 0; step < steps; step += 1) {
        const dead = await tokenThatExpires(deployment, short.port, tally);
        await sleep(tokenMs + 200);
        await pager.readHalf();
        await expectExpired(dead, [short.port, server.port], tally);
        for (const { pid } of [server, short]) process.kill(pid, "SIGUSR2");
        tally.faults += 1;
        await sleep(500);
        await expectExpired(dead, [short.port, server.port], tally);
        await pager.readRest();
      }
      stop.abort();
      await Promise.all(running);
      pager.checkIds();
      await workload.checkAll(server.port);
      api.close();
      for (const each of [server, short]) if ((await each.end("SIGTERM")) !== 0) tally.wrong.push("a server failed");
    },
  };
}

async function tokenThatExpires(deployment: Deployment, port: number, tally: Tally): Promise<string> {
  const api = createApi(port, tally, { isCounted: false });
  const token = await registerDevice(api, deployment);
  await api.call("GET /devices/current", { token });
  api.close();
  return token;
}

async function expectExpired(token: string, ports: readonly number[], tally: Tally): Promise<void> {
  for (const port of ports) {
    const api = createApi(port, tally, { isCounted: false });
    tally.checks += 1;
    const { status } = await api.call("GET /devices/current", { token, expected: [401] });
    if (status !== 401) tally.wrong.push("an expired token is valid again");
    api.close();
  }
}

/** A client that pages through its own check-ins, oldest first, while the clock steps back between two pages. */
class Pager {
  readonly #api: Api;
  readonly #token: string;
  readonly #tally: Tally;
  /** In the order in which they were answered. */
  readonly #written: string[] = [];
  #read: string[] = [];
  #next: string | undefined;

  static async begin(api: Api, deployment: Deployment, tally: Tally): Promise<Pager> {
    return new Pager(api, (await signUp(api, deployment, "pager")).token, tally);
  }

  constructor(api: Api, token: string, tally: Tally) {
    this.#api = api;
    this.#token = token;
    this.#tally = tally;
  }

  async write(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const body = { location: "1,2", comment: `${this.#written.length}` };
      const answer = await this.#api.call("POST /checkins", { token: this.#token, body });
      this.#written.push(answer.body.result.id);
      await sleep(10);
    }
  }

  async readHalf(): Promise<void> {
    while (this.#written.length < 20) await sleep(10);
    const half = this.#written.length / 2;
    this.#read = [];
    this.#next = undefined;
    while (this.#read.length < half) await this.#readPage();
  }

  /** Every check-in from before the step and after it is listed exactly once, in the order of creation. */
  async readRest(): Promise<void> {
    const written = [...this.#written];
    do await this.#readPage();
    while (this.#next !== undefined);
    this.#tally.checks += this.#read.length;
    const read = this.#read.slice(0, written.length);
    const missing = written.filter((id) => !this.#read.includes(id));
    if (missing.length > 0) this.#tally.lost.push(`${missing.length} of ${written.length} check-ins were on no page`);
    else if (read.join() !== written.join()) this.#tally.wrong.push("pages are not in the order of creation");
  }

  checkIds(): void {
    this.#tally.checks += this.#written.length;
    if (new Set(this.#written).size !== this.#written.length) this.#tally.wrong.push("two check-ins have one id");
    if (this.#written.toSorted().join() !== this.#written.join()) this.#tally.wrong.push("ids do not sort by creation");
  }

  async #readPage(): Promise<void> {
    const query = this.#next === undefined ? "userID=me&sortOrder=created&pageSize=5" : `pagingToken=${this.#next}`;
    const { result } = (await this.#api.call(`GET /checkins?${query}`, { token: this.#token })).body;
    for (const { id } of result.pageResults) this.#read.push(id);
    this.#next = result.nextToken;
  }
}

export const clockSteps: readonly Scenario[] = [
  clockStepsBack("clock steps back, SQLite", async () => ({})),
  clockStepsBack("clock steps back, PostgreSQL", async () => ({
    DATABASE_URL: await (await getSharedPostgres()).createDatabase(),
  })),
];
