import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  longSessions,
  startTestApp,
  type TestApp,
} from "../../test/harness.ts";
import { processorTime } from "../../test/processor-time.ts";
import { maintain } from "../app/maintenance.ts";
import type { NewApplication } from "../applications/applications.store.ts";
import { identifyCrash } from "../crashes/crash-identity.ts";
import { type ApplicationSettings, updateApplicationSettings } from "../tenancy/application-settings.ts";

let test: TestApp;
/** A second process on the same database. */
let other: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp(longSessions);
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl, ...longSessions });
  operator = (await test.createOperator()).token;
});
after(async () => {
  await other.close();
  await test.close();
});

const dayMs = 86_400_000;

function stackOf(name: string, line = 1): string {
  return `TypeError: ${name} is ${line}\n    at ${name} (https://x.example/a.js:${line}:2)`;
}

async function register(
  application: NewApplication,
  appVersion?: string,
  platform = "test",
): Promise<{ token: string; id: string }> {
  const body = { ...application, platform, osVersion: "19", ...(appVersion !== undefined && { appVersion }) };
  const token = (await test.call("POST /devices", { body })).body.result.accessToken;
  return { token, id: (await test.call("GET /devices/current", { token })).body.result.id };
}

async function report(token: string, stackTrace: string, fields = {}, app = test): Promise<string> {
  const { status, body } = await app.call("POST /devices/current/crashreports", {
    token,
    body: { stackTrace, ...fields },
  });
  assert.equal(status, 201, body.message);
  return body.result.id;
}

function groups({ appid }: NewApplication, query = ""): Promise<Answer> {
  return test.call(`GET /_/api/applications/${appid}/crashes${query}`, { token: operator });
}

function reports({ appid }: NewApplication, fingerprint: string, query = ""): Promise<Answer> {
  const path = `/_/api/applications/${appid}/crashes/${encodeURIComponent(fingerprint)}/reports${query}`;
  return test.call(`GET ${path}`, { token: operator });
}

interface Group {
  readonly fingerprint: string;
  readonly title: string;
  readonly reports: number;
  readonly devices: number;
  readonly versions: readonly { readonly appVersion?: string; readonly reports: number }[];
}

async function listed(application: NewApplication, query = ""): Promise<Group[]> {
  return (await groups(application, query)).body.result.pageResults;
}

const fingerprintOf = (stackTrace: string) => identifyCrash(stackTrace, null).fingerprint;
const date = (time: number) => `/Date(${time})/`;

