import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { rounds } from "../../test/rounds.ts";
import type { NewApplication } from "../applications/applications.store.ts";

const hour = 3_600_000;
const day = 24 * hour;

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator()).token;
});
after(() => test.close());

function read(path: string, application = test.application, token = operator): Promise<Answer> {
  return test.call(`GET /_/api/applications/${application.appid}/metrics${path}`, { token });
}

interface Point {
  readonly start: string;
  readonly count: number;
  readonly [name: string]: unknown;
}

interface Series {
  readonly value?: string;
  readonly group?: string;
  readonly isOther?: true;
  readonly points: readonly Point[];
}

async function readSeries(key: string, query: string, application = test.application): Promise<Series[]> {
  const { status, body } = await read(`/${encodeURIComponent(key)}?${query}`, application);
  assert.equal(status, 200, JSON.stringify(body));
  return body.result.series;
}

/** Returns the points with events, by start of interval. */
function nonEmptyPoints({ points }: { points: readonly Point[] }): Record<string, unknown> {
  return Object.fromEntries(points.filter(({ count }) => count > 0).map(({ start, ...point }) => [start, point]));
}

function date(ms: number): string {
  return `/Date(${ms})/`;
}

// spec/metrics#names-of-values
describe("GET …/metrics/{key}/values", () => {
  it("lists the names of values with their counts of numbers and strings, the most frequent first", async () => {
    const application = await test.createApplication();
    const token = await test.registerDevice(application);
    const events = [{ score: 1 }, { score: "two", won: true }, { score: 3, won: false }].map((values) => {
      return { key: "level", timestamp: date(test.now()), values };
    });
    await test.call("POST /metrics/events", { token, body: { events } });
    const values = [
      { name: "score", numbers: 2, texts: 1 },
      { name: "won", numbers: 0, texts: 2 },
    ];
    const ask = async (query = "") => (await read(`/level/values${query}`, application)).body.result;
    assert.deepEqual(await ask(), { key: "level", values });
    await compact(application);
    assert.deepEqual(await ask(), { key: "level", values });
    assert.deepEqual(await ask(`?to=${date(test.now() - 40 * 86_400_000)}`), { key: "level", values: [] });
    assert.equal((await read("/other/values", application)).body.error, "ItemDoesNotExist");
  });
});

function compact(application = test.application): Promise<void> {
  return test.app.compactor.compact(application.appid);
}

/** Runs each test twice: with all events in the inbox, and with all events compacted. */
const states: readonly [name: string, settle: (application: NewApplication) => Promise<void>][] = [
  ["waiting in the inbox", async () => {}],
  ["compacted", compact],
];

