import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Deployment } from "../testkit/deployment.ts";
import { signUp } from "../testkit/people.ts";
import { type Api, type ApiOptions, createApi, Unanswered, untilAnswered } from "./api.ts";
import { Ledger } from "./ledger.ts";
import type { Tally } from "./tally.ts";
import type { Sequence, Work, Writer } from "./writer.ts";
import { writeAccounts } from "./writers/accounts.ts";
import { writeAtomicBatches, writeSequentialBatches } from "./writers/batches.ts";
import { writeCheckins, writeCheckinsOnce } from "./writers/checkins.ts";
import { writeDevices } from "./writers/devices.ts";
import { writeWithEvents } from "./writers/events.ts";
import { writeFiles } from "./writers/files.ts";
import { writeIdentities } from "./writers/identities.ts";
import { increment, writeKeys, writeSets } from "./writers/metadata.ts";
import { writeMetrics } from "./writers/metrics.ts";
import { writeUploads } from "./writers/uploads.ts";

/** One client for each kind of write. */
const writers: readonly Writer[] = [
  writeAccounts,
  writeAtomicBatches,
  writeSequentialBatches,
  writeCheckins,
  writeCheckins,
  writeCheckinsOnce,
  writeDevices,
  writeWithEvents,
  writeFiles,
  writeIdentities,
  increment,
  writeKeys,
  writeSets,
  writeMetrics,
  writeUploads,
];

/** The time that a client waits before it retries. */
const pauseMs = 20;

/** Clients that write concurrently, and the promises that they received. */
export class Workload {
  readonly #tally: Tally;
  readonly #ledger: Ledger;
  readonly #sequences: readonly Sequence[];
  readonly #options: ApiOptions;

  /** Registers a device and signs a user up for each client. */
  static async begin(deployment: Deployment, port: number, tally: Tally, options: ApiOptions = {}): Promise<Workload> {
    const api = createApi(port, tally, { ...options, isCounted: false });
    const ledger = new Ledger(tally);
    const run = randomBytes(3).toString("hex");
    let names = 0;
    const work: Work = {
      application: deployment.application,
      operatorToken: await untilAnswered(() => signInOperator(api, deployment)),
      ledger,
      newName() {
        names += 1;
        return `${run}-${names}`;
      },
    };
    const sequences: Sequence[] = [];
    for (const writer of writers)
      sequences.push(writer(work, await untilAnswered(() => signUp(api, work, work.newName()))));
    api.close();
    return new Workload(tally, ledger, sequences, options);
  }

  constructor(tally: Tally, ledger: Ledger, sequences: readonly Sequence[], options: ApiOptions) {
    this.#tally = tally;
    this.#ledger = ledger;
    this.#sequences = sequences;
    this.#options = options;
  }

  /** Writes until the signal; waits for a moment after an unanswered call. */
  async run(port: number, signal: AbortSignal): Promise<void> {
    const api = createApi(port, this.#tally, this.#options);
    await Promise.all(this.#sequences.map((sequence) => this.#repeat(sequence, api, signal)));
    api.close();
  }

  /** Verifies the writes since the last verification. */
  check(port: number): Promise<void> {
    return this.#verify(port, (api) => this.#ledger.check(api));
  }

  checkAll(port: number): Promise<void> {
    return this.#verify(port, (api) => this.#ledger.checkAll(api));
  }

  async #repeat(sequence: Sequence, api: Api, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await sequence(api);
      } catch (error) {
        if (!(error instanceof Unanswered)) this.#tally.wrong.push(error instanceof Error ? error.message : `${error}`);
        if (!signal.aborted) await sleep(pauseMs);
      }
    }
  }

  async #verify(port: number, work: (api: Api) => Promise<void>): Promise<void> {
    const api = createApi(port, this.#tally, { ...this.#options, isCounted: false });
    await work(api);
    api.close();
  }
}

async function signInOperator(api: Api, { operator }: Deployment): Promise<string> {
  const { body } = await api.call("POST /_/api/sessions", { body: operator });
  return body.result.token;
}