// spec/devices#crash-groups
describe("GET /_/api/applications/{appid}/crashes", () => {
  it("answers 200 with one group per bug with its counts, devices and versions, or with an empty page", async () => {
    const application = await test.createApplication();
    const empty = await groups(application);
    assertResult(empty, 200, { pageResults: [], currentToken: empty.body.result.currentToken });

    test.advance(dayMs - (test.now() % dayMs)); // all reports on one day
    const [first, second, silent] = [
      await register(application, "1.0"),
      await register(application, "2.0", "other"),
      await register(application),
    ];
    const times: number[] = [];
    const crashes: [token: string, stackTrace: string][] = [
      [first.token, stackOf("a", 1)],
      [first.token, stackOf("b", 1)],
      [second.token, stackOf("a", 2)],
      [first.token, stackOf("a", 3)],
      [silent.token, stackOf("a", 4)],
    ];
    for (const [token, stackTrace] of crashes) {
      test.advance(1_000);
      times.push(test.now());
      await report(token, stackTrace);
    }
    const [t0 = 0, t1 = 0, t2 = 0, t3 = 0, t4 = 0] = times;
    const answer = await groups(application);
    assertResult(answer, 200, {
      pageResults: [
        {
          fingerprint: fingerprintOf(stackOf("a")),
          title: "TypeError: a is 1",
          reports: 4,
          devices: 3,
          versions: [
            { reports: 1, firstSeen: date(t4), lastSeen: date(t4) },
            { appVersion: "1.0", reports: 2, firstSeen: date(t0), lastSeen: date(t3) },
            { appVersion: "2.0", reports: 1, firstSeen: date(t2), lastSeen: date(t2) },
          ],
          platforms: ["other", "test"],
          days: [{ start: date(t0 - (t0 % dayMs)), reports: 4 }],
          firstSeen: date(t0),
          lastSeen: date(t4),
          state: "open",
        },
        {
          fingerprint: fingerprintOf(stackOf("b")),
          title: "TypeError: b is 1",
          reports: 1,
          devices: 1,
          versions: [{ appVersion: "1.0", reports: 1, firstSeen: date(t1), lastSeen: date(t1) }],
          platforms: ["test"],
          days: [{ start: date(t1 - (t1 % dayMs)), reports: 1 }],
          firstSeen: date(t1),
          lastSeen: date(t1),
          state: "open",
        },
      ],
      currentToken: answer.body.result.currentToken,
    });
  });

  it("is sorted by last seen, first seen or reports, ascending or descending, and paged in both directions", async () => {
    const application = await test.createApplication();
    const { token } = await register(application, "1");
    // The first reports come in the order of the groups, the last reports in the opposite order, and group n has n reports.
    const counts: Readonly<Record<string, number>> = { a: 2, b: 5, c: 3, d: 4, e: 6 };
    for (const name of Object.keys(counts)) {
      test.advance(1_000);
      await report(token, stackOf(name));
    }
    for (const [name, count] of Object.entries(counts).toReversed()) {
      test.advance(1_000);
      for (let n = 1; n < count; n += 1) await report(token, stackOf(name));
    }
    const expected: Readonly<Record<string, string>> = {
      "": "abcde",
      "?sortOrder=-lastSeen": "abcde",
      "?sortOrder=lastSeen": "edcba",
      "?sortOrder=FIRSTSEEN": "abcde",
      "?sortOrder=-firstSeen": "edcba",
      "?sortOrder=reports": "acdbe",
      "?sortOrder=-reports": "ebdca",
    };
    const nameOf = ({ title }: Group) => title["TypeError: ".length];
    for (const [query, order] of Object.entries(expected)) {
      assert.equal((await listed(application, query)).map(nameOf).join(""), order, query);
      let answer = await groups(application, `${query}${query === "" ? "?" : "&"}pageSize=2`);
      const pages: string[] = [];
      for (;;) {
        const { pageResults, nextToken } = answer.body.result;
        pages.push(pageResults.map(nameOf).join(""));
        if (nextToken === undefined) break;
        answer = await groups(application, `?pagingToken=${nextToken}`);
      }
      assert.deepEqual(pages, [order.slice(0, 2), order.slice(2, 4), order.slice(4)]);
      const back = await groups(application, `?pagingToken=${answer.body.result.previousToken}`);
      assert.equal(back.body.result.pageResults.map(nameOf).join(""), order.slice(2, 4));
    }
    const wrong = await groups(application, "?sortOrder=title");
    const words = "lastSeen, -lastSeen, firstSeen, -firstSeen, reports, -reports";
    assertError(wrong, 400, "ParameterIncorrectFormat", 515, `sortOrder must be one of ${words}.`);
  });

  it("refuses a page token of another application", async () => {
    const [one, another] = [await test.createApplication(), await test.createApplication()];
    for (const application of [one, another]) {
      const { token } = await register(application);
      for (const name of ["a", "b", "c"]) await report(token, stackOf(name));
    }
    const { nextToken } = (await groups(one, "?pageSize=1")).body.result;
    const refused = await groups(another, `?pagingToken=${nextToken}`);
    assertError(refused, 400, "ParameterIncorrectFormat", 515, "pagingToken must be a token of this listing.");
  });

  it("counts separately for each application, even for the same bug", async () => {
    const [one, another] = [await test.createApplication(), await test.createApplication()];
    const { token } = await register(one, "1");
    for (let n = 0; n < 3; n += 1) await report(token, stackOf("same"));
    await report((await register(another, "2")).token, stackOf("same"));
    const [[group], [same]] = [await listed(one), await listed(another)];
    assert.deepEqual([group?.reports, group?.versions.length], [3, 1]);
    assert.deepEqual([same?.reports, same?.devices, same?.versions[0]?.appVersion], [1, 1, "2"]);
    assert.equal(group?.fingerprint, same?.fingerprint);
  });

  it("counts a hundred concurrent reports of one bug through two processes as exactly a hundred", async () => {
    const application = await test.createApplication();
    const devices = await Promise.all(["1", "2", "3", "4"].map((version) => register(application, version)));
    const tokens = Array.from({ length: 100 }, (_, n) => devices[n % devices.length]?.token ?? "");
    const apps = [test, other];
    await Promise.all(tokens.map((token, n) => report(token, stackOf("storm", n), {}, apps[n % 3 === 0 ? 1 : 0])));
    const [group, ...others] = await listed(application);
    assert.deepEqual([group?.reports, group?.devices, others], [100, 4, []]);
    assert.deepEqual(
      group?.versions.map(({ appVersion, reports }) => [appVersion, reports]).toSorted(),
      ["1", "2", "3", "4"].map((version) => [version, 25]),
    );
    assert.equal((await reports(application, group?.fingerprint ?? "")).body.result.pageResults.length, 100);
  });

  it("counts all concurrent interleaved reports of several bugs", async () => {
    const application = await test.createApplication();
    const devices = await Promise.all(["1", "2"].map((version) => register(application, version)));
    const crashes = Array.from({ length: 60 }, (_, n) => stackOf(["a", "b", "c"][n % 3] ?? ""));
    await Promise.all(
      crashes.map((stack, n) => report(devices[n % 2]?.token ?? "", stack, {}, n % 4 < 2 ? test : other)),
    );
    assert.deepEqual(
      (await listed(application)).map(({ reports, devices }) => [reports, devices]),
      [20, 20, 20].map((count) => [count, 2]),
    );
  });

  it("shows the twenty versions that were seen last", async () => {
    const application = await test.createApplication();
    const { token } = await register(application);
    for (let n = 1; n <= 23; n += 1) {
      test.advance(1_000);
      await test.call("PATCH /devices/current", { token, body: { appVersion: `${n}` } });
      await report(token, stackOf("a"));
    }
    const [group] = await listed(application);
    assert.deepEqual(
      group?.versions.map(({ appVersion }) => appVersion),
      Array.from({ length: 20 }, (_, n) => `${23 - n}`),
    );
    assert.deepEqual([group?.reports, group?.devices], [23, 1]);
  });

  it("stores, groups and returns hostile stacks unchanged", async () => {
    const application = await test.createApplication();
    const { token } = await register(application, "__proto__");
    const stacks = [
      "__proto__",
      "constructor",
      "at toString (__proto__)",
      "'; drop table crash_groups; --",
      "😀".repeat(65_536),
      `at ${"(".repeat(65_533)}`,
      "\n".repeat(65_536),
      "a\u202eb\u0001c",
      "%00 \\u0000",
    ];
    for (const stack of stacks) {
      const taken = processorTime();
      await report(token, stack);
      assert.ok(taken() < 2_000, stack.slice(0, 20));
    }
    const found = await listed(application);
    assert.equal(found.length, stacks.length);
    for (const { fingerprint, title, versions } of found) {
      assert.equal(versions[0]?.appVersion, "__proto__");
      assert.ok([...title].length <= 256 && title.isWellFormed());
      const [item] = (await reports(application, fingerprint)).body.result.pageResults;
      assert.ok(stacks.includes(item.stackTrace));
    }
  });
});

