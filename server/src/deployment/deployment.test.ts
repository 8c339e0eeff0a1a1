import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { send, startTestApp, type TestApp } from "../../test/harness.ts";
import { build } from "../config/version.ts";
import { putBackup } from "../db/deployment-facts.ts";
import { durationBounds } from "../lib/histogram.ts";
import { listReports, saveReport } from "./deployment.processes.store.ts";
import { findWarnings } from "./deployment.warnings.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { createRecentIncrease } from "./own-reports.ts";
import type { ProcessReport, ReportingProcess } from "./process-report.ts";
import { type WarningCode, warningCodes } from "./warning-codes.ts";

const password = "a-password-in-a-url";
let test: TestApp;
let viewer: string;
before(async () => {
  const secrets = { SMTP_URL: `smtp://mail:${password}@127.0.0.1:1`, METRICS_TOKEN: "a-token-for-scrapes" };
  test = await startTestApp({ ...secrets, TRUST_PROXY: "loopback", AUDIT_DAYS: "30" });
  viewer = (await test.createOperator(undefined, "viewer")).token;
});
after(() => test.close());
afterEach(() => test.app.database.write(({ queries }) => queries.deleteFrom("server_processes").execute()));

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

interface Shown {
  readonly state: string;
  readonly warnings: readonly { readonly code: WarningCode; readonly text: string; readonly since?: string }[];
  readonly since: string;
  readonly processes: readonly Record<string, unknown>[];
  readonly queues: Record<string, number>;
  readonly [member: string]: unknown;
}

async function read(): Promise<Shown> {
  const { status, body } = await test.call("GET /_/api/deployment", { token: viewer });
  assert.equal(status, 200, JSON.stringify(body));
  return body.result;
}

const queues = { passwords: 0, pictures: 0, transactions: 0, background: 0, events: 0, audit: 0 };

/** A process without a reason for a warning. */
function processOf(changes: Partial<ReportingProcess> = {}, report: Partial<ProcessReport> = {}): ReportingProcess {
  const now = test.now();
  const well: ProcessReport = {
    ...{ cpu: 0.1, memoryBytes: 1e8, loopDelayMs: 2, connections: 3, requests: 1, queues },
    databaseConnections: { inUse: 1, max: 10 },
    statements: durationBounds.map(() => 100),
    ...{ refused: 0, signInWaits: 0, disk: { freeBytes: 50e9, diskBytes: 100e9 }, maintainedAt: now - minute },
    ...{ regionsAway: [], writesMailsToFiles: false, since: {} },
  };
  return {
    ...{ id: "other", machine: "far.example.org", worker: 1, version: build },
    ...{ startedAt: now - 30 * minute, heardAt: now, ...changes },
    report: { ...well, statements: [1_000, ...well.statements.map(() => 0)], ...report },
  };
}

function save(...processes: readonly ReportingProcess[]): Promise<void> {
  return test.app.database.write(async ({ queries }) => {
    for (const process of processes) await saveReport(process, queries);
  });
}

/** A histogram of statements, of which this share took from half a second to a second. */
function slowStatements(share: number): number[] {
  return [1_000 * (1 - share), ...durationBounds.slice(1).map((bound) => (bound === 1 ? 1_000 * share : 0)), 0];
}

