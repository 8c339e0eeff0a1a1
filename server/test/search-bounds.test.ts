import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { CheckinRow } from "../src/db/tables.ts";
import { rowsExaminedMax } from "../src/lib/call-work.ts";
import { destination, distanceMeters, type Location } from "../src/lib/locations.ts";
import { createRandom, pointWithin } from "./attacker.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { text } from "./people.ts";
import { type CheckinsPage, checkinRow, idsOf, insertCheckins, readCheckins } from "./rows.ts";

/**
 * The cost limits of a search (hostile.md 37, 38): it stops after a bounded number of examined rows, or when its client
 * has disconnected.
 */

let test: TestApp;
let reader: TestUser;
let other: TestUser;
let rows: CheckinRow[];
const rowsTotal = rowsExaminedMax + 2_000;
const vienna: Location = { lat: 48.2082, lng: 16.3738 };
before(async () => {
  test = await startTestApp();
  [reader, other] = [await test.signUp(), await test.signUp()];
  const random = createRandom(1);
  rows = Array.from({ length: rowsTotal }, (_, n) =>
    checkinRow({
      application_id: test.application.appid,
      id: test.app.ids.newId("Checkin"),
      user_id: other.id,
      read_permission: 1,
      created_at: n,
      tag: n === 0 ? "rare" : `t${n % 2}`,
      comment: n % 40 === 1 ? "odd" : "even",
      description: `d${n % 2}`,
      modified_at: (n * 7_919) % rowsTotal,
      ...pointWithin(vienna, 5_000, random),
    }),
  );
  await insertCheckins(test, rows);
});
after(() => test.close());

function statementsRun(): number {
  return test.app.database.statistics().statements.counts.reduce((sum, count) => sum + count, 0);
}

/** More statements than a search of this many rows needs to read each of them once or twice, hundreds at a time. */
const statementsMax = (3 * rowsExaminedMax) / 250;

/** Reads all pages from a first one on. Asserts that each call stays within the limit. */
async function walk(
  query: Record<string, string | number>,
  direction: "nextToken" | "previousToken" = "nextToken",
): Promise<CheckinsPage[]> {
  const pages: CheckinsPage[] = [];
  for (let asked = query; ; ) {
    const before = statementsRun();
    const page = await readCheckins(test, asked, reader);
    assert.ok(statementsRun() - before < statementsMax, `${statementsRun() - before} statements`);
    pages.push(page);
    assert.ok(pages.length < 200, "paging does not end");
    const token = page[direction];
    if (token === undefined) return pages;
    asked = { pagingToken: token };
  }
}

/** Returns the ids that a search must find, by a scan of all rows. */
function expected(isIn: (row: CheckinRow) => boolean, keyOf: (row: CheckinRow) => number): string[] {
  return rows
    .filter(isIn)
    .map((row) => ({ id: row.id, key: keyOf(row) }))
    .sort((a, b) => a.key - b.key || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);
}

const everywhere = `${text(vienna)},20000`;
/** A sixth of all rows: an order by distance examines each of them several times. */
const nearby = `${text(vienna)},2000`;
const isNearby = (row: CheckinRow) => distanceMeters(vienna, row) <= 2_000;

