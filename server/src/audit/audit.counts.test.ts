import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, startTestApp, type TestApp } from "../../test/harness.ts";
import { maintain } from "../app/maintenance.ts";
import type { AuditRow } from "../db/tables.ts";
import { countAuditLog } from "./audit.counts.ts";
import { newAuditRow } from "./audit.events.ts";
import { insertAuditRows } from "./audit.store.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let test: TestApp;
before(async () => {
  test = await startTestApp({ AUDIT_DAYS: "30" });
  test.advance(dayMs - (test.now() % dayMs)); // begins a day
});
after(() => test.close());

/** Calls as a viewer, whose session begins with the call: tests move the clock by days. */
async function read(query: string) {
  const { token } = await test.createOperator(undefined, "viewer");
  return test.call(`GET /_/api/audit/counts?${query}`, { token });
}

interface Given {
  readonly action?: string;
  readonly appid?: string;
  readonly kind?: AuditRow["actor_kind"];
  readonly error?: string;
}

/** Writes entries with the time of the clock. */
async function write(count: number, { action = "one", appid, kind = "user", error }: Given = {}): Promise<void> {
  const { database, ids } = test.app;
  const details = error === undefined ? {} : { error };
  const event = { actor: { kind, id: "x" }, action, applicationId: appid, details } as const;
  for (let left = count; left > 0; left -= 500) {
    const rows = Array.from({ length: Math.min(left, 500) }, () => newAuditRow(event, test.now(), ids));
    await database.write(({ queries }) => insertAuditRows(rows, queries));
  }
}

/** Reads the counts, with times as milliseconds since the beginning of the range. */
async function counts(query: string) {
  const { status, body } = await read(query);
  assert.equal(status, 200, JSON.stringify(body));
  const at = (date: string) => Number(/\d+/.exec(date)?.[0]);
  const { from, to, points, actions, keptDays, ...rest } = body.result;
  assert.equal(keptDays, 30);
  return {
    length: at(to) - at(from),
    points: points.map(({ time, entries, refused }: { time: string; entries: number; refused: number }) => [
      at(time) - at(from),
      entries,
      refused,
    ]),
    actions: actions.map(({ action, entries }: { action: string; entries: number }) => [action, entries]),
    ...rest,
  };
}

function range(from: number, to: number): string {
  return `from=${encodeURIComponent(`/Date(${from})/`)}&to=${encodeURIComponent(`/Date(${to})/`)}`;
}

