import { setTimeout as sleep } from "node:timers/promises";
import type { Deployment } from "../testkit/deployment.ts";
import { registerDevice } from "../testkit/people.ts";
import { type Api, createApi, Unanswered } from "./api.ts";
import type { Tally } from "./tally.ts";

const calmMs = 500;
const calmCallsMin = 20;
const calmCallMsMax = 250;
const calmPatienceMs = 3_000;

/** Clients that call at a steady rate, whatever the server and the other clients do. */
export class Probes {
  readonly #tally: Tally;
  readonly #api: Api;
  readonly #token: string;
  readonly #stop = new AbortController();
  readonly #calls: Call[] = [];
  readonly #running: Promise<void>;

  /** @param port of a server that must not break any connection */
  static async begin(deployment: Deployment, port: number, tally: Tally): Promise<Probes> {
    const api = createApi(port, tally, { mayBreak: false, isCounted: false, connectionsMax: 400 });
    return new Probes(tally, api, await registerDevice(api, deployment));
  }

  constructor(tally: Tally, api: Api, token: string) {
    this.#tally = tally;
    this.#api = api;
    this.#token = token;
    this.#running = this.#run();
  }

  /**
   * Waits until calls have been answered quickly for a while: a server that runs code for the first time is slow, and so is
   * a machine that does something else. Gives up after a few seconds, on a machine that is never as fast.
   */
  async untilCalm(): Promise<void> {
    const from = performance.now();
    while (performance.now() < from + calmPatienceMs) {
      await sleep(calmMs / 10);
      const waits = this.#waitsMs(performance.now() - calmMs);
      if (waits.length > calmCallsMin && Math.max(...waits) < calmCallMsMax) return;
    }
  }

  /**
   * Milliseconds from then until every kind of call has succeeded once, counting calls that began after it. @returns
   * undefined after the timeout
   */
  async recoveryFrom(at: number, withinMs: number): Promise<number | undefined> {
    while (performance.now() < at + withinMs) {
      const firsts = kinds.map((kind) => this.#calls.find((call) => call.kind === kind && call.isGood && call.at > at));
      if (firsts.every((first) => first !== undefined)) return Math.max(...firsts.map(({ endedAt }) => endedAt)) - at;
      await sleep(5);
    }
    return undefined;
  }

  /** The calls in this time that succeeded. */
  successes(from: number, to: number): readonly Call[] {
    return this.#calls.filter(({ isGood, at, endedAt }) => isGood && at > from && endedAt < to);
  }

  /** How many calls of a kind failed in this time. */
  failures(kind: Kind, from: number, to: number): number {
    return this.#calls.filter((call) => call.kind === kind && !call.isGood && call.at > from && call.endedAt < to)
      .length;
  }

  /** How many calls failed since then. */
  failuresSince(from: number): number {
    return this.#calls.filter(({ isGood, at }) => !isGood && at > from).length;
  }

  p99Ms(from: number, to: number): number {
    const within = this.#calls.filter(({ at, endedAt }) => at > from && endedAt < to);
    const sorted = within.map(({ at, endedAt }) => endedAt - at).toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  }

  slowestMs(): number {
    return Math.max(...this.#waitsMs(0));
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#api.close();
  }

  /** Of the calls that ended since then. */
  #waitsMs(from: number): number[] {
    return this.#calls.filter(({ endedAt }) => endedAt > from).map(({ at, endedAt }) => endedAt - at);
  }

  /** Starts calls at a steady rate, whether or not earlier calls have been answered. */
  async #run(): Promise<void> {
    const open = new Set<Promise<void>>();
    for (let count = 0; !this.#stop.signal.aborted; count += 1) {
      const kind = kinds[count % kinds.length] ?? "read";
      const call = this.#ask(kind).finally(() => open.delete(call));
      open.add(call);
      await sleep(15);
    }
    await Promise.all(open);
  }

  async #ask(kind: Kind): Promise<void> {
    const at = performance.now();
    const end = (isGood: boolean) => void this.#calls.push({ kind, at, endedAt: performance.now(), isGood });
    const token = this.#token;
    try {
      if (kind === "read") await this.#api.call("GET /devices/current", { token });
      else if (kind === "health") await this.#api.call("GET /_/health/ready");
      else await this.#api.call("POST /metrics/events/probe", { token, body: {} });
      end(true);
    } catch (error) {
      end(false);
      if (!(error instanceof Unanswered)) this.#tally.wrong.push(error instanceof Error ? error.message : `${error}`);
    }
  }
}

const kinds = ["read", "write", "health"] as const;
type Kind = (typeof kinds)[number];

interface Call {
  readonly kind: Kind;
  readonly at: number;
  readonly endedAt: number;
  readonly isGood: boolean;
}
