import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, longSessions, startTestApp, type TestApp } from "../../test/harness.ts";
import { maintain } from "../app/maintenance.ts";
import type { NewApplication } from "../applications/applications.store.ts";
import { identifyCrash } from "../crashes/crash-identity.ts";

const dayMs = 86_400_000;
const stackTrace = "TypeError: a is undefined\n    at a (a.js:1:2)";
const { fingerprint } = identifyCrash(stackTrace, null);

let test: TestApp;
let editor: string;
before(async () => {
  test = await startTestApp(longSessions);
  editor = (await test.createOperator("editor")).token;
});
after(() => test.close());

interface Crash {
  readonly application: NewApplication;
  /** Sends a report of this version of the app from a new device. */
  report(appVersion?: string): Promise<void>;
  read(path?: string): Promise<Answer>;
  change(body: object): Promise<Answer>;
  state(): Promise<string>;
}

async function newCrash(): Promise<Crash> {
  const application = await test.createApplication();
  const path = `/_/api/applications/${application.appid}/crashes/${fingerprint}`;
  const read = (rest = "") => test.call(`GET ${path}${rest}`, { token: editor });
  const tokens = new Map<string, string>();
  async function deviceOf(version: string): Promise<string> {
    const known = tokens.get(version);
    if (known !== undefined) return known;
    const fields = { platform: "test", osVersion: "19", ...(version !== "" && { appVersion: version }) };
    const { body } = await test.call("POST /devices", { body: { ...application, ...fields } });
    tokens.set(version, body.result.accessToken);
    return body.result.accessToken;
  }
  return {
    application,
    read,
    async report(appVersion = "") {
      test.advance(1);
      const token = await deviceOf(appVersion);
      const answer = await test.call("POST /devices/current/crashreports", { token, body: { stackTrace } });
      assert.equal(answer.status, 201);
    },
    change: (body) => test.call(`PATCH ${path}`, { token: editor, body }),
    state: async () => (await read()).body.result.state,
  };
}

const date = (time: number) => `/Date(${time})/`;

// spec/devices#crash-groups
describe("lists of crashes", () => {
  it("find crashes that are new since a time or were reopened by a report, with the frames of the app", async () => {
    const crash = await newCrash();
    const { appid } = crash.application;
    const find = async (query: string) =>
      (await test.call(`GET /_/api/applications/${appid}/crashes?${query}`, { token: editor })).body.result.pageResults
        .length;
    await crash.report("1");
    const first = test.now();
    const since = (time: number) => encodeURIComponent(`${date(time)}-`);
    for (const sortOrder of ["-lastSeen", "firstSeen"]) {
      assert.equal(await find(`sortOrder=${sortOrder}&firstSeen=${since(first)}`), 1);
      assert.equal(await find(`sortOrder=${sortOrder}&firstSeen=${since(first + 1)}`), 0);
    }
    assert.deepEqual([await find("reopened=true"), await find("reopened=false")], [0, 1]);
    await crash.change({ state: "resolved" });
    await crash.report("1");
    assert.deepEqual([await find("reopened=true&state=open"), await find("reopened=false")], [1, 0]);
    const [report] = (await crash.read("/reports")).body.result.pageResults;
    assert.deepEqual(report.appFrames, [1]);
  });
});