for (const [state, settle] of states) {
  describe(`events of an application, ${state}`, () => {
    it("GET …/metrics lists the keys in order and in pages, with the count and the latest event", async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      const keys = ["b", "a", "__proto__", "%", "𝒳", "b"];
      for (const key of keys) await test.call(`POST /metrics/events/${encodeURIComponent(key)}`, { token });
      await settle(application);
      test.advance(5);
      await test.call("POST /metrics/events/a", { token, body: { timestamp: 0 } });
      const items = [
        ["%", 1, 5],
        ["__proto__", 1, 5],
        ["a", 2, 0],
        ["b", 2, 5],
        ["𝒳", 1, 5],
      ].map(([key, count, ago]) => ({ key, count, lastSeen: date(test.now() - Number(ago)) }));
      const answer = await read("", application);
      assertResult(answer, 200, { pageResults: items, currentToken: answer.body.result.currentToken });

      const walked: unknown[] = [];
      let page = (await read("?pageSize=2", application)).body.result;
      for (;;) {
        walked.push(...page.pageResults);
        if (page.nextToken === undefined) break;
        page = (await read(`?pagingToken=${page.nextToken}`, application)).body.result;
      }
      assert.deepEqual(walked, items);
      const back = (await read(`?pagingToken=${page.previousToken}`, application)).body.result;
      assert.deepEqual(back.pageResults, items.slice(2, 4));
    });

    it("GET …/metrics lists the keys with a prefix, in both directions", async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      for (const key of ["a", "map", "map.a", "map.b", "map.c", "Map", "maq"]) {
        await test.call(`POST /metrics/events/${key}`, { token });
      }
      await settle(application);
      const keysOf = (answer: Answer) => answer.body.result.pageResults.map(({ key }: { key: string }) => key);
      const first = await read("?keyPrefix=map&pageSize=3", application);
      assert.deepEqual(keysOf(first), ["map", "map.a", "map.b"]);
      const second = await read(`?pagingToken=${first.body.result.nextToken}`, application);
      assert.deepEqual([keysOf(second), second.body.result.nextToken], [["map.c"], undefined]);
      const back = await read(`?pagingToken=${second.body.result.previousToken}`, application);
      assert.deepEqual([keysOf(back), back.body.result.previousToken], [["map", "map.a", "map.b"], undefined]);
      assert.deepEqual(keysOf(await read("?keyPrefix=mapp", application)), []);
      assert.deepEqual(keysOf(await read("?keyPrefix=ma", application)), ["map", "map.a", "map.b", "map.c", "maq"]);
    });

    // spec/metrics#days-of-keys
    it("GET …/metrics?include=days counts the events of each of the last 30 days, for each key of a page", async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      const today = Math.floor(test.now() / day) * day;
      const at = (key: string, ms: number, values = {}) => ({ key, timestamp: date(ms), values });
      const events = [
        at("a", today),
        at("a", today, { score: 3, world: "ice" }),
        at("a", today - 1),
        at("a", today - 29 * day),
        at("a", today - 29 * day - 1),
        at("b.c", today - 2 * day),
        at("__proto__", today - 7 * day),
      ];
      const { body } = await test.call("POST /metrics/events", { token, body: { events } });
      assert.equal(body.result.accepted, events.length);
      await settle(application);
      await test.call("POST /metrics/events/b.c", { token }); // always waits
      const timed = await test.call("POST /metrics/events/a", { token, body: { timeoutInSeconds: 60 } });
      await test.call(`DELETE /metrics/events/${timed.body.result.id}`, { token }); // the duration is not an event
      const daysOf = (found: Record<number, number>) =>
        Array.from({ length: 30 }, (_, index) => found[index - 29] ?? 0);
      const expected = {
        __proto: daysOf({ [-7]: 1 }),
        a: daysOf({ [-29]: 1, [-1]: 1, 0: 3 }),
        "b.c": daysOf({ [-2]: 1, 0: 1 }),
      };
      const list = async (query: string) => (await read(query, application)).body.result;
      const first = await list("?include=days&pageSize=2");
      const second = await list(`?pagingToken=${first.nextToken}`);
      assert.deepEqual(
        [...first.pageResults, ...second.pageResults].map(({ key, days }) => [key, days]),
        [
          ["__proto__", expected.__proto],
          ["a", expected.a],
          ["b.c", expected["b.c"]],
        ],
      );
      const plain = await list("");
      assert.ok(plain.pageResults.every((metric: object) => !("days" in metric)));
      assert.deepEqual((await list("?include=days&keyPrefix=none")).pageResults, []);
      assertError(
        await read("?include=everything", application),
        400,
        "ParameterIncorrectFormat",
        515,
        "include must be one of days.",
      );
    });

    // spec/metrics#series
    it("GET …/metrics/{key} returns a point per interval, for the events and for each value", async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      const user = await test.signUp("Jane", application);
      const start = Math.floor(test.now() / hour) * hour;
      const send = (as: string, body: object) => test.call("POST /metrics/events/level", { token: as, body });
      await send(token, { timestamp: start - hour, values: { score: 10, world: "ice" } });
      await send(user.token, { timestamp: start - 1, values: { score: 20.5, world: "fire", won: true } });
      await send(user.token, { timestamp: start, value: -3 });
      await settle(application);
      const query = `from=${start - 2 * hour + 1}&to=${start + 1}&interval=hour`;
      const answer = await read(`/level?${query}`, application);
      const times = [start - 2 * hour, start - hour, start].map(date);
      const points = (...found: object[]) => times.map((each, index) => ({ start: each, count: 0, ...found[index] }));
      const [p50, p95] = [10, 10].map((each) => answer.body.result.series[1].points[1].p50 ?? each);
      assert.ok(Math.abs(p50 - 10) <= 0.1);
      const three = answer.body.result.series.find(({ value }: Series) => value === "value").points[2].p50;
      assert.ok(Math.abs(three + 3) <= 0.03);
      assertResult(answer, 200, {
        key: "level",
        interval: "hour",
        from: date(start - 2 * hour),
        to: date(start + hour),
        series: [
          {
            points: points(
              { devices: 0, users: 0 },
              { count: 2, devices: 2, users: 1 },
              { count: 1, devices: 1, users: 1 },
            ),
          },
          {
            value: "score",
            points: points({}, { count: 2, sum: 30.5, min: 10, max: 20.5, mean: 15.25, p50, p95, p99: p95 }),
          },
          { value: "world", points: points({}, { count: 2 }) },
          {
            value: "value",
            points: points(
              {},
              {},
              { count: 1, sum: -3, min: -3, max: -3, mean: -3, p50: three, p95: three, p99: three },
            ),
          },
          { value: "won", points: points({}, { count: 1 }) },
        ],
      });
      const [score, ...more] = await readSeries("level", `${query}&value=score`, application);
      assert.deepEqual([score, more], [answer.body.result.series[1], []]);

      const byWorld = await readSeries("level", `${query}&groupBy=world`, application);
      const once = { [date(start - hour)]: { count: 1, devices: 1, users: 0 } };
      const byUser = { [date(start - hour)]: { count: 1, devices: 1, users: 1 } };
      assert.deepEqual(
        byWorld.map(({ group, ...series }) => [group, nonEmptyPoints(series)]),
        [
          ["fire", byUser],
          ["ice", once],
        ],
      );
      const [won, ...others] = await readSeries("level", `${query}&groupBy=won&value=score`, application);
      assert.deepEqual([won?.group, won?.value, others], ["true", "score", []]);
      assert.deepEqual(
        won?.points.map(({ count, sum }) => [count, sum]),
        [
          [0, undefined],
          [1, 20.5],
          [0, undefined],
        ],
      );
    });

    it("are grouped by days, weeks that start on Monday, or months, for dates from the year 1 to 9999", async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      const times = ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "2026-02-28T10:00Z", "2026-03-02T00:00Z"];
      for (const timestamp of [...times, "9999-12-31T23:59:59.999Z"]) {
        await test.call("POST /metrics/events/a", { token, body: { timestamp } });
      }
      await settle(application);
      const starts = async (interval: string, from: string, to: string) => {
        const [events] = await readSeries("a", `interval=${interval}&from=${from}&to=${to}`, application);
        return events?.points.map(({ start, count }) => [new Date(Number(start.slice(6, -2))).toISOString(), count]);
      };
      assert.deepEqual(await starts("week", "2026-02-25", "2026-03-02T00:00:01Z"), [
        ["2026-02-23T00:00:00.000Z", 1],
        ["2026-03-02T00:00:00.000Z", 1],
      ]);
      assert.deepEqual(await starts("month", "2026-02-28", "2026-03-01"), [["2026-02-01T00:00:00.000Z", 1]]);
      assert.deepEqual(await starts("day", "1969-12-31", "1970-01-02"), [
        ["1969-12-31T00:00:00.000Z", 1],
        ["1970-01-01T00:00:00.000Z", 0],
      ]);
      for (const interval of ["hour", "day", "week", "month"]) {
        for (const at of ["0001-01-01", "9999-12-31T23:59:59.999Z"]) {
          const [point, ...more] = (await starts(interval, at, at)) ?? [];
          assert.deepEqual([point?.[1], more], [1, []], `${interval} ${at}`);
        }
      }
    });

    // spec/metrics#raw-events
    it("GET …/events returns the events as reported, the latest first, in pages", async () => {
      const application = await test.createApplication();
      const user = await test.signUp("Jane", application);
      const token = await test.registerDevice(application);
      const single = await test.call("POST /metrics/events/level", {
        token: user.token,
        body: '{"values":{"__proto__":"x","b":1}}',
      });
      const received = test.now();
      const events = Array.from({ length: 25 }, (_, index) => ({
        key: index % 5 === 4 ? "other" : "level",
        value: index,
        timestamp: received - index * 10 * 60_000 - 1,
      }));
      await test.call("POST /metrics/events", { token, body: { events } });
      await settle(application);
      test.advance(7);
      await test.call(`DELETE /metrics/events/${single.body.result.id}`, { token: user.token });

      const all = (await read("/level/events", application)).body.result;
      const [first, ...rest] = all.pageResults;
      assert.match(first.device, /^[0-9a-f]{16}$/);
      assert.match(first.user, /^[0-9a-f]{16}$/);
      assert.deepEqual(first, {
        id: single.body.result.id,
        timestamp: date(received),
        received: date(received),
        device: first.device,
        user: first.user,
        values: JSON.parse('{"__proto__":"x","b":1}'),
        elapsedTimeInMs: 7,
      });
      const { device } = rest[0];
      assert.notEqual(device, first.device);
      const expected = events.filter(({ key }) => key === "level");
      assert.deepEqual(
        rest,
        expected.map(({ value, timestamp }) => ({
          timestamp: date(timestamp),
          received: date(received),
          device,
          values: { value },
        })),
      );
      const walked: unknown[] = [];
      let page = (await read("/level/events?pageSize=4", application)).body.result;
      for (;;) {
        walked.push(...page.pageResults);
        if (page.nextToken === undefined) break;
        page = (await read(`/level/events?pagingToken=${page.nextToken}`, application)).body.result;
      }
      assert.deepEqual(walked, all.pageResults);
      const back = (await read(`/level/events?pagingToken=${page.previousToken}`, application)).body.result;
      assert.deepEqual(back.pageResults, all.pageResults.slice(-5, -1));
      const { to, from } = { from: received - 3 * hour, to: received - hour };
      const within = (await read(`/level/events?from=${from}&to=${to}`, application)).body.result.pageResults;
      const isWithin = ({ timestamp }: { timestamp: number }) => timestamp >= from && timestamp < to;
      assert.equal(within.length, expected.filter(isWithin).length);
    });

    it("include the duration of a timed event as one of its values, and count it once", async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      const body = { timeoutInSeconds: 60 };
      const { id } = (await test.call("POST /metrics/events/game", { token, body })).body.result;
      const start = test.now();
      await settle(application);
      test.advance(500);
      await test.call(`DELETE /metrics/events/${id}`, { token });
      await settle(application);
      const [events, elapsed] = await readSeries("game", `from=${start - 1}&to=${start + 1}`, application);
      assert.deepEqual(nonEmptyPoints(events ?? { points: [] }), {
        [date(Math.floor(start / day) * day)]: { count: 1, devices: 1, users: 0 },
      });
      assert.equal(elapsed?.value, "elapsedTimeInMs");
      const [point] = elapsed?.points.filter(({ count }) => count > 0) ?? [];
      assert.deepEqual([point?.count, point?.["sum"], point?.["min"]], [1, 500, 500]);
      const { pageResults } = (await read("", application)).body.result;
      assert.equal(pageResults[0].count, 1);
    });

    it("are grouped by up to a hundred contents: the largest fifty groups are returned, and the others as one group without a name", async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      const contents = Array.from({ length: 150 }, (_, index) => (index === 0 ? "(other)" : `text ${index}`));
      const events = [...contents, ...contents.slice(0, 60), "(other)"].map((world) => ({
        key: "a",
        values: { world },
      }));
      await test.call("POST /metrics/events", { token, body: { events } });
      await settle(application);
      const series = await readSeries("a", "groupBy=world", application);
      const total = ({ points }: Series) => points.reduce((sum, { count }) => sum + count, 0);
      assert.equal(series.length, 51);
      assert.deepEqual([series[0]?.group, series[0] && total(series[0])], ["(other)", 3]);
      const rest = series.at(-1);
      assert.deepEqual([rest?.isOther, rest?.group, rest && total(rest)], [true, undefined, 211 - 3 - 49 * 2]);
    });

    it('preserve values as sent: "value" takes precedence over values, strings stay strings, -0 becomes 0, null is absent', async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      const cases: [sent: string, stored: unknown][] = [
        ['{"value":2,"values":{"value":1,"b":""}}', { value: 2, b: "" }],
        ['{"value":"","values":{"a":null}}', {}],
        ['{"value":{"value":2,"b":true,"c":null}}', { value: 2, b: true }],
        ['{"VALUE":{"a":"x","A":"y"},"Values":{"a":1,"b":2}}', { b: 2, a: "x", A: "y" }],
        ['{"value":{"a":null},"values":{"a":1}}', { a: 1 }],
        ['{"value":"{\\"a\\":1}"}', { value: '{"a":1}' }],
        ['{"value":{"__proto__":1}}', JSON.parse('{"__proto__":1}')],
        ['{"value":"12"}', { value: "12" }],
        ['{"value":-0}', { value: 0 }],
        ['{"values":"{\\"a\\":true}"}', { a: true }],
        ['{"value":"\u202Ea\u0301𝒳"}', { value: "\u202Ea\u0301𝒳" }],
        ['{"value":123456789012345678901}', { value: 123456789012345680000 }],
      ];
      for (const [index, [body]] of cases.entries()) {
        const sent = `{"timestamp":${index},${body.slice(1)}`;
        assert.equal((await test.call("POST /metrics/events/a", { token, body: sent })).status, 201, body);
      }
      await settle(application);
      const { pageResults } = (await read("/a/events", application)).body.result;
      assert.deepEqual(
        pageResults.map(({ values }: { values: unknown }) => values).reverse(),
        cases.map(([, stored]) => stored),
      );
    });

    it("accept numbers of any size; the sum and the mean are omitted when they overflow", async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      for (const value of [1.7e308, 1.7e308, 5e-324, -5e-324]) {
        await test.call("POST /metrics/events/a", { token, body: { value } });
      }
      await settle(application);
      const [, series] = await readSeries("a", "", application);
      const [point] = series?.points.filter(({ count }) => count > 0) ?? [];
      assert.deepEqual(
        [point?.count, point?.["sum"], point?.["mean"], point?.["min"], point?.["max"]],
        [4, undefined, undefined, -5e-324, 1.7e308],
      );
    });

    it("match wildcards in keys, names and contents literally", async () => {
      const application = await test.createApplication();
      const token = await test.registerDevice(application);
      for (const key of ["abc", "a%", "a_c"]) {
        await test.call(`POST /metrics/events/${encodeURIComponent(key)}`, { token, body: { values: { [key]: key } } });
      }
      await settle(application);
      for (const key of ["a%", "a_c"]) {
        const [events, ...values] = await readSeries(key, "", application);
        assert.equal(
          events?.points.reduce((sum, { count }) => sum + count, 0),
          1,
        );
        assert.deepEqual(
          values.map(({ value }) => value),
          [key],
        );
        const groups = await readSeries(key, `groupBy=${encodeURIComponent(key)}`, application);
        assert.deepEqual(
          groups.map(({ group }) => group),
          [key],
        );
      }
    });
  });
}

