import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, longSessions, startTestApp, type TestApp } from "../../test/harness.ts";
import { dataPart, upload } from "../../test/uploads.ts";
import type { NewApplication } from "../applications/applications.store.ts";
import { compactStatistics } from "./statistics.store.ts";
import { updateTotals } from "./statistics.totals.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp(longSessions);
  operator = (await test.createOperator()).token;
});
after(() => test.close());

interface Statistics {
  readonly series: readonly { readonly name: string; readonly points: readonly { time: string; value: number }[] }[];
  readonly operations?: readonly { operation: string; calls: number; errors: number; p95?: number }[];
  readonly errors?: readonly Record<string, unknown>[];
  readonly busiest?: readonly { appid: string; calls: number; errors: number }[];
}

function ask(query: string, { appid }: NewApplication = test.application, token = operator): Promise<Answer> {
  return test.call(`GET /_/api/applications/${appid}/statistics?${query}`, { token });
}

async function read(query: string, application?: NewApplication): Promise<Statistics> {
  const { status, body } = await ask(query, application);
  assert.equal(status, 200, JSON.stringify(body));
  return body.result;
}

/** Sums each series over the range. */
function sums({ series }: Statistics): Record<string, number> {
  return Object.fromEntries(
    series.map(({ name, points }) => [name, points.reduce((total, { value }) => total + value, 0)]),
  );
}

const counts =
  "calls,rateLimited,registrations,activeDevices,newDevices,newUsers,signUps,logins,failedLogins,checkins,files,bytes";

/** Makes one call for each series. */
async function useApplication(application: NewApplication): Promise<void> {
  const { token, userName, password, deviceToken } = await test.signUp("jane", application);
  const login = { userName, password };
  await test.call("POST /users/login", { token: deviceToken, body: login });
  await test.call("POST /users/login", { token: deviceToken, body: { ...login, password: "wrong" } });
  await test.call("POST /checkins", { token, body: { location: "1,2" } });
  await test.call("GET /checkins/chk_unknown", { token });
  await test.call("PUT /metadata/app/k", { token, body: { value: "secret of jane" } });
  await test.call("POST /batch", {
    token,
    body: { requests: [{ method: "POST", path: "/checkins", parameters: { location: "3,4" } }, { path: "/users/me" }] },
  });
  await upload(test, token, "/blobs", dataPart(Buffer.alloc(1_234)));
  await test.call("POST /devices", { body: { appid: application.appid, appkey: "wrong", platform: "iOS" } });
  await test.call("GET /users/me", { token, headers: { "rollcall-rehearse": "ServiceUnavailable" } });
}