describe("GET /_/api/applications/{appid}/crashes/{fingerprint}/reports", () => {
  it("answers 200 with complete reports, newest first, without omitted parameters", async () => {
    const application = await test.createApplication();
    const device = await register(application, "1.0");
    const bare = await register(application);
    const fields = { message: "no such thing", methodName: "main", tag: "beta", location: { lat: -1.5, lng: 2 } };
    const created = [test.now(), test.now() + 1_000];
    const ids = [await report(device.token, stackOf("a", 1), fields)];
    test.advance(1_000);
    ids.push(await report(bare.token, stackOf("a", 2)));
    await report(bare.token, stackOf("b"));
    const answer = await reports(application, fingerprintOf(stackOf("a")));
    const appFrames = answer.body.result.pageResults[0].appFrames;
    assert.ok(appFrames.length > 0);
    const pageResults = [
      {
        id: ids[1],
        deviceID: bare.id,
        stackTrace: stackOf("a", 2),
        osVersion: "19",
        created: date(created[1] ?? 0),
        appFrames,
      },
      {
        id: ids[0],
        deviceID: device.id,
        stackTrace: stackOf("a", 1),
        ...fields,
        appVersion: "1.0",
        osVersion: "19",
        created: date(created[0] ?? 0),
        appFrames,
      },
    ];
    assertResult(answer, 200, { pageResults, currentToken: answer.body.result.currentToken });
  });

  it("is paged in both directions, with up to a hundred per page", async () => {
    const application = await test.createApplication();
    const { token } = await register(application);
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift(await report(token, stackOf("a")));
    const fingerprint = fingerprintOf(stackOf("a"));
    const first = (await reports(application, fingerprint, "?pageSize=3")).body.result;
    const second = (await reports(application, fingerprint, `?pagingToken=${first.nextToken}`)).body.result;
    const back = (await reports(application, fingerprint, `?pagingToken=${second.previousToken}`)).body.result;
    const idsOf = (page: { pageResults: { id: string }[] }) => page.pageResults.map(({ id }) => id);
    assert.deepEqual([idsOf(first), idsOf(second), idsOf(back)], [ids.slice(0, 3), ids.slice(3), ids.slice(0, 3)]);
    const tooMany = await reports(application, fingerprint, "?pageSize=101");
    assertError(tooMany, 400, "ParameterOutOfRange", 514, "pageSize must be at most 100.");
    assert.deepEqual(idsOf((await reports(application, fingerprint, "?pagingToken=1000;4")).body.result), ids.slice(4));
  });

  it("answers 404 ItemDoesNotExist for an unknown group", async () => {
    for (const fingerprint of ["0".repeat(32), "__proto__", "0", "😀", "'--"]) {
      const answer = await reports(test.application, fingerprint);
      assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
    }
  });
});

