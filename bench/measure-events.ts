import { setTimeout as delay } from "node:timers/promises";
import { startWorker, type Worker } from "../testkit/worker.ts";
import { call, password, registerDevice, signUp } from "./api.ts";
import type { StreamOrder, StreamReport } from "./client/stream-plan.ts";
import { createApplication, type Engine } from "./engine.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany, formatPercent, type Row } from "./report.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** Half of what a device and a user may have, so that a client that comes back is not refused because of its old connection. */
const streamsPerToken = 5;
const devicesPerUser = 5;
const fewStreams = 1_000;
const megabyte = 1_000_000;
const goals = {
  memoryBytes: 200 * megabyte,
  restingCores: 0.03,
  oneProcessMs: 50,
  acrossMs: 100,
  allMs: 250,
  backMs: 30_000,
  quietFactor: 2,
};
/** The clients are a thousand here and ten thousand there, so an event takes long to arrive everywhere. */
const eventMsMax = 60_000;
const cutMsMax = 120_000;
/** How many check-ins one call makes. */
const checkinsPerCall = 50;
const settleSeconds = 5;
const probeMs = 10;
const metricsToken = "token-of-the-benchmark";

type Plan = Options["events"];

interface Clients {
  readonly process: Worker<StreamOrder, StreamReport>;
  readonly tokens: readonly string[];
  readonly writer: string;
}

/** Ten thousand open streams: memory, rest, the way of an event to its readers, and their return after a cut. */
export async function measureEvents(
  engine: Engine,
  { events: plan, patienceSeconds }: Pick<Options, "events" | "patienceSeconds">,
  report: (progress: string) => void,
): Promise<Row[]> {
  const deployment = await engine.newDeployment();
  const credentials = await createApplication(deployment);
  const settings = {
    ...deployment.settings,
    METRICS_TOKEN: metricsToken,
    STREAMS_MAX: `${2 * plan.streams}`, // an application may have half of them
    PASSWORD_HASH_MEMORY_KIB: "8", // the users of a benchmark need no costly hashes
    PASSWORD_HASH_PASSES: "1",
  };
  const server = await startServer(settings);
  const other = await startServer(settings);
  const clients = await prepare(server, credentials, plan);
  const quietToken = await registerDevice(server.port, await createApplication(deployment), "quiet");
  const rows: Row[] = [];
  const add = (row: Row) => {
    rows.push(row);
    report(`${row.name}: ${row.measured}${row.p99Ms === undefined ? "" : `, p99 ${row.p99Ms.toFixed(0)} ms`}`);
  };
  const few = Math.min(fewStreams, plan.streams);
  const fewName = `event to ${formatMany(few)} streams`;

  await untilQuiet(patienceSeconds);
  await openStreams(clients, server, { count: few });
  await tell(clients, server, 5); // warms both sides up
  await untilQuiet(patienceSeconds);
  add(await measureArrival(fewName, server, () => tell(clients, server, plan.events), goals.oneProcessMs));
  await untilQuiet(patienceSeconds);
  const acrossName = `${fewName}, of another process`;
  add(await measureArrival(acrossName, server, () => tell(clients, other, plan.events), goals.acrossMs));
  await clients.process.ask({ kind: "close" });

  const fresh = await startServer(settings);
  await openStreams(clients, fresh, { count: streamsPerToken }); // its code is loaded then
  await tell(clients, fresh, 1);
  await delay(settleSeconds * 1_000);
  const before = fresh.residentBytes();
  const restBefore = await rest(fresh, engine, plan);
  const opened = await openStreams(clients, fresh, { count: plan.streams - streamsPerToken, firstToken: 1 });
  await delay(settleSeconds * 1_000);
  const bytes = fresh.residentBytes() - before;
  const all = formatMany(plan.streams);
  add({
    name: `${all} streams, memory`,
    measured: `+${(bytes / megabyte).toFixed(0)} MB`,
    against: `${(before / megabyte).toFixed(0)} MB before; opened in ${(opened.tookMs / 1_000).toFixed(1)} s`,
    goal: { text: `≤ +${goals.memoryBytes / megabyte} MB`, isMet: bytes <= goals.memoryBytes },
    details: { before, bytes, openedInMs: opened.tookMs, streams: plan.streams },
  });
  const restAfter = await rest(fresh, engine, plan);
  const cores = restAfter.cores - restBefore.cores;
  const ofEngine = restAfter.ofEngine - restBefore.ofEngine;
  add({
    name: `${all} streams, at rest`,
    measured: `+${formatTenths(cores)} of a core`,
    against: `${formatTenths(restBefore.cores)} before${restAfter.ofEngine > 0 ? `; the database +${formatTenths(ofEngine)}` : ""}`,
    goal: { text: `≤ +${formatPercent(goals.restingCores)}`, isMet: cores <= goals.restingCores },
    details: { before: restBefore, after: restAfter },
  });
  await untilQuiet(patienceSeconds);
  const allName = `event to ${all} streams`;
  add(await measureArrival(allName, fresh, () => tell(clients, fresh, plan.eventsToAll), goals.allMs));
  await untilQuiet(patienceSeconds);
  add(await cutAll(clients, fresh, `${all} streams cut at once`));
  await untilQuiet(patienceSeconds);
  for (const row of await missEvents({ clients, server: fresh, quietToken, plan })) add(row);

  await clients.process.end();
  for (const each of [server, other, fresh]) await each.stop();
  return rows;
}

