import { setTimeout as delay } from "node:timers/promises";
import { loadConfig } from "../server/src/config/config.ts";
import type { Database } from "../server/src/db/database.ts";
import { openDatabase } from "../server/src/db/open.ts";
import { createClock } from "../server/src/lib/clock.ts";
import { createIdGenerator } from "../server/src/lib/ids.ts";
import { compactBatch } from "../server/src/metrics/engine/compaction.ts";
import { insertInboxRow, writePayload } from "../server/src/metrics/engine/inbox.store.ts";
import { call } from "./api.ts";
import { createApplication, createOperator } from "./engine.ts";
import type { Fixture } from "./fixture.ts";
import { runLoad } from "./load.ts";
import { numberMark } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany, type Row } from "./report.ts";
import { columnsOf, type Measure, median, repeat } from "./turns.ts";

const dayMs = 86_400_000;
const eventsPerCall = 1_000;
const perSecondGoal = 60_000;
const queryMsGoal = 1_000;
const keys = Array.from({ length: 10 }, (_, index) => `key-${index}`);
const worlds = Array.from({ length: 20 }, (_, index) => `world ${index}`);

/** Stores events a thousand at a time, then reads charts of many events. */
export const measureMetrics: Measure = async (fixture, options, report) => {
  const { databaseUrl } = loadConfig(fixture.deployment.settings);
  const operator = await createOperator(fixture.deployment);
  const { token } = (await call(fixture.server.port, "POST", "/_/api/sessions", undefined, operator)).body.result;
  const database = await openDatabase(databaseUrl, { connectionsMax: 4, timeoutMs: 60_000 });
  try {
    const rows = [await measureBulk(fixture, database, options, report)];
    for (const count of options.eventCounts)
      rows.push(...(await measureCharts(count, fixture, { token, database }, options, report)));
    return rows;
  } finally {
    await database.close();
  }
};

async function measureBulk(
  fixture: Fixture,
  database: Database,
  options: Options,
  report: (line: string) => void,
): Promise<Row> {
  const { server, writer } = fixture;
  const { connections, seconds } = options;
  const request = { method: "POST", path: "/metrics/events", token: writer.token } as const;
  const plan = { port: server.port, status: 201, seconds };
  async function measure() {
    const cpuBefore = server.cpuSeconds();
    const load = await runLoad({
      ...plan,
      request: { ...request, body: bulkBody() },
      connections: Math.min(connections, 16),
    });
    const drainMs = await untilCompacted(database);
    return { ...load, drainMs, cpuMicros: ((server.cpuSeconds() - cpuBefore) / (load.requests * eventsPerCall)) * 1e6 };
  }
  const loads = await repeat(options, measure, ({ perSecond, drainMs }) =>
    report(`${formatMany(perSecond * eventsPerCall)} events/s, compacted ${drainMs.toFixed(0)} ms later`),
  );
  const perSecond = median(loads.map((load) => load.perSecond)) * eventsPerCall;
  return {
    name: "POST /metrics/events, 1,000",
    measured: `${formatMany(perSecond)} events/s`,
    ...columnsOf(loads),
    against: `compacted ${median(loads.map(({ drainMs }) => drainMs)).toFixed(0)} ms later`,
    ...(fixture.engine.name === "SQLite" && {
      goal: { text: `≥ ${formatMany(perSecondGoal)} events/s`, isMet: perSecond >= perSecondGoal },
    }),
    details: { eventsPerCall, loads },
  };
}

/** The events of a device in an hour. */
function bulkBody(): string {
  const now = Date.now();
  const events = Array.from({ length: eventsPerCall }, (_, index) => ({
    key: keys[index % keys.length],
    timestamp: now - index * 3_600,
    values: { duration: (index * 7_919) % 10_007, world: worlds[(index >> 3) % worlds.length] },
  }));
  return JSON.stringify({ sentAt: now, tag: numberMark, events });
}

