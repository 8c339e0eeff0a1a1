import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { sql } from "kysely";
import { type OpenTestDatabase, openTestDatabase } from "../../../test/databases.ts";
import { rounds } from "../../../test/rounds.ts";
import type { Key, Page, Position, Side } from "../../lib/keyset.ts";
import type { Database } from "../database.ts";
import { equals, numberOrder } from "./conditions.ts";
import { readPage } from "./page.ts";
import { type Scope, scopeStream } from "./scope.ts";

let opened: OpenTestDatabase;
let database: Database;
before(async () => {
  opened = await openTestDatabase({ connectionsMax: 4, timeoutMs: 10_000 });
  database = opened.database;
});
after(() => opened.close());

/** A row of a listing in descending order of both columns. */
interface Row {
  readonly created_at: number;
  readonly id: string;
}

let count = 0;
/** Stores the rows in a new listing, next to rows of another listing that must never appear. */
async function store(rows: readonly Row[]): Promise<string> {
  count += 1;
  const listing = `listing ${count}`;
  await database.write(async ({ queries }) => {
    for (const name of [listing, `${listing} of another`]) {
      const application = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
      await queries.insertInto("applications").values(application).execute();
      if (rows.length === 0) continue;
      const others = { unique_id: null, platform: "x", token_version: 0, modified_at: 0 };
      const devices = rows.map((row) => ({ application_id: name, ...row, ...others }));
      await queries.insertInto("devices").values(devices).execute();
    }
  });
  return listing;
}

type RowPage = Omit<Page<Row>, "keyOf">;

async function read(listing: string, position: Position, size: number): Promise<RowPage> {
  const scope: Scope = {
    shape: "devices",
    from: sql`devices`,
    select: sql`created_at, id`,
    conditions: [equals("application_id", listing)],
  };
  const stream = scopeStream<Row>(scope, numberOrder("created_at"), true, database.reads);
  const { keyOf: _, ...page } = await readPage(stream, position, size);
  return { ...page, rows: page.rows.map((row) => ({ ...row })) }; // rows of SQLite have no prototype
}

function keyOf({ created_at, id }: Row): Key {
  return [created_at, id];
}

/** Negative if a precedes b in the listing; ids are compared by their bytes. */
function compare(a: Key, b: Key): number {
  const [[createdA, idA], [createdB, idB]] = [a, b];
  if (createdA !== createdB) return Number(createdB) - Number(createdA);
  return Buffer.compare(Buffer.from(`${idB}`), Buffer.from(`${idA}`));
}

/** The expected page: a slice of the complete listing, and whether rows precede or follow it. */
function expectedPage(rows: readonly Row[], position: Position, size: number): RowPage {
  const listing = rows.toSorted((a, b) => compare(keyOf(a), keyOf(b)));
  function countUpTo(key: Key, included: boolean): number {
    return listing.filter((row) => compare(keyOf(row), key) < (included ? 1 : 0)).length;
  }
  function slice(start: number, end: number): RowPage {
    const [from, to] = [Math.min(start, listing.length), Math.min(end, listing.length)];
    return { rows: listing.slice(from, to), hasNext: to < listing.length, hasPrevious: from > 0 };
  }
  function sliceBefore(end: number): RowPage {
    return slice(Math.max(0, end - size), end);
  }
  switch (position.at) {
    case "start":
      return slice(0, size);
    case "end":
      return sliceBefore(listing.length);
    case "offset":
      return slice(position.offset, position.offset + size);
    case "after":
      return slice(countUpTo(position.key, true), countUpTo(position.key, true) + size);
    case "from":
      return slice(countUpTo(position.key, false), countUpTo(position.key, false) + size);
    case "before":
      return sliceBefore(countUpTo(position.key, false));
    case "until":
      return sliceBefore(countUpTo(position.key, true));
  }
}