// spec/search#search-work
describe("a search that would examine more rows than one call may", () => {
  it("continues from page token to page token up to a large offset, also by distance", async () => {
    for (const [sortOrder, locationRange, isIn, keyOf] of [
      ["created", everywhere, () => true, createdAt],
      ["distance", everywhere, () => true, (row: CheckinRow) => distanceMeters(vienna, row)],
    ] as const) {
      const all = expected(isIn, keyOf);
      const offset = all.length - 5;
      const pages = await walk({ sortOrder, locationRange, pagingToken: `10;${offset}` });
      assert.ok(pages.length > 1, "one call must not reach the offset");
      assert.deepEqual(pages.flatMap(idsOf), all.slice(offset));
    }
  });

  it("returns the rows found so far, and later pages return the rest without gaps or repeats, in both directions", async () => {
    const center = destination(vienna, 90, 3_000);
    const near = (row: CheckinRow) => distanceMeters(center, row) <= 1_000;
    for (const [query, isIn, keyOf] of [
      [{ tag: "t1", comment: "odd", sortOrder: "created" }, isOdd, createdAt],
      [{ tag: "t1", sortOrder: "lastModified" }, (row) => row.tag === "t1", (row) => row.modified_at],
      [{ locationRange: `${text(center)},1000`, sortOrder: "created" }, near, createdAt],
      [
        { locationRange: nearby, tag: "t1", comment: "odd", sortOrder: "distance" },
        (row) => isOdd(row) && isNearby(row),
        (row) => distanceMeters(vienna, row),
      ],
    ] as [Record<string, string>, (row: CheckinRow) => boolean, (row: CheckinRow) => number][]) {
      const pages = await walk({ ...query, pageSize: 700 });
      const ids = expected(isIn, keyOf);
      assert.deepEqual(pages.flatMap(idsOf), ids, JSON.stringify(query));
      const last = pages.at(-1);
      assert.ok(last !== undefined);
      const back = await walk({ pagingToken: last.currentToken }, "previousToken");
      assert.deepEqual(back.toReversed().flatMap(idsOf), ids, `back through ${JSON.stringify(query)}`);
    }
  });

  it("pages through a distant crowd, in both directions", async () => {
    const center = destination(vienna, 250, 300_000);
    for (const [sortOrder, sign] of [
      ["distance", 1],
      ["-distance", -1],
    ] as const) {
      const meters = (row: CheckinRow) => sign * distanceMeters(center, row);
      const ids = expected(() => true, meters).slice(0, 150);
      const query = { sortOrder, locationRange: `${text(center)},310000`, pageSize: 50 };
      const seen: string[] = [];
      let last: CheckinsPage | undefined;
      for (let n = 0; n < 3; n += 1) {
        const before = statementsRun();
        last = await readCheckins(test, last === undefined ? query : { pagingToken: last.nextToken ?? "" }, reader);
        assert.ok(statementsRun() - before < statementsMax, `${statementsRun() - before} statements`);
        seen.push(...idsOf(last));
      }
      // The reversed order has the ids of equal distances the other way round; there are none among these.
      assert.deepEqual(seen, ids);
      const back = await readCheckins(test, { pagingToken: last?.previousToken ?? "" }, reader);
      assert.deepEqual(idsOf(back), ids.slice(50, 100));
    }
  });

  it("returns an empty last page when nothing is found", async () => {
    const pages = await walk({ tag: "t0", description: "d1", sortOrder: "-lastModified", pageSize: 10 });
    assert.ok(pages.length > 1);
    assert.deepEqual(pages.flatMap(idsOf), []);
    assert.equal(pages.at(-1)?.nextToken, undefined);
  });

  it("finds a few rows with one call, in every order", async () => {
    for (const sortOrder of ["created", "lastModified", "comment", "distance"]) {
      const page = await readCheckins(test, { tag: "rare", sortOrder, locationRange: everywhere }, reader);
      assert.deepEqual([page.pageResults.length, page.nextToken, page.previousToken], [1, undefined, undefined]);
    }
  });
});

describe("a search whose client has disconnected: hostile.md 38", () => {
  it("runs no more statements", async () => {
    const query = new URLSearchParams({ locationRange: nearby, sortOrder: "distance", pagingToken: "10;4000" });
    const before = statementsRun();
    await readCheckins(test, Object.fromEntries(query), reader);
    const whole = statementsRun() - before;

    const calls = Array.from({ length: 10 }, () => {
      const headers = { authorization: `Service ${reader.token}` };
      const call = request(`${test.url}/checkins?${query}`, { headers, agent: false });
      call.on("error", () => {});
      call.end();
      return call;
    });
    const begun = statementsRun();
    for (let waits = 0; statementsRun() < begun + 20 && waits < 1_000; waits++) await setTimeout(5);
    for (const call of calls) call.destroy();
    // The current statement finishes; a search that continued would not pause for so long.
    let stopped = -1;
    for (let waits = 0; stopped !== statementsRun(); waits++) {
      assert.ok(waits < 20, "the search goes on");
      stopped = statementsRun();
      await setTimeout(500);
    }
    assert.ok(stopped - begun < (calls.length * whole) / 2, `${stopped - begun} statements; ${whole} answer one call`);
  });
});

describe("the rows that a search examines count against the limit of its caller: hostile.md 28, 37", () => {
  it("a large search counts as several calls, also in a batch; a small page counts as one", async () => {
    // The burst of ten seconds: sixty calls, or two searches through all rows.
    const settings = { DATABASE_URL: test.config.databaseUrl, RATE_LIMIT_CALLER_PER_SECOND: "6" };
    const limited = await startTestApp(settings);
    try {
      for (const isBatched of [false, true]) {
        const { token } = await limited.signUp(`limited ${isBatched}`, test.application);
        const costly = `/checkins?${new URLSearchParams({ tag: "t0", description: "d1" })}`;
        const call = async (path: string): Promise<number> => {
          if (!isBatched) return (await limited.call(`GET ${path}`, { token })).status;
          const body = { requests: [{ method: "GET", path }] };
          const answer = await limited.call("POST /batch", { token, body });
          return answer.status === 200 ? answer.body.result.responses[0].status : answer.status;
        };
        for (let n = 0; n < 15; n++) assert.equal(await call("/checkins?pageSize=10"), 200);
        const statuses: number[] = [];
        for (let n = 0; n < 12; n++) statuses.push(await call(costly));
        assert.equal(statuses[0], 200);
        assert.ok(statuses.includes(429), `batched: ${isBatched}: ${statuses}`);
      }
    } finally {
      await limited.close();
    }
  });
});

function isOdd(row: CheckinRow): boolean {
  return row.tag === "t1" && row.comment === "odd";
}

function createdAt(row: CheckinRow): number {
  return row.created_at;
}