/** The time until fewer events wait than compaction takes at a time. */
async function untilCompacted(database: Database): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const rows = await database.reads.selectFrom("metric_inbox").select("id").limit(30).execute();
    if (rows.length < 25) return performance.now() - startedAt;
    await delay(20);
  }
}

async function measureCharts(
  count: number,
  fixture: Fixture,
  { token, database }: { readonly token: string; readonly database: Database },
  options: Options,
  report: (line: string) => void,
): Promise<Row[]> {
  const { server } = fixture;
  const { appid } = await createApplication(fixture.deployment);
  const clock = createClock();
  const ids = createIdGenerator(() => clock.now());
  const compactingMs = await fillEvents(appid, count, database, { clock, ids });
  report(`${formatMany(count)} events are stored, compacted in ${(compactingMs / 1000).toFixed(1)} s`);

  const from = Date.now() - 90 * dayMs;
  const charts = [
    { name: "90 days", query: `from=${from}&interval=day` },
    { name: "90 days by world", query: `from=${from}&interval=day&groupBy=world&value=duration` },
    { name: "83 days by hour", query: `from=${Date.now() - 83 * dayMs}&interval=hour` },
  ];
  const rows: Row[] = [];
  for (const { name, query } of charts) {
    await untilQuiet(options.patienceSeconds);
    const path = `/_/api/applications/${appid}/metrics/${keys[0]}?${query}`;
    const request = { method: "GET", path, token } as const;
    const plan = { port: server.port, request, status: 200, connections: 1 };
    const load = await runLoad({ ...plan, seconds: Math.max(1, options.seconds) }, "own");
    report(`${name} of ${formatMany(count)}: ${load.p50Ms.toFixed(1)} ms`);
    rows.push({
      name: `metrics, ${name}, ${formatMany(count)}`,
      measured: `${load.p50Ms.toFixed(1)} ms`,
      p50Ms: load.p50Ms,
      p99Ms: load.p99Ms,
      against: `compacted in ${(compactingMs / 1000).toFixed(1)} s`,
      goal: { text: `p99 ≤ ${queryMsGoal} ms`, isMet: load.p99Ms <= queryMsGoal },
      details: { events: count, compactingMs, load },
    });
  }
  return rows;
}

/**
 * Writes events evenly over 90 days into the inbox, and compacts them as the server does. @returns the time of the
 * compaction
 */
async function fillEvents(
  applicationId: string,
  count: number,
  database: Database,
  services: { readonly clock: ReturnType<typeof createClock>; readonly ids: ReturnType<typeof createIdGenerator> },
): Promise<number> {
  const startAt = Date.now() - 90 * dayMs;
  const spacingMs = (90 * dayMs) / count;
  let compactingMs = 0;
  for (let done = 0; done < count; ) {
    for (let call = 0; call < 100 && done < count; call += 1) {
      const first = done;
      const events = Array.from({ length: Math.min(eventsPerCall, count - done) }, (_, index) => {
        const number = first + index;
        const world = worlds[Math.floor(Math.random() * worlds.length)] ?? "";
        const at = Math.floor(startAt + number * spacingMs);
        return [keys[number % keys.length] ?? "", at, "duration", Math.random() * 1_000, "world", world] as const;
      });
      done += events.length;
      const payload = writePayload({ device: pseudonym(20_000), user: pseudonym(10_000), events });
      const row = {
        application_id: applicationId,
        id: services.ids.newId("MetricEvent"),
        received_at: startAt,
        payload,
      };
      await database.write(({ queries }) => insertInboxRow(row, queries));
    }
    const before = performance.now();
    while ((await compactBatch(applicationId, { database, ...services })) !== 0);
    compactingMs += performance.now() - before;
  }
  return compactingMs;
}

/** A random value out of this many. */
function pseudonym(count: number): string {
  const number = BigInt(Math.floor(Math.random() * count)) * 0x9e3779b97f4a7c15n;
  return BigInt.asUintN(64, number ^ (number >> 29n))
    .toString(16)
    .padStart(16, "0");
}