// spec/devices#crash-states
describe("the state of a crash", () => {
  it("a crash resolved in a version is reopened only by a report of that version or a later one", async () => {
    const crash = await newCrash();
    await crash.report("1.9");
    assert.equal(await crash.state(), "open");
    const resolved = await crash.change({ state: "RESOLVED", resolvedIn: "2.1", note: "mended by hand" });
    assert.equal(resolved.status, 200, resolved.body.message);
    const { state, resolvedIn, note } = resolved.body.result;
    assert.deepEqual([state, resolvedIn, note], ["resolved", "2.1", "mended by hand"]);
    assert.deepEqual((await crash.read()).body.result, resolved.body.result);

    for (const older of ["1.9", "1.10.3", "2", "2.0.99"]) await crash.report(older);
    const counted = (await crash.read()).body.result;
    assert.deepEqual([counted.state, counted.reports, counted.reopened], ["resolved", 5, undefined]);
    await crash.report("2.1.0");
    const reopened = (await crash.read()).body.result;
    assert.deepEqual([reopened.state, reopened.reports, reopened.resolvedIn], ["open", 6, undefined]);
    assert.deepEqual([reopened.reopened, reopened.note], [date(test.now()), "mended by hand"]);

    await crash.change({ state: "resolved", resolvedIn: "v2.1 (99)" });
    await crash.report("2.1 (98)");
    assert.equal(await crash.state(), "resolved");
    await crash.report("10");
    assert.equal(await crash.state(), "open");
  });

  it("versions without numbers are ordered by the time of the first report from each", async () => {
    const crash = await newCrash();
    for (const version of ["alpha", "beta", ""]) await crash.report(version);
    await crash.change({ state: "resolved", resolvedIn: "beta" });
    await crash.report("alpha");
    assert.equal(await crash.state(), "resolved");
    await crash.report("beta");
    assert.equal(await crash.state(), "open");

    test.advance(1);
    await crash.change({ state: "resolved", resolvedIn: "gamma" });
    for (const version of ["alpha", "beta", ""]) await crash.report(version);
    assert.equal(await crash.state(), "resolved");
    await crash.report("delta");
    assert.equal(await crash.state(), "open");
  });

  it("any report reopens a crash that is resolved without a version, but not an ignored crash", async () => {
    const crash = await newCrash();
    await crash.report("3");
    await crash.change({ state: "resolved" });
    await crash.report("1");
    assert.equal(await crash.state(), "open");
    await crash.change({ state: "ignored", ignoreUntil: {} });
    for (const version of ["1", "2", "4"]) await crash.report(version);
    const ignored = (await crash.read()).body.result;
    assert.deepEqual([ignored.state, ignored.ignoreUntil, ignored.reopened], ["ignored", undefined, undefined]);
    await crash.change({ state: "open" });
    assert.equal(await crash.state(), "open");
  });

  it("an ignored crash is reopened by the given number of further reports or devices, or by a report after the given date", async () => {
    const crash = await newCrash();
    await crash.report("1");
    const until = test.now() + 10_000;
    await crash.change({ state: "ignored", ignoreUntil: { Reports: 3, date: date(until) } });
    await crash.report("1");
    const { state, ignoreUntil } = (await crash.read()).body.result;
    assert.deepEqual([state, ignoreUntil], ["ignored", { reports: 2, date: date(until) }]);
    await crash.report("1");
    await crash.report("1");
    assert.equal(await crash.state(), "open");

    await crash.change({ state: "ignored", ignoreUntil: { devices: 1, reports: 9 } });
    await crash.report("1");
    assert.equal(await crash.state(), "ignored");
    await crash.report("2");
    assert.equal(await crash.state(), "open");

    await crash.change({ state: "ignored", ignoreUntil: JSON.stringify({ date: test.now() + 10 }) });
    await crash.report("1");
    assert.equal(await crash.state(), "ignored");
    test.advance(10);
    await crash.report("1");
    assert.equal(await crash.state(), "open");
  });

  it("a change that does not fit the state is refused, and changes nothing", async () => {
    const crash = await newCrash();
    await crash.report("1");
    const cases: [body: object, error: string, code: number, message: string][] = [
      [{ resolvedIn: "2" }, "ParameterOutOfRange", 514, "resolvedIn needs the state resolved."],
      [{ state: "ignored", resolvedIn: "2" }, "ParameterOutOfRange", 514, "resolvedIn needs the state resolved."],
      [{ state: "open", ignoreUntil: {} }, "ParameterOutOfRange", 514, "ignoreUntil needs the state ignored."],
      [{ state: "ignored", ignoreUntil: { reports: 0 } }, "ParameterOutOfRange", 514, "reports must be at least 1."],
      [{ state: "mended" }, "ParameterIncorrectFormat", 515, "state must be one of open, resolved, ignored."],
      [{ note: "x".repeat(4_001) }, "ParameterOutOfRange", 514, "note must have at most 4000 characters."],
    ];
    const before = (await crash.read()).body.result;
    for (const [body, error, code, message] of cases) {
      assertError(await crash.change(body), 400, error, code, message);
    }
    assert.deepEqual((await crash.change({})).body.result, before);
    const noted = await crash.change({ note: "\u202e<b>" });
    assert.deepEqual([noted.body.result.note, noted.body.result.state], ["\u202e<b>", "open"]);
    assert.equal((await crash.change({ note: "" })).body.result.note, undefined);
    const unknown = `PATCH /_/api/applications/${crash.application.appid}/crashes/${"0".repeat(32)}`;
    const answer = await test.call(unknown, { token: editor, body: { state: "open" } });
    assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
  });
});