describe("GET /_/api/deployment", () => {
  // spec/deployment#state-of-a-deployment
  it("reports the releases, the queues and the stored data to every role", async () => {
    const { state, warnings, processes, storage, node, engine, schema, region, settings, ...others } = await read();
    assert.ok(["well", "attention", "broken"].includes(state)); // the disk of this machine may be full
    assert.deepEqual(
      warnings.filter(({ code }) => code !== "diskLow"),
      [],
    );
    assert.deepEqual([node, region], [process.version, "main"]);
    assert.match(`${engine} ${schema}`, /^(sqlite|postgresql) \d{4}-[a-z-]+$/);
    assert.equal(processes.length, 1);
    const [{ machine, cpu, memoryBytes, connections, requests, isSilent } = {}] = processes;
    assert.ok(typeof machine === "string" && machine !== "");
    assert.ok(typeof cpu === "number" && typeof memoryBytes === "number" && memoryBytes > 1e6);
    assert.ok(typeof connections === "number" && connections >= 1 && requests === 1, "this call is in progress");
    assert.equal(isSilent, false);
    assert.ok(Object.values(others.queues).every((count) => count >= 0));
    const { databaseBytes, freeBytes, diskBytes, ...stored } = storage as Record<string, number>;
    assert.ok(Number(databaseBytes) > 10_000 && Number(diskBytes) >= Number(freeBytes));
    assert.deepEqual(stored, { files: 0, bytes: 0, orphanedObjects: { count: 0, isMore: false } });
    assert.ok(Array.isArray(settings));
  });

  // spec/deployment#shown-settings
  it("shows the settings that differ from their defaults, and no secret", async () => {
    const settings = (await read())["settings"] as { name: string; value: string; about: string }[];
    const shownValue = (name: string) => settings.find((each) => each.name === name)?.value;
    assert.deepEqual(["AUDIT_DAYS", "SMTP_URL", "METRICS_TOKEN", "ROLLCALL_SECRET", "PAGE_ITEMS_MAX"].map(shownValue), [
      "30",
      "set",
      "set",
      "set",
      undefined,
    ]);
    assert.equal(settings.find(({ name }) => name === "AUDIT_DAYS")?.about, "How long the audit log is kept.");
    const text = JSON.stringify(settings);
    for (const secret of [password, "a-token-for-scrapes", "a secret for tests"]) assert.ok(!text.includes(secret));
  });

  // spec/deployment#state-of-a-deployment
  it("contains the newest backup, if there is one", async () => {
    assert.equal((await read())["backup"], undefined);
    const backup = { at: test.now() - day, bytes: 12_345, isWithoutFiles: true };
    await test.app.database.write(({ queries }) => putBackup(backup, queries));
    const { at, ...others } = backup;
    assert.deepEqual((await read())["backup"], { created: `/Date(${at})/`, ...others });
  });

  // spec/deployment#processes-of-a-deployment
  it("sums the processes of the last 30 seconds, and shows silent processes for five minutes", async () => {
    const at = (ms: number) => ({ id: `${ms}`, worker: ms, heardAt: test.now() - ms });
    const waiting = { queues: { ...queues, pictures: 7 } };
    await save(...[0, 29_000, 31_000, 299_000, 301_000].map((ms) => processOf(at(ms), waiting)));
    await save(processOf({ id: "ended", worker: 5 }, { ...waiting, hasEnded: true }));
    const { processes, queues: sums, since } = await read();
    assert.deepEqual(
      processes
        .filter(({ machine }) => machine === "far.example.org")
        .map(({ worker, isSilent }) => [worker, isSilent]),
      [
        [0, false],
        [29_000, false],
        [31_000, true],
        [299_000, true],
      ],
    );
    assert.equal(sums["pictures"], 14);
    assert.equal(since, `/Date(${test.now() - 30 * minute})/`);
  });
});

// spec/deployment#jobs-of-a-process
describe("the jobs of a process", () => {
  it("are listed with their last runs, also those of other processes", async () => {
    const finishedAt = test.now() - minute;
    const jobs = [
      { name: "maintenance", finishedAt, ms: 12, failures: 0 },
      { name: "mails", failures: 0 },
    ];
    await save(processOf({}, { jobs }), processOf({ id: "older", machine: "older" }));
    const { processes } = await read();
    const jobsOf = (name: string) => processes.find(({ machine }) => machine === name)?.["jobs"];
    assert.deepEqual(jobsOf("far.example.org"), [
      { name: "maintenance", finished: `/Date(${finishedAt})/`, durationMs: 12, failures: 0 },
      { name: "mails", failures: 0 },
    ]);
    assert.deepEqual(jobsOf("older"), []);
  });

  it("have the time and the number of their failures, of which the first in a row is logged", async () => {
    let isBroken = true;
    const job = test.app.jobs.start({
      name: "a test",
      everyMs: 5,
      failure: "the test has failed",
      run: () => (isBroken ? Promise.reject(new Error("on purpose")) : Promise.resolve()),
    });
    const own = async () => {
      const jobs = (await read()).processes.flatMap(({ jobs: each }) => each as Record<string, unknown>[]);
      return jobs.find(({ name }) => name === "a test");
    };
    while (Number((await own())?.["failures"]) < 3) await new Promise(setImmediate);
    isBroken = false;
    while ((await own())?.["finished"] === undefined) await new Promise(setImmediate);
    await job.stop();
    const { failed, finished, failures } = (await own()) ?? {};
    assert.deepEqual([failed, finished], [`/Date(${test.now()})/`, `/Date(${test.now()})/`]);
    assert.equal(test.logLines.filter(({ msg }) => msg === "the test has failed").length, 1);
    assert.ok(Number(failures) >= 3);
  });
});