describe("statistics of an application", () => {
  // spec/statistics#what-is-counted
  // spec/statistics#statistics-of-an-application
  it("count the calls of its clients and of batches, and the registrations that name it", async () => {
    const application = await test.createApplication();
    await useApplication(application);
    assert.deepEqual(sums(await read("series=calls", application))["calls.2xx"], 0, "nothing was written yet");
    await test.app.statistics.save();

    const statistics = await read(`series=${counts},operations,errors`, application);
    assert.deepEqual(sums(statistics), {
      ...{ "calls.2xx": 8, "calls.3xx": 0, "calls.4xx": 4, "calls.5xx": 0 },
      ...{ rateLimited: 0, registrations: 1, activeDevices: 1, newDevices: 1, newUsers: 1 },
      ...{ signUps: 1, logins: 1, failedLogins: 1 },
      ...{ checkins: 2, files: 1, bytes: 1_234 },
    });
    const byOperation = new Map(statistics.operations?.map((each) => [each.operation, each]));
    assert.equal(byOperation.get("createCheckin")?.calls, 2);
    assert.equal(byOperation.get("getUser")?.calls ?? byOperation.get("getOwnUser")?.calls, 1);
    const { p95, ...refused } = byOperation.get("registerDevice") ?? {};
    assert.deepEqual(refused, { operation: "registerDevice", calls: 2, errors: 1 });
    assert.ok(p95 !== undefined && p95 > 0);
    const errors = statistics.errors ?? [];
    assert.ok(
      errors.some(({ operation, error }) => operation === "registerDevice" && error === "AuthAppCredentialsInvalid"),
    );
    assert.ok(errors.every(({ count }) => count === 1));
    assert.ok(!JSON.stringify(statistics).includes("secret of jane"));
  });

  // spec/statistics#statistics-of-the-deployment
  it("are included in those of the deployment, which also count the calls of operators", async () => {
    const application = await test.createApplication();
    for (let n = 0; n < 3; n += 1) await test.registerDevice(application);
    await test.call("GET /_/api/applications", { token: operator });
    await test.app.statistics.save();
    const { body } = await test.call("GET /_/api/statistics?series=registrations,operations", { token: operator });
    const all: Statistics = body.result;
    assert.ok((sums(all)["registrations"] ?? 0) >= 3);
    assert.ok(all.operations?.some(({ operation }) => operation === "listApplications"));
    assert.deepEqual(
      all.busiest?.find(({ appid }) => appid === application.appid),
      { appid: application.appid, calls: 3, errors: 0 },
    );
  });

  it("have a point for each interval, in UTC, excluding the end of the range", async () => {
    const { series } = await read(`interval=hour&series=checkins&from=${2 * hour + 1}&to=${4 * hour}`);
    assert.deepEqual(series, [
      {
        name: "checkins",
        points: [
          { time: `/Date(${2 * hour})/`, value: 0 },
          { time: `/Date(${3 * hour})/`, value: 0 },
        ],
      },
    ]);
    const latency = await read("series=latency&from=0&to=60000");
    assert.deepEqual(
      latency.series.map(({ points }) => points),
      [[], [], []],
    );
  });

  it("are refused for ranges that are reversed or too long, unknown series and unknown applications", async () => {
    for (const query of ["from=2&to=1", `from=0&to=${2_001 * minute}`, "series=calls,secrets"]) {
      assert.equal((await ask(query)).body.error, "ParameterOutOfRange", query);
    }
    assert.equal((await ask(`from=0&to=${2_000 * minute}&series=files`)).status, 200);
    const unknown = { ...test.application, appid: test.app.ids.newId("App") };
    assert.equal((await ask("", unknown)).body.error, "ItemDoesNotExist");
  });

  // spec/statistics#loss-and-delay
  it("are summed over processes, and written by a process that shuts down", async () => {
    const application = await test.createApplication();
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    // The clocks of tests stand still, and the requested range ends with the time of this process.
    test.advance(Math.max(0, other.now() - test.now()));
    try {
      const token = await test.registerDevice(application);
      await other.call("GET /devices/current", { token });
      await other.app.statistics.save();
      await test.app.statistics.save();
      assert.equal(sums(await read("series=calls,activeDevices", application))["calls.2xx"], 2);
      await other.call("GET /devices/current", { token });
    } finally {
      await other.close(); // a process that shuts down writes its counts
    }
    assert.equal(sums(await read("series=calls", application))["calls.2xx"], 3);
  });

  // spec/statistics#statistics-retention
  it("are merged into hours and days exactly once, and deleted after their retention", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const { database } = test.app;
    await test.app.statistics.save(); // writes the minute of the tests before
    test.advance(day - (test.now() % day)); // advances to the start of a day
    const began = test.now();
    const token = await test.registerDevice(application);
    for (let n = 0; n < 3; n += 1) {
      assert.equal((await test.call("GET /devices/current", { token })).status, 200);
      await test.app.statistics.save();
      test.advance(31 * minute);
    }
    const range = `from=${began}&to=${began + day}`;
    async function assertSums(): Promise<void> {
      for (const interval of ["hour", "day"]) {
        const statistics = await read(
          `interval=${interval}&series=calls,activeDevices,operations&${range}`,
          application,
        );
        assert.equal(sums(statistics)["calls.2xx"], 4, interval);
        assert.deepEqual(statistics.series.find(({ name }) => name === "activeDevices")?.points[0]?.value, 1);
        assert.equal(statistics.operations?.find(({ operation }) => operation === "getDevice")?.calls, 3);
      }
    }
    const rowsOf = async (span: number) => {
      const rows = database.reads.selectFrom("statistics").select(["starts_at", "is_pending"]);
      return [
        ...(await rows.where("application_id", "=", appid).where("span", "=", span).orderBy("starts_at").execute()),
      ];
    };
    await assertSums();
    await compactStatistics(appid, test.now(), database);
    await compactStatistics(appid, test.now(), database);
    assert.deepEqual(await rowsOf(hour), [{ starts_at: began, is_pending: 1 }]);
    await assertSums();

    test.advance(day);
    await compactStatistics(appid, test.now(), database);
    assert.deepEqual(await rowsOf(day), [{ starts_at: began, is_pending: 0 }]);
    assert.equal((await rowsOf(minute)).length, 3);
    await assertSums();

    test.advance(2 * day);
    await compactStatistics(appid, test.now(), database);
    assert.deepEqual([(await rowsOf(minute)).length, (await rowsOf(hour)).length], [0, 2]);
    await assertSums();
    test.advance(91 * day);
    await compactStatistics(appid, test.now(), database);
    assert.deepEqual([(await rowsOf(hour)).length, (await rowsOf(day)).length], [0, 1]);
    test.advance(3 * 365 * day);
    await compactStatistics(appid, test.now(), database);
    assert.equal((await rowsOf(day)).length, 0);
  });

  it("are not written for a deleted application", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    await test.registerDevice(application);
    await test.call(`DELETE /_/api/applications/${appid}`, { token: operator, body: { confirm: appid } });
    await test.registerDevice();
    await test.app.statistics.save();
    const { database } = test.app;
    const rows = await database.reads
      .selectFrom("statistics")
      .select("span")
      .where("application_id", "=", appid)
      .execute();
    assert.equal(rows.length, 0);
  });

  // spec/statistics#overview-of-an-application
  it("are in the overview, with the application's totals and the same weekday a week before", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const none = {
      calls: 0,
      errors: 0,
      registrations: 0,
      activeDevices: 0,
      newDevices: 0,
      newUsers: 0,
      signUps: 0,
      checkins: 0,
      files: 0,
      bytes: 0,
    };
    const readOverview = async () => {
      const { status, body } = await test.call(`GET /_/api/applications/${appid}/overview`, { token: operator });
      assert.equal(status, 200, JSON.stringify(body));
      return body.result;
    };
    const nothing = { count: 0, isExact: true };
    await test.app.statistics.save(); // writes the minute of the tests before
    const empty = await readOverview();
    assert.deepEqual(empty.totals, { devices: nothing, users: nothing, checkins: nothing, files: 0, bytes: 0 });
    assert.deepEqual([empty.today, empty.weekBefore], [none, none]);

    await useApplication(application);
    await test.app.statistics.save();
    const one = { count: 1, isExact: true };
    const sum = {
      calls: 12,
      errors: 4,
      registrations: 1,
      activeDevices: 1,
      newDevices: 1,
      newUsers: 1,
      signUps: 1,
      checkins: 2,
      files: 1,
      bytes: 1_234,
    };
    const full = await readOverview();
    assert.deepEqual(full.totals, {
      devices: one,
      users: one,
      checkins: { count: 2, isExact: true },
      files: 1,
      bytes: 1_234,
    });
    assert.deepEqual([full.today, full.weekBefore], [sum, none]);
    assert.equal(sums(full.statistics)["checkins"], 2);
    test.advance(7 * day);
    const later = await readOverview();
    assert.deepEqual([later.today, later.weekBefore], [none, sum]);
  });

  // spec/statistics#overview-of-an-application
  it("are in the overview with the previous range, changes of the application, and new crashes", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const path = `/_/api/applications/${appid}`;
    await test.app.statistics.save(); // writes the minute of the tests before
    const token = await test.registerDevice(application);
    await test.app.statistics.save();
    test.advance(hour);
    await test.call(`PATCH ${path}/settings`, { token: operator, body: { tokenLifetimes: { deviceMs: 7_200_000 } } });
    await test.call(`PATCH ${path}/settings`, { token: operator, body: { tokenLifetimes: { deviceMs: "soon" } } });
    test.advance(minute);
    await test.call(`POST ${path}/keys`, { token: operator, body: { label: "Version 2" } });
    const another = await test.registerDevice(application);
    const stackTrace = "TypeError: no name\n    at onPress (screen.js:12:3)";
    await test.call("POST /devices/current/crashreports", { token: another, body: { stackTrace } });
    await test.call("GET /devices/current", { token });
    await test.app.statistics.save();

    const query = `from=${test.now() - 30 * minute}&to=${test.now() + minute}&compare=true`;
    const { body } = await test.call(`GET ${path}/overview?${query}`, { token: operator });
    const { statistics, before, markers, newCrashes } = body.result;
    assert.equal(sums(statistics)["newDevices"], 1);
    assert.equal(before.length, statistics.series.length);
    assert.equal(before[0].points.length, statistics.series[0].points.length);
    const actions = markers.map(({ action }: { action: string }) => action);
    assert.deepEqual(actions, ["createApplicationKey", "changeApplicationSettings"]);
    assert.ok(markers.every(({ by }: { by?: string }) => by !== undefined));
    assert.deepEqual(
      newCrashes.map(({ title, reports }: Record<string, unknown>) => [title, reports]),
      [["TypeError: no name", 1]],
    );
    const earlier = `from=${test.now() - 90 * minute}&to=${test.now() - 30 * minute}`;
    const { body: then } = await test.call(`GET ${path}/overview?${earlier}`, { token: operator });
    assert.deepEqual([then.result.markers, then.result.newCrashes, then.result.before], [[], [], undefined]);
  });

  // spec/statistics#totals-of-an-application
  it("count many devices once a night, and add the devices registered since", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const { database, ids } = test.app;
    await test.registerDevice(application);
    const [device] = await database.reads
      .selectFrom("devices")
      .selectAll()
      .where("application_id", "=", appid)
      .execute();
    assert.ok(device !== undefined);
    const rows = Array.from({ length: 1_100 }, () => ({ ...device, id: ids.newId("Device"), unique_id: null }));
    for (let start = 0; start < rows.length; start += 100) {
      await database.write(({ queries }) =>
        queries
          .insertInto("devices")
          .values(rows.slice(start, start + 100))
          .execute(),
      );
    }
    const readTotals = async () => {
      const { body } = await test.call(`GET /_/api/applications/${appid}/overview`, { token: operator });
      return body.result.totals;
    };
    assert.deepEqual((await readTotals()).devices, { count: 1_000, isExact: false });
    await test.app.statistics.save(); // writes the minute of the tests before
    test.advance(day - (test.now() % day)); // advances to the start of a day
    await updateTotals(appid, test.now(), database);
    const { devices, users } = await readTotals();
    assert.deepEqual(
      [devices, users],
      [
        { count: 1_101, isExact: false },
        { count: 0, isExact: true },
      ],
    );

    await test.registerDevice(application);
    await test.app.statistics.save();
    await updateTotals(appid, test.now(), database); // not again before the next night
    assert.deepEqual((await readTotals()).devices, { count: 1_102, isExact: false });
    test.advance(day);
    await updateTotals(appid, test.now(), database);
    assert.deepEqual((await readTotals()).devices, { count: 1_102, isExact: false });
  });
});