// spec/devices#crash-groups
describe("filters of crashes", () => {
  it("select by state, version and device, separately or combined, and in pages", async () => {
    const application = await test.createApplication();
    const list = async (query: string) =>
      (await test.call(`GET /_/api/applications/${application.appid}/crashes?${query}`, { token: editor })).body.result;
    const ids: string[] = [];
    for (const [appVersion, platform, names] of [
      ["1.0", "phone", "abc"],
      ["2.0", "watch", "bcd"],
    ] as const) {
      const { body } = await test.call("POST /devices", { body: { ...application, platform, appVersion } });
      const token = body.result.accessToken;
      ids.push((await test.call("GET /devices/current", { token })).body.result.id);
      for (const name of names) {
        test.advance(1);
        const body = { stackTrace: `Error: x\n    at ${name} (${name}.js:1:2)` };
        await test.call("POST /devices/current/crashreports", { token, body });
      }
    }
    const all: readonly { fingerprint: string }[] = (await list("sortOrder=firstSeen")).pageResults;
    const names = new Map(all.map(({ fingerprint: each }, index) => [each, "abcd"[index] ?? ""]));
    const found = async (query: string) => {
      const { pageResults } = await list(`sortOrder=firstSeen&${query}`);
      return pageResults.map((each: { fingerprint: string }) => names.get(each.fingerprint)).join("");
    };
    const b = [...names.keys()][1] ?? "";
    const body = { state: "ignored" };
    await test.call(`PATCH /_/api/applications/${application.appid}/crashes/${b}`, { token: editor, body });
    assert.equal(await found(""), "abcd");
    assert.equal(await found("state=open"), "acd");
    assert.equal(await found("state=Ignored"), "b");
    assert.equal(await found("state=resolved"), "");
    assert.equal(await found("appVersion=1.0"), "abc");
    assert.equal(await found("appVersion=1"), "");
    assert.equal(await found("platform=phone"), "abc");
    assert.equal(await found("platform=Phone"), "");
    assert.equal(await found("platform=watch&appVersion=1.0&state=open"), "c");
    assert.equal(await found(`deviceID=${ids[1]}`), "bcd");
    assert.equal(await found(`deviceID=${ids[1]}&appVersion=1.0&state=open`), "c");
    const first = await list("state=open&sortOrder=firstSeen&pageSize=2");
    const second = await list(`pagingToken=${first.nextToken}`);
    assert.deepEqual(
      second.pageResults.map((each: { fingerprint: string }) => names.get(each.fingerprint)),
      ["d"],
    );
  });
});

// spec/devices#crash-statistics
describe("GET …/crashes/{fingerprint}/statistics", () => {
  it("returns counts of reports by day and by version, until their day is deleted", async () => {
    const crash = await newCrash();
    test.advance(dayMs - (test.now() % dayMs));
    const day = test.now();
    for (const version of ["1", "1", "2", ""]) await crash.report(version);
    test.advance(dayMs);
    await crash.report("2");
    const { status, body } = await crash.read("/statistics");
    assert.equal(status, 200, body.message);
    const days = [
      { start: date(day), reports: 4 },
      { start: date(day + dayMs), reports: 1 },
    ];
    assert.deepEqual(body.result, {
      from: date(day - 12 * dayMs),
      to: date(day + 2 * dayMs),
      days,
      versions: [
        { appVersion: "1", osVersion: "19", reports: 2 },
        { appVersion: "2", osVersion: "19", reports: 2 },
        { osVersion: "19", reports: 1 },
      ],
    });
    assert.deepEqual((await crash.read()).body.result.days, days);
    const only = (await crash.read(`/statistics?from=${day}&to=${day}`)).body.result;
    assert.deepEqual([only.days, only.to], [days.slice(0, 1), date(day + dayMs)]);
    const backwards = await crash.read(`/statistics?from=${day + dayMs}&to=${day}`);
    assertError(backwards, 400, "ParameterOutOfRange", 514, "to must not be before from.");
    const long = await crash.read(`/statistics?from=${day - 2_000 * dayMs}&to=${day}`);
    assertError(long, 400, "ParameterOutOfRange", 514, "from and to must not be more than 2000 days apart.");

    test.advance(90 * dayMs);
    await maintain(test.app);
    const left = (await crash.read(`/statistics?from=${day}&to=${test.now()}`)).body.result;
    assert.deepEqual(left.days, days.slice(1));
    assert.equal((await crash.read()).body.result.reports, 5);
  });
});