describe("the warnings of a deployment", () => {
  /** By code: reports that are a reason for the warning, and reports that are barely not. */
  const cases: Readonly<Record<WarningCode, () => readonly (readonly ReportingProcess[])[]>> = {
    databaseAway: () => both({ databaseAwayAt: test.now() - minute + 1 }, { databaseAwayAt: test.now() - minute }),
    databaseSlow: () => both({ statements: slowStatements(0.06) }, { statements: slowStatements(0.04) }),
    diskLow: () =>
      both({ disk: { freeBytes: 9e9, diskBytes: 100e9 } }, { disk: { freeBytes: 10e9, diskBytes: 100e9 } }),
    loopLate: () => both({ loopDelayMs: 201 }, { loopDelayMs: 200 }),
    queueFull: () => both({ refused: 1 }, {}),
    backlog: () => both({ queues: { ...queues, events: 300_000 } }, { queues: { ...queues, events: 299_999 } }),
    maintenanceLate: () =>
      both({ maintainedAt: test.now() - 10 * minute }, { maintainedAt: test.now() - 10 * minute + 1 }),
    auditLost: () => both({ auditLostAt: test.now() - hour + 1 }, { auditLostAt: test.now() - hour }),
    logLost: () => both({ logLostAt: test.now() - hour + 1 }, { logLostAt: test.now() - hour }),
    certificateEnds: () =>
      both({ certificateEnds: test.now() + 14 * day - 1 }, { certificateEnds: test.now() + 14 * day }),
    mailToFiles: () => both({ writesMailsToFiles: true }, {}),
    publicUrlMissing: () => both({ lacksPublicUrl: true }, { lacksPublicUrl: false }),
    clearTransport: () => both({ clearAt: test.now() - hour + 1 }, { clearAt: test.now() - hour }),
    mixedVersions: () => {
      const since = (ms: number) => processOf({ id: "newer", version: "10.0.0", startedAt: test.now() - ms });
      const old = processOf({ startedAt: test.now() - day });
      return [
        [old, since(hour + 1)],
        [old, since(hour)],
      ];
    },
    secretsDiffer: () => {
      const sealing = processOf({}, { secrets: ["new", "old"], sealsWith: "old" });
      const other = (secrets: readonly string[]) => processOf({ id: "b" }, { secrets, sealsWith: "old" });
      return [
        [sealing, processOf({ id: "b" }, { secrets: ["stranger"], sealsWith: "stranger" })],
        [sealing, other(["old"])],
      ];
    },
    regionsDiffer: () => {
      const other = (region: string) => [processOf({}, { region: "main" }), processOf({ id: "b" }, { region })];
      return [other("eu"), other("main")];
    },
    clockDiffers: () => both({ clockAheadMs: -30_001 }, { clockAheadMs: 30_000 }),
    regionAway: () => both({ regionsAway: ["eu"] }, {}),
    signInGuard: () => both({ signInWaits: 10 }, { signInWaits: 9 }),
  };

  function both(report: Partial<ProcessReport>, almost: Partial<ProcessReport>) {
    return [[processOf({}, report)], [processOf({}, almost)]] as const;
  }

  // spec/deployment#warnings
  for (const code of Object.keys(warningCodes) as WarningCode[]) {
    it(`${code} is reported exactly when there is a reason`, async () => {
      const [reason = [], almost = []] = cases[code]();
      const found = findWarnings(reason, test.now());
      assert.deepEqual(
        found.map((warning) => warning.code),
        [code],
      );
      assert.match(found[0]?.text ?? "", /^\S.*\.$/);
      assert.deepEqual(findWarnings(almost, test.now()), []);
      await save(...reason);
      const { state, warnings } = await read();
      const ofOwn = new Set(["diskLow", code]); // the disk of this machine may be full
      assert.ok(warnings.some((warning) => warning.code === code));
      assert.ok(warnings.every((warning) => ofOwn.has(warning.code) || warning.code === "maintenanceLate"));
      assert.notEqual(state, "well");
    });
  }

  it("report the state as broken if the database is unavailable, or writes are about to fail", async () => {
    await save(processOf({}, { disk: { freeBytes: 499e6, diskBytes: 1e9 } }));
    assert.equal((await read()).state, "broken");
    await save(processOf({}, { databaseAwayAt: test.now() }));
    assert.equal((await read()).state, "broken");
  });

  it("report since when a process has been the cause, and count only processes that report", async () => {
    const since = { loopLate: test.now() - 5 * minute };
    const late = { loopDelayMs: 300, since };
    await save(processOf({}, late), processOf({ id: "later" }, { ...late, since: { loopLate: test.now() } }));
    const { warnings } = await read();
    assert.equal(warnings.find(({ code }) => code === "loopLate")?.since, `/Date(${since.loopLate})/`);
    const heardAt = test.now() - 30_000;
    await save(processOf({ heardAt }, late), processOf({ id: "later", heardAt }, late));
    assert.ok(!(await read()).warnings.some(({ code }) => code === "loopLate"));
  });

  it("include calls from another machine without https, but no health checks", async () => {
    const from = (protocol: string) => ({
      headers: { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": protocol },
    });
    const isNoticed = async () => (await read()).warnings.some(({ code }) => code === "clearTransport");
    await send(test.port, "GET", "/_/health/ready", from("http"));
    await send(test.port, "GET", "/users/me", from("https"));
    assert.equal(await isNoticed(), false);
    await send(test.port, "GET", "/users/me", from("http"));
    assert.equal(await isNoticed(), true);
  });
});

describe("the report of a process", () => {
  it("is written at the start and the end of the process, has less than 4 kB, and deletes reports older than a day", async () => {
    const { database, ownReports } = test.app;
    const all = () => database.reads.selectFrom("server_processes").selectAll().execute();
    await save(
      processOf({ id: "old", heardAt: test.now() - day - minute }),
      processOf({ id: "kept", heardAt: test.now() - day + minute }),
    );
    const heartbeat = startHeartbeat(test.app);
    const { id } = await ownReports.take();
    while (!(await all()).some((row) => row.id === id)) await new Promise(setImmediate);
    assert.deepEqual((await all()).map((row) => row.id).sort(), [id, "kept"].sort());
    for (const { report } of await all()) assert.ok(report.length < 4_096, `${report.length}`);
    await heartbeat.stop();
    const own = async () => (await listReports(test.now(), database.reads)).find((each) => each.id === id);
    while ((await own())?.report.hasEnded !== true) await new Promise(setImmediate);
  });

  it("reports that the database refused an earlier report", async (t) => {
    const { database, ownReports } = test.app;
    const broken = t.mock.method(database, "write", () => Promise.reject(new Error("on purpose")));
    const heartbeat = startHeartbeat(test.app);
    while ((await ownReports.take()).report.databaseAwayAt === undefined) await new Promise(setImmediate);
    const probe = await test.call("GET /_/health/ready");
    assert.deepEqual([probe.status, probe.headers["rollcall-degraded"]], [200, "database"]);
    await heartbeat.stop();
    broken.mock.restore();
    test.app.ownReports.noteDatabaseBack();
    assert.equal((await test.call("GET /_/health/ready")).headers["rollcall-degraded"], undefined);
    assert.equal((await read()).state, "broken");
    test.advance(minute);
    assert.ok(!(await read()).warnings.some(({ code }) => code === "databaseAway"));
  });
});

describe("a recent increase", () => {
  it("covers the time span, or the time since the start of the process", () => {
    const recent = createRecentIncrease(100, 0);
    assert.deepEqual(recent.add(50, [3, 1]), [3, 1]);
    assert.deepEqual(recent.add(99, [5, 1]), [5, 1]);
    assert.deepEqual(recent.add(150, [6, 1]), [3, 0]);
    assert.deepEqual(recent.add(1_000, [9, 1]), [3, 0]);
    assert.deepEqual(recent.add(1_100, [9, 2]), [0, 1]);
  });
});