const anyTime = fc.integer({ min: -2, max: 3 }); // few, so that many rows share one
const anyId = fc.constantFrom("", "0", "9", "A", "Z", "a", "aa", "b", "z", "é", "ﬀ", "😀", "_", "%");
const anyRow = fc.record({ created_at: anyTime, id: anyId }, { noNullPrototype: true });
const anyRows = fc.uniqueArray(anyRow, { selector: ({ id }) => id, maxLength: 12 });
const anyKey = anyRow.map(keyOf);
const anyPosition: fc.Arbitrary<Position> = fc.oneof(
  fc.record({ at: fc.constantFrom("start" as const, "end" as const) }),
  fc.record({ at: fc.constant("offset" as const), offset: fc.nat(15) }),
  fc.record({ at: fc.constantFrom<Side>("after", "from", "before", "until"), key: anyKey }),
);

describe("readPage", () => {
  it("returns a slice of the complete listing, from any position, empty or not", async () => {
    const positions = fc.array(fc.tuple(anyPosition, fc.integer({ min: 1, max: 5 })), { minLength: 4, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(anyRows, positions, async (rows, requests) => {
        const listing = await store(rows);
        for (const [position, size] of requests) {
          const page = await read(listing, position, size);
          assert.deepEqual(page, expectedPage(rows, position, size), JSON.stringify({ position, size }));
        }
      }),
      { numRuns: rounds(60) },
    );
  });

  it("returns every row once and in order, forward and back", async () => {
    await fc.assert(
      fc.asyncProperty(anyRows, fc.integer({ min: 1, max: 5 }), async (rows, size) => {
        const listing = await store(rows);
        const expected = rows.toSorted((a, b) => compare(keyOf(a), keyOf(b)));

        const forward: Row[] = [];
        let page = await read(listing, { at: "start" }, size);
        for (;;) {
          forward.push(...page.rows);
          const last = page.rows.at(-1);
          assert.equal(page.hasNext, forward.length < rows.length);
          if (!page.hasNext || last === undefined) break;
          page = await read(listing, { at: "after", key: keyOf(last) }, size);
        }
        assert.deepEqual(forward, expected);

        const backward: Row[] = [...page.rows];
        while (page.hasPrevious) {
          const [first] = page.rows;
          assert.ok(first !== undefined);
          page = await read(listing, { at: "before", key: keyOf(first) }, size);
          backward.unshift(...page.rows);
        }
        assert.deepEqual(backward, expected);
      }),
      { numRuns: rounds(30) },
    );
  });

  it("neither skips nor repeats rows when others are added or deleted during paging", async () => {
    const row = (created_at: number) => ({ created_at, id: `row ${created_at}` });
    const listing = await store([10, 20, 30, 40, 50, 60].map(row));
    const first = await read(listing, { at: "start" }, 2);
    assert.deepEqual(first.rows, [row(60), row(50)]);
    await database.write(async ({ queries }) => {
      const others = { application_id: listing, unique_id: null, platform: "x", token_version: 0, modified_at: 0 };
      await queries
        .insertInto("devices")
        .values([
          { ...row(70), ...others },
          { ...row(35), ...others },
        ])
        .execute();
      const isGone = ["row 50", "row 30"]; // the key of the next page among them
      await queries.deleteFrom("devices").where("application_id", "=", listing).where("id", "in", isGone).execute();
    });
    const second = await read(listing, { at: "after", key: keyOf(row(50)) }, 2);
    assert.deepEqual(second, { rows: [row(40), row(35)], hasNext: true, hasPrevious: true });
    const third = await read(listing, { at: "after", key: keyOf(row(35)) }, 2);
    assert.deepEqual(third, { rows: [row(20), row(10)], hasNext: false, hasPrevious: true });
    const back = await read(listing, { at: "before", key: keyOf(row(40)) }, 2);
    assert.deepEqual(back, { rows: [row(70), row(60)], hasNext: true, hasPrevious: false });
  });
});
