// spec/statistics#new-versions-of-the-app
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { createOtherStatistics } from "../../test/statistics-process.ts";
import { maintain } from "../app/maintenance.ts";
import type { NewApplication } from "../applications/applications.store.ts";

const minute = 60_000;

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator()).token;
});
after(() => test.close());

async function register(
  { appid, appkey }: NewApplication,
  appVersion: string | undefined,
  platform = "test",
): Promise<string> {
  const body = { appid, appkey, platform, appVersion };
  const answer = await test.call("POST /devices", { body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.result.accessToken;
}

async function readVersions({ appid }: NewApplication, query = ""): Promise<Record<string, unknown>[]> {
  const { status, body } = await test.call(`GET /_/api/applications/${appid}/overview?${query}`, { token: operator });
  assert.equal(status, 200, JSON.stringify(body));
  return body.result.newVersions;
}

describe("a version of the app", () => {
  it("is new in the overview when devices first report it, except for the first one of the application", async () => {
    const application = await test.createApplication();
    await register(application, undefined);
    const token = await register(application, "1.0");
    await test.app.statistics.save();
    assert.deepEqual(await readVersions(application), []);
    test.advance(minute);
    const firstSeen = `/Date(${test.now()})/`;
    await register(application, "1.1");
    test.advance(1);
    await test.call("PATCH /devices/current", { token, body: { appVersion: "1.1" } });
    await test.call("PATCH /devices/current", { token, body: { appVersion: "1.1", tag: "again" } });
    await test.app.statistics.save();
    assert.deepEqual(await readVersions(application), [
      { appVersion: "1.1", firstSeen, reports: 2, platforms: ["test"] },
    ]);

    test.advance(minute);
    await test.call("PATCH /devices/current", { token, body: { appVersion: "2.0 β" } });
    await register(application, "1.1");
    await test.app.statistics.save();
    const found = await readVersions(application);
    assert.deepEqual(
      found.map(({ appVersion, reports }) => [appVersion, reports]),
      [
        ["2.0 β", 1],
        ["1.1", 3],
      ],
    );
    assert.equal(found[1]?.["firstSeen"], firstSeen);
    const [from, to] = [test.now(), test.now() + minute];
    assert.deepEqual(
      (await readVersions(application, `from=${from}&to=${to}`)).map(({ appVersion }) => appVersion),
      ["2.0 β"],
    );
  });

  it("is new once when several processes receive it, at the earliest of their times", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const processes = [createOtherStatistics(test), createOtherStatistics(test), createOtherStatistics(test)];
    processes[0]?.statistics.countVersion(appid, "1", "test");
    await processes[0]?.statistics.save();
    const firstSeen = `/Date(${test.now() + 1})/`;
    for (const { statistics } of processes) {
      test.advance(1);
      for (const version of ["b", "a"]) statistics.countVersion(appid, version, "test");
    }
    for (const { statistics } of processes.toReversed()) await statistics.save();
    for (const { statistics } of processes) statistics.countVersion(appid, "b", "test");
    await Promise.all(processes.map(({ statistics }) => statistics.save()));
    assert.deepEqual(await readVersions(application), [
      { appVersion: "b", firstSeen, reports: 6, platforms: ["test"] },
      { appVersion: "a", firstSeen, reports: 3, platforms: ["test"] },
    ]);
  });

  it("lists up to ten platforms whose devices reported it, in any process", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const [one, other] = [createOtherStatistics(test), createOtherStatistics(test)];
    one.statistics.countVersion(appid, "1", "iOS");
    await one.statistics.save();
    test.advance(1);
    await register(application, "2", "iOS");
    const token = await register(application, "1", "Android");
    await test.call("PATCH /devices/current", { token, body: { appVersion: "2" } });
    await test.app.statistics.save();
    one.statistics.countVersion(appid, "2", 'a "quoted", name');
    one.statistics.countVersion(appid, "2", "x".repeat(51));
    other.statistics.countVersion(appid, "2", "iOS");
    await Promise.all([one, other].map(({ statistics }) => statistics.save()));
    assert.deepEqual((await readVersions(application))[0]?.["platforms"], ["Android", 'a "quoted", name', "iOS"]);
    for (let n = 0; n < 20; n += 1) one.statistics.countVersion(appid, "2", `invented ${n}`);
    await one.statistics.save();
    const { platforms = [] } = (await readVersions(application))[0] as { platforms?: string[] };
    assert.equal(platforms.length, 10);
    assert.ok(platforms.includes("Android") && platforms.includes("iOS"));
  });

  it("waits while the database is unavailable, and preserves the time of its first report", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const { statistics, goAway } = createOtherStatistics(test);
    statistics.countVersion(appid, "1", "test");
    await statistics.save();
    goAway(true);
    test.advance(1);
    const firstSeen = `/Date(${test.now()})/`;
    for (let n = 0; n < 3; n += 1) {
      statistics.countVersion(appid, "2", "test");
      await statistics.save();
      test.advance(minute);
    }
    goAway(false);
    await statistics.save();
    await statistics.save(); // writes nothing twice
    assert.deepEqual(await readVersions(application), [
      { appVersion: "2", firstSeen, reports: 3, platforms: ["test"] },
    ]);
  });

  it("of a test device is not recorded", async () => {
    const application = await test.createApplication();
    await register(application, "1");
    await test.app.statistics.save();
    test.advance(1);
    const path = `/_/api/applications/${application.appid}/test-devices`;
    const { body } = await test.call(`POST ${path}`, { token: operator });
    const token = body.result.accessToken;
    assert.equal((await test.call("PATCH /devices/current", { token, body: { appVersion: "2" } })).status, 200);
    await test.app.statistics.save();
    assert.deepEqual(await readVersions(application), []);
  });
});

describe("invented versions", () => {
  it("do not displace a real one with more reports, neither from the overview nor from the database", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const { statistics } = createOtherStatistics(test);
    statistics.countVersion(appid, "1", "test");
    await statistics.save();
    for (let saves = 0; saves < 60; saves += 1) {
      test.advance(minute);
      const invented = Array.from({ length: 200 }, (_, n) => `invented ${saves}.${n}`);
      for (const version of invented.slice(0, 100)) statistics.countVersion(appid, version, "test");
      if (saves === 30) for (let n = 0; n < 2; n += 1) statistics.countVersion(appid, "2", "test");
      for (const version of invented.slice(100)) statistics.countVersion(appid, version, "test");
      await statistics.save();
    }
    const listAll = async () => {
      const { reads } = test.app.database;
      const rows = await reads
        .selectFrom("app_versions")
        .select("app_version")
        .where("application_id", "=", appid)
        .execute();
      return rows.map(({ app_version }) => app_version);
    };
    assert.equal((await listAll()).length, 1 + 60 * 20);
    const shown = await readVersions(application);
    assert.equal(shown.length, 10);
    assert.ok(shown.some(({ appVersion }) => appVersion === "2"));
    await maintain(test.app);
    const left = await listAll();
    assert.equal(left.length, 1_000);
    assert.ok(left.includes("2"));
    assert.ok(
      left.some((version) => version.startsWith("invented 59.")),
      "the latest stay",
    );
  });
});
