import { setTimeout as sleep } from "node:timers/promises";
import { type Api, type ApiOptions, createApi, Unanswered, untilAnswered } from "../../faults/api.ts";
import { Ledger, Register } from "../../faults/ledger.ts";
import { createTally, type Tally } from "../../faults/tally.ts";
import { Workload } from "../../faults/workload.ts";
import { registerDevice } from "../../testkit/people.ts";
import type { Region } from "./region.ts";

/** Clients of both regions, and the promises that they received. */
export interface Load {
  /** Calls until the signal. */
  run(signal: AbortSignal): Promise<void>;
  /** Verifies every promise. */
  check(): Promise<void>;
}

/** A broken connection is a failure, because only responses may report that a call was not applied. */
const options: ApiOptions = { isSecure: true, mayBreak: false };
const readersPerRegion = 4;
/**
 * The time that a client waits before it retries: far less than Retry-After, so that there are many calls in an outage.
 */
const pauseMs = 20;

/** Clients that write to each region, that only read, and that register at main for an application of the other region. */
export async function beginLoad([main, other]: readonly [Region, Region], tally: Tally): Promise<Load> {
  const workloads: { workload: Workload; port: number }[] = [];
  for (const { deployment, proxy } of [main, other]) {
    workloads.push({ workload: await Workload.begin(deployment, proxy.port, tally, options), port: proxy.port });
  }
  const registrations = new Registrations(main, other, tally);
  const reads = createTally();
  return {
    async run(signal) {
      await Promise.all([
        ...workloads.map(({ workload, port }) => workload.run(port, signal)),
        registrations.run(signal),
        ...[main, other].map((region) => read(region, reads, signal)),
      ]);
      tally.wrong.push(...reads.wrong);
      tally.remarks.push(
        `${reads.unavailable} of ${reads.sent.toLocaleString("en-US")} reads refused`,
        `${registrations.count} registrations across regions`,
      );
    },
    async check() {
      for (const { workload, port } of workloads) await workload.checkAll(port);
      await registrations.check();
    },
  };
}

/** Registers devices at main, whose region passes the call on to the region of the application. */
class Registrations {
  readonly #main: Region;
  readonly #other: Region;
  readonly #tally: Tally;
  readonly #ledger: Ledger;
  count = 0;

  constructor(main: Region, other: Region, tally: Tally) {
    this.#main = main;
    this.#other = other;
    this.#tally = tally;
    this.#ledger = new Ledger(tally);
  }

  async run(signal: AbortSignal): Promise<void> {
    const api = createApi(this.#main.proxy.port, this.#tally, options);
    await repeat(this.#tally, signal, async () => {
      const token = await registerDevice(api, this.#other.deployment);
      const register = new Register(this.#ledger, `device ${this.count} of another region`, "absent", (api) =>
        readDevice(api, token),
      );
      await register.write("registered", async () => ({
        status: 201,
        headers: {},
        bytes: Buffer.of(),
        text: "",
        body: {},
      }));
      this.count += 1;
    });
    api.close();
  }

  async check(): Promise<void> {
    const api = createApi(this.#other.proxy.port, this.#tally, { ...options, isCounted: false });
    await this.#ledger.checkAll(api);
    api.close();
  }
}

async function readDevice(api: Api, token: string): Promise<string> {
  const { status } = await api.call("GET /devices/current", { token, expected: [401, 404] });
  return status === 200 ? "registered" : "absent";
}

async function read({ deployment, proxy }: Region, tally: Tally, signal: AbortSignal): Promise<void> {
  const api = createApi(proxy.port, tally, options);
  const token = await untilAnswered(() => registerDevice(api, deployment));
  const readOnce = async () => void (await api.call("GET /devices/current", { token }));
  await Promise.all(Array.from({ length: readersPerRegion }, () => repeat(tally, signal, readOnce)));
  api.close();
}

/** Repeats the work until the signal, and waits for a moment after a refusal. */
async function repeat(tally: Tally, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Unanswered)) tally.wrong.push(error instanceof Error ? error.message : `${error}`);
      if (!signal.aborted) await sleep(pauseMs);
    }
  }
}