// spec/metrics#series
describe("requests of operators for metrics", () => {
  it("answer 404 ItemDoesNotExist for an unknown key, and for a key of another application", async () => {
    const other = await test.createApplication();
    const token = await test.registerDevice(other);
    await test.call("POST /metrics/events/secret", { token });
    for (const path of ["/secret", "/never", "/secret/events"]) {
      assertError(await read(path), 404, "ItemDoesNotExist", 769, "The item does not exist.");
    }
    assert.equal((await read("/secret", other)).status, 200);
  });

  it("answer 400 for ranges that end before they start and for more than 2,000 points", async () => {
    await test.call("POST /metrics/events/a", { token: await test.registerDevice() });
    const wrongOrder = await read("/a?from=2&to=1");
    assertError(wrongOrder, 400, "ParameterOutOfRange", 514, "to must not be before from.");
    const tooMany = await read(`/a?interval=day&from=0&to=${2_000 * day + 1}`);
    const message = "from and to must not be more than 2000 intervals apart.";
    assertError(tooMany, 400, "ParameterOutOfRange", 514, message);
    assertError(await read("/a?from=0001-01-01&to=9999-01-01"), 400, "ParameterOutOfRange", 514, message);
    assert.equal((await readSeries("a", `interval=day&from=0&to=${2_000 * day}`))[0]?.points.length, 2_000);
    assert.equal((await readSeries("a", "interval=hour"))[0]?.points.length, test.now() % hour === 0 ? 24 : 25);
    assert.equal((await read("/a?interval=year")).body.error, "ParameterIncorrectFormat");
    assert.equal((await read("/a?from=2015-02-30")).body.error, "ParameterIncorrectFormat");
  });

  // spec/metrics#raw-events
  it("return salted hashes that differ between applications and are stable for one user", async () => {
    const of = async (application: NewApplication) => {
      const token = await test.registerDevice(application);
      await test.call("POST /metrics/events/p", { token });
      await compact(application);
      await test.call("POST /metrics/events/p", { token });
      const { pageResults } = (await read("/p/events", application)).body.result;
      assert.equal(pageResults.length, 2);
      assert.equal(pageResults[0].device, pageResults[1].device);
      return pageResults[0].device;
    };
    assert.notEqual(await of(await test.createApplication()), await of(await test.createApplication()));
  });
});