async function prepare({ port }: ServerProcess, credentials: object, { streams }: Plan): Promise<Clients> {
  const users = Math.ceil(streams / streamsPerToken / devicesPerUser);
  const tokens: string[] = [];
  let writer = "";
  for (let user = 0; user < users; user += 1) {
    const username = `listener-${user}`;
    for (let device = 0; device < devicesPerUser; device += 1) {
      const deviceToken = await registerDevice(port, credentials, `${username}-${device}`);
      if (device === 0) tokens.push((await signUp(port, deviceToken, username)).token);
      else {
        const { body } = await call(port, "POST", "/users/login", deviceToken, { username, password });
        tokens.push(body.result.accessToken);
      }
    }
  }
  writer = (await signUp(port, await registerDevice(port, credentials, "writer"), "writer")).token;
  return { process: startWorker(import.meta.resolve("./client/streams.ts"), {}), tokens, writer };
}

/** Opens streams with tokens from a given one on. */
async function openStreams(
  { process, tokens }: Clients,
  { port }: ServerProcess,
  { count, firstToken = 0 }: { readonly count: number; readonly firstToken?: number },
): Promise<StreamReport> {
  const used = tokens.slice(firstToken, firstToken + count / streamsPerToken);
  const report = await process.ask({ kind: "open", port, tokens: used, perToken: streamsPerToken });
  if (report.refusals > 0) throw new Error(`${report.refusals} streams were refused`);
  return report;
}

/** Writes events one after the other, each when all streams have received the one before. */
async function tell({ process, writer }: Clients, { port }: ServerProcess, count: number): Promise<StreamReport> {
  await process.ask({ kind: "reset" });
  let report: StreamReport | undefined;
  for (let events = 1; events <= count; events += 1) {
    const body = { location: "48.2082,16.3738", comment: `Coffee with a view ${events}`, readPermissions: "App" };
    await call(port, "POST", "/checkins", writer, body);
    report = await process.ask({ kind: "received", events, msMax: eventMsMax });
    if (report.complete < report.ready) throw new Error(`${report.ready - report.complete} streams missed an event`);
  }
  if (report === undefined) throw new Error("no event was written");
  return report;
}

/** @param telling the process with the streams, which measures its own part */
async function measureArrival(
  name: string,
  telling: ServerProcess,
  work: () => Promise<StreamReport>,
  goalMs: number,
): Promise<Row> {
  const before = await readTold(telling);
  const { latencies, ready } = await work();
  const told = (await readTold(telling)).map(({ ms, count }, index) => ({
    ms,
    count: count - (before[index]?.count ?? 0),
  }));
  const toldMs = told.find(({ count }) => count >= 0.99 * (told.at(-1)?.count ?? 0))?.ms ?? Number.NaN;
  const p99Ms = percentile(latencies, 0.99);
  return {
    name,
    measured: `${formatMany(latencies.length)} arrivals`,
    p50Ms: percentile(latencies, 0.5),
    p99Ms,
    against: `handed over: p99 ≤ ${toldMs} ms`,
    goal: { text: `p99 ≤ ${goalMs} ms`, isMet: toldMs <= goalMs },
    details: { streams: ready, arrivals: latencies.length, maxMs: latencies.at(-1), told },
  };
}

/** From the write of events to their connections, as the server counts them: how many took at most so long. */
async function readTold({ port }: ServerProcess): Promise<readonly { readonly ms: number; readonly count: number }[]> {
  const headers = { authorization: `Bearer ${metricsToken}` };
  const text = await (await fetch(`http://127.0.0.1:${port}/_/prometheus`, { headers })).text();
  const buckets = [...text.matchAll(/^rollcall_event_told_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)];
  return buckets.map(([, bound, count]) => ({
    ms: Number(bound?.replace("+Inf", "Infinity")) * 1_000,
    count: Number(count),
  }));
}

