import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { longSessions, startTestApp, type TestApp } from "../../test/harness.ts";
import { compactStatistics } from "./statistics.store.ts";
import { Tally } from "./tally.ts";

const minuteMs = 60_000;

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp(longSessions);
  operator = (await test.createOperator()).token;
});
after(() => test.close());

// spec/statistics#peaks-of-limits
describe("peaks of limits", () => {
  it("are the busiest minute of one device for each limit, also after compaction, and not counted for the deployment", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const often = { perSecond: 100, burst: 100 };
    const limits = {
      operations: { "POST /checkins": often, "GET /users/{userId}": often, "POST /users/login": often },
    };
    const changed = await test.call(`PATCH /_/api/applications/${appid}/settings`, {
      token: operator,
      body: { limits },
    });
    assert.equal(changed.status, 200, changed.text);
    const [ada, grace] = [await test.signUp("ada", application), await test.signUp("grace", application)];
    const checkIn = async (token: string, times: number) => {
      for (let n = 0; n < times; n += 1) await test.call("POST /checkins", { token, body: { location: "1,2" } });
    };
    await checkIn(ada.token, 3);
    test.advance(minuteMs);
    await checkIn(ada.token, 2);
    await checkIn(grace.token, 4);
    await test.call("GET /users/me", { token: grace.token });
    const requests = Array(2).fill({ method: "GET", path: "/users/me" });
    await test.call("POST /batch", { token: grace.token, body: { requests } });
    const login = { userName: "ada", password: "wrong" };
    await test.call("POST /users/login", { token: ada.deviceToken, body: login });
    await test.call("POST /users/login", { token: grace.deviceToken, body: login });
    await test.app.statistics.save();

    const read = async () => {
      const path = `/_/api/applications/${appid}/statistics?series=peaks&interval=hour`;
      return (await test.call(`GET ${path}`, { token: operator })).body.result.peaks;
    };
    const peaks = [
      { limit: "caller", calls: 9 }, // four check-ins, the profile, the batch with its two items, the log-in
      { limit: "POST /checkins", calls: 4 },
      { limit: "GET /users/{userId}", calls: 3 },
      { limit: "POST /users/login", calls: 2 }, // that limit is per address
    ];
    assert.deepEqual(await read(), peaks);
    test.advance(60 * minuteMs);
    await compactStatistics(appid, test.now(), test.app.database);
    test.advance(-60 * minuteMs);
    assert.deepEqual(await read(), peaks, "after compaction");
    const all = await test.call("GET /_/api/statistics?series=peaks&interval=hour", { token: operator });
    assert.deepEqual(all.body.result.peaks, []);
  });

  it("exclude the calls of test devices", async () => {
    const { appid } = await test.createApplication();
    const { body } = await test.call(`POST /_/api/applications/${appid}/test-devices`, { token: operator });
    await test.call("GET /devices/current", { token: body.result.accessToken });
    await test.app.statistics.save();
    const path = `/_/api/applications/${appid}/statistics?series=peaks`;
    assert.deepEqual((await test.call(`GET ${path}`, { token: operator })).body.result.peaks, []);
  });

  it("are bounded: a row stores the 50 highest in at most 2,048 characters; rows of an earlier release have none", () => {
    const tally = new Tally();
    for (let n = 0; n < 100; n += 1) tally.countPeak(`GET /${n}`, n);
    assert.deepEqual([...Tally.read(tally.write(16_384)).peaks].slice(0, 1), [["GET /99", 99]]);
    assert.equal(Tally.read(tally.write(16_384)).peaks.size, 50);
    for (let n = 0; n < 50; n += 1) tally.countPeak(`GET /${"x".repeat(100)}/${n}`, 1_000);
    const written = Tally.read(tally.write(16_384));
    assert.ok([...written.peaks.keys()].join("").length <= 2_048);
    const both = new Tally();
    for (const each of [written, tally]) both.merge(each);
    assert.equal(both.peaks.get("GET /99"), 99);
    assert.equal(Tally.read(new Tally().write(16_384).subarray(0, -1)).peaks.size, 0);
  });
});