// spec/metrics#precision
describe("series match a calculation over the same events", () => {
  const worlds = ["ice", "fire", "", "__proto__", "𝒳"];
  const event = fc.record({
    key: fc.constantFrom("a", "b", "constructor"),
    hoursAgo: fc.integer({ min: 0, max: 24 * 29 }),
    device: fc.nat({ max: 3 }),
    score: fc.option(fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.constant(0)), { nil: undefined }),
    world: fc.option(fc.constantFrom(...worlds), { nil: undefined }),
    won: fc.option(fc.boolean(), { nil: undefined }),
  });
  const call = fc.record({
    events: fc.array(event, { minLength: 1, maxLength: 60 }),
    compacts: fc.boolean(),
  });

  it("have exact counts, sums, extremes and distinct counts, and percentiles within 1 %, whenever events are compacted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 6 }), async (calls) => {
        const application = await test.createApplication();
        const tokens = await Promise.all([0, 1, 2, 3].map(() => test.registerDevice(application)));
        const now = test.now();
        const all: { key: string; at: number; device: number; score?: number; world?: string; won?: boolean }[] = [];
        for (const { events, compacts } of calls) {
          for (const [device, ofDevice] of Map.groupBy(events, (each) => each.device)) {
            const sent = ofDevice.map(({ key, hoursAgo, score, world, won }) => {
              const at = now - hoursAgo * hour;
              all.push({
                key,
                at,
                device,
                ...(score !== undefined && { score }),
                ...(world !== undefined && { world }),
                ...(won !== undefined && { won }),
              });
              return { key, timestamp: at, values: { score, world, won } };
            });
            const token = tokens[device] ?? "";
            const { body } = await test.call("POST /metrics/events", { token, body: { events: sent } });
            assert.equal(body.result.accepted, sent.length);
          }
          if (compacts) await compact(application);
        }

        for (const [key, events] of Map.groupBy(all, (each) => each.key)) {
          for (const interval of ["hour", "day"] as const) {
            const length = interval === "hour" ? hour : day;
            const startOf = ({ at }: { at: number }) => date(Math.floor(at / length) * length);
            const query = `interval=${interval}&from=${now - 30 * day}&to=${now + 1}`;
            const [counts, ...values] = await readSeries(key, query, application);
            const expected: Record<string, unknown> = {};
            for (const [start, some] of Map.groupBy(events, startOf)) {
              expected[start] = {
                count: some.length,
                devices: new Set(some.map((each) => each.device)).size,
                users: 0,
              };
            }
            assert.deepEqual(nonEmptyPoints(counts ?? { points: [] }), expected);

            const scores = values.find(({ value }) => value === "score")?.points ?? [];
            const scored = events.filter(({ score }) => score !== undefined);
            const byStart = Map.groupBy(scored, startOf);
            assert.equal(scores.filter(({ count }) => count > 0).length, byStart.size);
            for (const point of scores)
              checkStats(
                point,
                (byStart.get(point.start) ?? []).map(({ score = 0 }) => score),
              );

            const groups = await readSeries(key, `${query}&groupBy=world&value=score`, application);
            const byWorld = Map.groupBy(
              events.filter(({ world }) => world !== undefined),
              ({ world }) => world,
            );
            assert.deepEqual(new Set(groups.map(({ group }) => group)), new Set(byWorld.keys()));
            for (const { group, points } of groups) {
              const scores = Map.groupBy(
                (byWorld.get(group) ?? []).filter(({ score }) => score !== undefined),
                startOf,
              );
              for (const point of points) {
                checkStats(
                  point,
                  (scores.get(point.start) ?? []).map(({ score = 0 }) => score),
                );
              }
            }
          }
          const raw = (await read(`/${key}/events?pageSize=1000`, application)).body.result.pageResults;
          assert.equal(raw.length, events.length);
        }
      }),
      { numRuns: rounds(12) },
    );
  });

  function checkStats(point: Point, numbers: number[]): void {
    const { start: _, p50, p95, p99, ...exact } = point;
    if (numbers.length === 0) {
      assert.deepEqual(exact, { count: 0 });
      return;
    }
    const sum = numbers.reduce((total, number) => total + number, 0);
    const sorted = numbers.toSorted((a, b) => a - b);
    const [min, max] = [sorted[0], sorted.at(-1)];
    assert.deepEqual(exact, { count: numbers.length, sum, min, max, mean: sum / numbers.length });
    for (const [share, found] of [
      [0.5, p50],
      [0.95, p95],
      [0.99, p99],
    ] as const) {
      const right = sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
      assert.ok(Math.abs(Number(found) - right) <= Math.abs(right) * 0.0101, `p${share}: ${found}, not ${right}`);
    }
  }
});