function percentile(rising: readonly number[], share: number): number {
  return rising[Math.min(rising.length - 1, Math.floor(rising.length * share))] ?? Number.NaN;
}

/** The share of a core that the server and the database take without calls: heartbeats are all that is sent, and polls all that is read. */
async function rest(
  server: ServerProcess,
  engine: Engine,
  { restSeconds }: Plan,
): Promise<{ readonly cores: number; readonly ofEngine: number }> {
  const before = { server: server.cpuSeconds(), engine: engine.cpuSeconds() };
  const startedAt = performance.now();
  await delay(restSeconds * 1_000);
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    cores: (server.cpuSeconds() - before.server) / seconds,
    ofEngine: (engine.cpuSeconds() - before.engine) / seconds,
  };
}

function formatTenths(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** All come back with their cursors, and receive what was written meanwhile. */
async function cutAll({ process, writer }: Clients, { port }: ServerProcess, name: string): Promise<Row> {
  await process.ask({ kind: "reset" });
  const cut = process.ask({ kind: "cut", msMax: cutMsMax });
  await delay(500); // the shortest time after which a client comes back is a second
  await call(port, "POST", "/checkins", writer, { location: "1,2", readPermissions: "App" });
  const { tookMs, ready, refusals } = await cut;
  const { complete } = await process.ask({ kind: "received", events: 1, msMax: eventMsMax });
  return {
    name,
    measured: `back in ${(tookMs / 1_000).toFixed(1)} s`,
    against: `${formatMany(ready)} back, ${formatMany(complete)} with the event, ${formatMany(refusals)} refusals`,
    goal: { text: `≤ ${goals.backMs / 1_000} s`, isMet: tookMs <= goals.backMs && complete === ready },
    details: { tookMs, ready, complete, refusals },
  };
}

/** All come back to a log of events of another user, while another application makes a few calls. */
async function missEvents({
  clients: { process, writer },
  server: { port },
  quietToken,
  plan,
}: {
  readonly clients: Clients;
  readonly server: ServerProcess;
  readonly quietToken: string;
  readonly plan: Plan;
}): Promise<Row[]> {
  const probe = () => startProbe(() => call(port, "GET", "/devices/current", quietToken));
  await process.ask({ kind: "reset" });
  await process.ask({ kind: "leave" });
  const request = { method: "POST", path: "/checkins", parameters: { location: "1,2" } };
  const requests = Array.from({ length: checkinsPerCall }, () => request);
  for (let events = 0; events < plan.missedEvents; events += checkinsPerCall) {
    await call(port, "POST", "/batch", writer, { requests });
  }
  await call(port, "POST", "/checkins", writer, { location: "1,2", readPermissions: "App" });
  const alone = probe();
  await delay(settleSeconds * 1_000);
  const alonePercentiles = await alone.end();
  const beside = probe();
  const { tookMs, complete, refusals } = await process.ask({ kind: "return", events: 1, msMax: cutMsMax });
  const besidePercentiles = await beside.end();
  const [all, missed] = [formatMany(plan.streams), formatMany(plan.missedEvents)];
  return [
    {
      name: `${all} streams that missed ${missed} events`,
      measured: `back in ${(tookMs / 1_000).toFixed(1)} s`,
      against: `${formatMany(complete)} back with their event, ${formatMany(refusals)} refusals`,
      goal: { text: `≤ ${goals.backMs / 1_000} s`, isMet: tookMs <= goals.backMs && complete === plan.streams },
      details: { tookMs, complete, refusals },
    },
    {
      name: "a quiet application meanwhile",
      measured: `${formatMany(besidePercentiles.count)} calls`,
      p50Ms: besidePercentiles.p50Ms,
      p99Ms: besidePercentiles.p99Ms,
      against: `p99 ${alonePercentiles.p99Ms.toFixed(1)} ms before`,
      goal: {
        text: `p99 ≤ × ${goals.quietFactor}`,
        isMet: besidePercentiles.p99Ms <= goals.quietFactor * alonePercentiles.p99Ms,
      },
      details: { alone: alonePercentiles, beside: besidePercentiles },
    },
  ];
}

interface Percentiles {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Calls at a steady rate, whether or not earlier calls have been answered. */
function startProbe(ask: () => Promise<unknown>): { end(): Promise<Percentiles> } {
  const calls: Promise<number>[] = [];
  const timer = setInterval(() => {
    const startedAt = performance.now();
    calls.push(ask().then(() => performance.now() - startedAt));
  }, probeMs);
  return {
    async end() {
      clearInterval(timer);
      const rising = (await Promise.all(calls)).toSorted((a, b) => a - b);
      return { count: rising.length, p50Ms: percentile(rising, 0.5), p99Ms: percentile(rising, 0.99) };
    },
  };
}