// spec/devices#crash-retention
describe("retention of crash reports", () => {
  async function configure({ appid }: NewApplication, settings: ApplicationSettings): Promise<void> {
    await test.app.database.write(({ queries }) => updateApplicationSettings(appid, settings, queries));
  }
  async function kept(application: NewApplication, stack = stackOf("a")): Promise<number> {
    return (await reports(application, fingerprintOf(stack))).body.result.pageResults.length;
  }

  it("deletes reports after 90 days or the application's number of days, but not their group", async () => {
    const [byDefault, short] = [await test.createApplication(), await test.createApplication()];
    await configure(short, { oidc: {}, retention: { crashReportsDays: 1 } });
    for (const application of [byDefault, short]) await report((await register(application, "1")).token, stackOf("a"));

    test.advance(dayMs);
    await maintain(test.app);
    assert.deepEqual([await kept(byDefault), await kept(short)], [1, 1], "reports are not deleted early");
    test.advance(1);
    await maintain(test.app);
    assert.deepEqual([await kept(byDefault), await kept(short)], [1, 0]);

    await report((await register(byDefault, "2")).token, stackOf("a"));
    test.advance(89 * dayMs);
    await maintain(test.app);
    const [group] = await listed(byDefault);
    assert.equal(await kept(byDefault), 1);
    assert.deepEqual([group?.reports, group?.devices, group?.versions.length], [2, 2, 2]);

    test.advance(2 * dayMs);
    await maintain(test.app);
    assert.equal(await kept(byDefault), 0);
    assert.deepEqual(await listed(byDefault), [group]);
  });

  it("deletes thousands in steps, and can be stopped between two steps", async () => {
    const application = await test.createApplication();
    await report((await register(application)).token, stackOf("a"));
    const rows = test.app.database.reads.selectFrom("crash_reports").selectAll();
    const [row] = await rows.where("application_id", "=", application.appid).execute();
    assert.ok(row !== undefined);
    const many = Array.from({ length: 2_300 }, () => ({ ...row, id: test.app.ids.newId("CrashReport") }));
    for (let n = 0; n < many.length; n += 500) {
      const some = many.slice(n, n + 500);
      await test.app.database.write(({ queries }) => queries.insertInto("crash_reports").values(some).execute());
    }
    const count = async () => (await rows.where("application_id", "=", application.appid).execute()).length;
    test.advance(91 * dayMs);
    const stopping = new AbortController();
    stopping.abort();
    await assert.rejects(maintain(test.app, stopping.signal));
    assert.equal(await count(), 2_301);
    await maintain(test.app);
    assert.equal(await count(), 0);
    assert.equal((await listed(application)).length, 1);
  });
});