// spec/operators#counts-of-the-audit-log
describe("GET /_/api/audit/counts", () => {
  it("counts entries by day, hour and action with each filter, the same before and after maintenance", async () => {
    const [appid, another] = [test.app.ids.newId("App"), test.app.ids.newId("App")];
    const start = test.now();
    await write(3, { appid });
    test.advance(hourMs);
    await write(2, { appid, action: "two", error: "AuthFailed" });
    await write(4, { appid: another });
    test.advance(dayMs);
    await write(1, { appid, action: "two", kind: "operator" });
    const twoDays = range(start, start + 2 * dayMs);
    const readAll = async () => ({
      days: await counts(`${twoDays}&appid=${appid}`),
      hours: await counts(`${range(start, start + 3 * hourMs)}&interval=hour&appid=${appid}`),
      refused: await counts(`${twoDays}&appid=${appid}&refused=true`),
      done: (await counts(`${twoDays}&appid=${appid}&refused=false`)).points,
      action: (await counts(`${twoDays}&appid=${appid}&action=two,three`)).points,
      except: (await counts(`${twoDays}&appid=${appid}&exceptAction=one`)).points,
      kind: (await counts(`${twoDays}&appid=${appid}&actorKind=operator`)).points,
      whole: (await counts(`${twoDays}&action=one`)).points,
    });
    const expected = {
      days: {
        interval: "day",
        length: 2 * dayMs,
        points: [
          [0, 5, 2],
          [dayMs, 1, 0],
        ],
        actions: [
          ["one", 3],
          ["two", 3],
        ],
      },
      hours: {
        interval: "hour",
        length: 3 * hourMs,
        points: [
          [0, 3, 0],
          [hourMs, 2, 2],
        ],
        actions: [
          ["one", 3],
          ["two", 2],
        ],
      },
      refused: { interval: "day", length: 2 * dayMs, points: [[0, 2, 2]], actions: [["two", 2]] },
      done: [
        [0, 3, 0],
        [dayMs, 1, 0],
      ],
      action: [
        [0, 2, 2],
        [dayMs, 1, 0],
      ],
      except: [
        [0, 2, 2],
        [dayMs, 1, 0],
      ],
      kind: [[dayMs, 1, 0]],
      whole: [[0, 7, 0]],
    };
    assert.deepEqual(await readAll(), expected);
    test.advance(2 * hourMs);
    await maintain(test.app);
    assert.deepEqual(await readAll(), expected);
    const kept = await test.app.database.reads.selectFrom("audit_counts").select("entries").execute();
    assert.ok(kept.length > 0);
  });

  it("counts an hour once, even when two processes count it concurrently or after an interruption", async () => {
    const appid = test.app.ids.newId("App");
    const start = test.now();
    for (let hour = 0; hour < 5; hour += 1) {
      await write(2, { appid });
      test.advance(hourMs);
    }
    test.advance(hourMs);
    const stopped = new AbortController();
    stopped.abort();
    await assert.rejects(countAuditLog(test.now(), test.app.database, stopped.signal), { name: "AbortError" });
    // A process may fail when another has stored the same hour, and continues a minute later.
    const processes = [1, 2].map(() => countAuditLog(test.now(), test.app.database));
    await Promise.allSettled(processes);
    await countAuditLog(test.now(), test.app.database);
    const { points } = await counts(`${range(start, test.now())}&appid=${appid}`);
    assert.equal(
      points.reduce((sum: number, [, entries]: number[]) => sum + (entries ?? 0), 0),
      10,
    );
  });

  it("counts an hour only after five minutes, for entries of long transactions", async () => {
    const appid = test.app.ids.newId("App");
    test.advance(hourMs - (test.now() % hourMs));
    const start = test.now();
    await write(1, { appid });
    test.advance(hourMs + 299_000);
    await countAuditLog(test.now(), test.app.database);
    test.advance(-hourMs);
    await write(1, { appid });
    test.advance(hourMs + 1_000);
    await countAuditLog(test.now(), test.app.database);
    assert.deepEqual((await counts(`${range(start, start + hourMs)}&interval=hour&appid=${appid}`)).points, [
      [0, 2, 0],
    ]);
  });

  it("counts at most 5,000 entries of hours that maintenance has not counted, and says so", async () => {
    const appid = test.app.ids.newId("App");
    test.advance(dayMs - (test.now() % dayMs));
    const start = test.now();
    await write(5_000, { appid });
    const day = `${range(start, start + dayMs)}&appid=${appid}`;
    const { points, isAtLeast } = await counts(day);
    assert.deepEqual([points, isAtLeast], [[[0, 5_000, 0]], undefined]);
    await write(1, { appid });
    const more = await counts(day);
    assert.deepEqual([more.points, more.isAtLeast], [[[0, 5_000, 0]], true]);
    test.advance(2 * hourMs);
    await maintain(test.app);
    const counted = await counts(day);
    assert.deepEqual([counted.points, counted.isAtLeast], [[[0, 5_001, 0]], undefined]);
  });

  it("covers 30 days or 24 hours by default, and refuses a range that is too long or negative", async () => {
    const { length } = await counts("");
    assert.equal(length, 31 * dayMs); // with the day that has begun
    assert.ok([24, 25].includes((await counts("interval=hour")).length / hourMs));
    const now = test.now();
    const names = Array.from({ length: 21 }, (_, n) => `a${n}`).join(",");
    for (const [query, message] of [
      [range(now, now - dayMs), "to must not be before from."],
      [range(now - 2_002 * dayMs, now), "from and to must not be more than 2000 intervals apart."],
      [`interval=hour&${range(now - 2_002 * hourMs, now)}`, "from and to must not be more than 2000 intervals apart."],
      [`action=${names}`, "action must have at most 20 names."],
    ] as const) {
      assertError(await read(query), 400, "ParameterOutOfRange", 514, message);
    }
  });

  // spec/operators#counts-of-the-audit-log
  it("stores hours for eight days and days for AUDIT_DAYS, and counts no entry again afterwards", async () => {
    const appid = test.app.ids.newId("App");
    test.advance(dayMs - (test.now() % dayMs));
    const start = test.now();
    await write(3, { appid });
    test.advance(2 * hourMs);
    await maintain(test.app);
    const day = `${range(start, start + dayMs)}&appid=${appid}`;
    test.advance(9 * dayMs);
    await maintain(test.app); // that hour is the newest one, and tells until when entries are counted
    await maintain(test.app);
    assert.deepEqual((await counts(day)).points, [[0, 3, 0]]);
    await write(1, { appid });
    test.advance(2 * hourMs);
    await maintain(test.app);
    assert.deepEqual((await counts(day)).points, [[0, 3, 0]]);
    assert.deepEqual((await counts(`${day}&interval=hour`)).points, []);
    test.advance(22 * dayMs);
    await maintain(test.app);
    assert.deepEqual((await counts(day)).points, []);
  });
});
