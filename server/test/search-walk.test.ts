import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import type { NewApplication } from "../src/applications/applications.store.ts";
import { checkinOrders } from "../src/checkins/checkins.contract.ts";
import type { CheckinRow, FileRow } from "../src/db/tables.ts";
import { isInRange } from "../src/lib/cells.ts";
import { compareKeys, type Key } from "../src/lib/keyset.ts";
import { distanceMeters, type LocationRange } from "../src/lib/locations.ts";
import { keepAlive, startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { rounds } from "./rounds.ts";
import { checkinRow, fileRow, idsOf, insertCheckins, insertFiles, readCheckins, walkCheckins } from "./rows.ts";

/**
 * spec/search#page-stability: a row that is created or deleted between two pages causes no other row to be skipped or
 * repeated. For random rows, filters, orders and page sizes, forward and back, every row that exists throughout is
 * returned exactly once each way.
 */

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const sortOrders = [...checkinOrders, "distance" as const].flatMap((name) => [name, `-${name}`]);
const texts = fc.constantFrom(null, "a", "b", "é", "😀", "\uFFFD", "%");
const fields = fc.record({
  owner: fc.constantFrom(0, 0, 1, 2),
  isShared: fc.constantFrom(true, true, false),
  tag: texts,
  comment: texts,
  description: texts,
  created_at: fc.integer({ min: -2, max: 4 }),
  modified_at: fc.integer({ min: 0, max: 2 }),
  lat: fc.constantFrom(-90, 0, 0.001, 10, 90),
  lng: fc.constantFrom(-180, 0, 0.001, 10, 180),
});
type Fields = typeof fields extends fc.Arbitrary<infer Value> ? Value : never;

const places: readonly LocationRange[] = [
  { shape: "circle", center: { lat: 0, lng: 0 }, radiusMeters: 200 },
  { shape: "circle", center: { lat: 10, lng: 10 }, radiusMeters: 30_000_000 },
  { shape: "box", southWest: { lat: -90, lng: 170 }, northEast: { lat: 90, lng: 5 } },
];
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const searches = fc.record({
  sortOrder: fc.constantFrom(...sortOrders),
  pageSize: fc.integer({ min: 1, max: 7 }),
  isMine: optional(fc.constant(true)),
  tag: optional(fc.constantFrom("a", "é", "%")),
  comment: optional(fc.constantFrom("a", "😀")),
  created: optional(fc.tuple(fc.integer({ min: -2, max: 1 }), fc.integer({ min: 1, max: 4 }))),
  area: optional(fc.constantFrom(0, 1, 2)),
});
type Given = typeof searches extends fc.Arbitrary<infer Value> ? Value : never;

function keyOf(row: CheckinRow, sortOrder: string, range: LocationRange | undefined): Key {
  switch (sortOrder.replace("-", "")) {
    case "created":
      return [row.created_at, row.id];
    case "lastModified":
      return [row.modified_at, row.id];
    case "distance":
      return [range === undefined ? 0 : distanceMeters(middleOf(range), row), row.id];
    default: {
      const name = sortOrder.replace("-", "") as "tag" | "comment" | "description"; // the remaining orders
      return [row[name] ?? "", row.created_at, row.id];
    }
  }
}

function middleOf(range: LocationRange) {
  return range.shape === "circle" ? range.center : { lat: 0, lng: -92.5 };
}

/** A reader, two other users, their rows, and which rows exist throughout. */
class World {
  readonly application: NewApplication;
  readonly users: readonly TestUser[];
  rows: CheckinRow[] = [];
  stayed = new Set<string>();

  constructor(application: NewApplication, users: readonly TestUser[]) {
    this.application = application;
    this.users = users;
  }

  async add(all: readonly Fields[], background: Partial<CheckinRow> = {}): Promise<void> {
    const rows = all.map(({ owner, isShared, ...given }) =>
      checkinRow({
        application_id: this.application.appid,
        id: test.app.ids.newId("Checkin"),
        user_id: this.users[owner]?.id ?? "",
        read_permission: isShared ? 1 : null,
        ...given,
        ...background,
      }),
    );
    await insertCheckins(test, rows);
    this.rows.push(...rows);
  }

  async remove(indexes: readonly number[]): Promise<void> {
    const gone = new Set(indexes.flatMap((index) => this.rows[index % Math.max(this.rows.length, 1)]?.id ?? []));
    if (gone.size === 0) return;
    await test.app.database.write(({ queries }) =>
      queries
        .deleteFrom("checkins")
        .where("application_id", "=", this.application.appid)
        .where("id", "in", [...gone])
        .execute(),
    );
    this.rows = this.rows.filter(({ id }) => !gone.has(id));
    for (const id of gone) this.stayed.delete(id);
  }

  /** Returns the ids that the reader must find now, by a scan of all rows. */
  expected(given: Given): string[] {
    const [reader] = this.users;
    const range = rangeOf(given);
    const sign = given.sortOrder.startsWith("-") ? -1 : 1;
    return this.rows
      .filter((row) => row.user_id === reader?.id || (given.isMine !== true && row.read_permission === 1))
      .filter((row) => given.tag === undefined || row.tag === given.tag)
      .filter((row) => given.comment === undefined || row.comment === given.comment)
      .filter(({ created_at: time }) => !given.created || (given.created[0] <= time && time <= given.created[1]))
      .filter((row) => range === undefined || isInRange(row, range))
      .sort((a, b) => sign * compareKeys(keyOf(a, given.sortOrder, range), keyOf(b, given.sortOrder, range)))
      .map(({ id }) => id);
  }
}

async function createWorld(): Promise<World> {
  const application = await test.createApplication();
  const signUp = () => test.signUp(undefined, application);
  return new World(application, [await signUp(), await signUp(), await signUp()]);
}

/** An order by distance needs an area. */
function rangeOf({ area, sortOrder }: Given): LocationRange | undefined {
  return places[area ?? (sortOrder.endsWith("distance") ? 1 : -1)];
}

function queryOf(given: Given): Record<string, string | number> {
  const { sortOrder, pageSize, isMine, tag, comment, created } = given;
  const range = rangeOf(given);
  const point = ({ lat, lng }: { lat: number; lng: number }) => `${lat},${lng}`;
  return {
    sortOrder,
    pageSize,
    ...(isMine && { userID: "me" }),
    ...(tag !== undefined && { tag }),
    ...(comment !== undefined && { comment }),
    ...(created !== undefined && { created: `/Date(${created[0]})/-/Date(${created[1]})/` }),
    ...(range?.shape === "circle" && { locationRange: `${point(range.center)},${range.radiusMeters}` }),
    ...(range?.shape === "box" && { locationRange: `${point(range.southWest)}-${point(range.northEast)}` }),
  };
}

const changes = fc.array(
  fc.record({ added: fc.array(fields, { maxLength: 3 }), removed: fc.array(fc.nat(), { maxLength: 2 }) }),
  { minLength: 1, maxLength: 6 },
);

/** Walks a search to the last page and back to the first, with a change between pages. */
async function walkBothWays(
  world: World,
  given: Given,
  steps: typeof changes extends fc.Arbitrary<infer T> ? T : never,
) {
  const [reader] = world.users;
  assert.ok(reader !== undefined);
  let step = 0;
  let page = await readCheckins(test, queryOf(given), reader);
  const found = world.expected(given).slice(0, given.pageSize);
  assert.deepEqual(idsOf(page), found.slice(0, page.pageResults.length));
  // A search that has examined its maximum of rows answers with the rows found so far, and continues from there.
  if (page.pageResults.length < found.length) assert.ok(page.nextToken !== undefined);
  for (const direction of ["nextToken", "previousToken"] as const) {
    world.stayed = new Set(world.rows.map(({ id }) => id));
    const seen = idsOf(page);
    for (let token = page[direction]; token !== undefined; token = page[direction]) {
      const { added = [], removed = [] } = steps[step++] ?? {};
      await world.add(added);
      await world.remove(removed);
      page = await readCheckins(test, { pagingToken: token }, reader);
      assert.ok(page.pageResults.length <= given.pageSize);
      if (direction === "nextToken") seen.push(...idsOf(page));
      else seen.unshift(...idsOf(page));
    }
    assert.equal(new Set(seen).size, seen.length, `${direction} repeats`);
    const stayed = seen.filter((id) => world.stayed.has(id));
    const beyond = new Set(seen);
    const expected = world.expected(given).filter((id) => world.stayed.has(id));
    // The way back starts at the last page, regardless of rows that were added after it.
    const last = expected.findLastIndex((id) => beyond.has(id));
    assert.deepEqual(stayed, direction === "nextToken" ? expected : expected.slice(0, last + 1), direction);
  }
}

describe("paging through a search while rows are created and deleted: spec/search#page-stability", () => {
  it("returns every remaining row exactly once and in order, forward and back", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fields, { maxLength: 30 }), searches, changes, async (rows, given, steps) => {
        const world = await createWorld();
        await world.add(rows);
        await walkBothWays(world, given, steps);
      }),
      { numRuns: rounds(60) },
    );
  });

  it("does the same among thousands of rows, where areas are walked instead of gathered", async () => {
    const world = await createWorld();
    const sample = fc.sample(fields, { numRuns: 100, seed: 1 });
    const many = Array.from({ length: 5_000 }, (_, n) => ({ ...sample[n % 100], owner: n % 2 }) as Fields);
    await world.add(many);
    await fc.assert(
      fc.asyncProperty(searches, changes, (given, steps) => walkBothWays(world, { ...given, pageSize: 900 }, steps)),
      { numRuns: rounds(12) },
    );
  });
});

describe("paging through videos in the orders that only videos have", () => {
  const pictures = ["pic_0", "pic_1"].map((id) => id.padEnd(30, "0"));
  const videos = fc.record({
    isMine: fc.boolean(),
    isShared: fc.boolean(),
    kind: fc.constantFrom("Video", "Video", "Picture"),
    bit_rate: fc.constantFrom(null, 0, 9, 10, 2 ** 53 - 1),
    length_in_seconds: fc.constantFrom(null, 0, 0.3, 0.1 + 0.2, 1e300),
    thumbnail_id: fc.constantFrom(null, ...pictures),
    label: fc.constantFrom(null, "a", "a".repeat(200)),
    created_at: fc.integer({ min: 0, max: 3 }),
  });
  const given = fc.record({
    name: fc.constantFrom("bitRate", "lengthInSeconds", "thumbnailID", "friendlyName"),
    isDescending: fc.boolean(),
    pageSize: fc.integer({ min: 1, max: 5 }),
    bitRate: optional(fc.constantFrom(0, 9)),
    lengthInSeconds: optional(fc.constantFrom(0, 0.3)),
    thumbnailID: optional(fc.constantFrom(...pictures)),
    friendlyName: optional(fc.constantFrom("a", "a".repeat(200))),
  });
  const valueIn = (row: FileRow, name: string): string | number => {
    if (name === "thumbnailID") return row.thumbnail_id ?? "";
    if (name === "friendlyName") return row.label ?? "";
    return (name === "bitRate" ? row.bit_rate : row.length_in_seconds) ?? -1;
  };

  it("returns every video once and in order, forward and back, while others are added", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(videos, { maxLength: 25 }),
        given,
        fc.array(videos, { maxLength: 3 }),
        async (first, { name, isDescending, pageSize, ...filters }, added) => {
          const application = await test.createApplication();
          const [reader, other] = [
            await test.signUp(undefined, application),
            await test.signUp(undefined, application),
          ];
          const store = async (all: typeof first): Promise<FileRow[]> => {
            const rows = all.map(({ isMine, isShared, kind, ...fields }) =>
              fileRow({
                ...{ application_id: application.appid, id: test.app.ids.newId("Video"), kind, ...fields },
                ...{ user_id: (isMine ? reader : other).id, read_permission: isShared ? 1 : null },
              }),
            );
            await insertFiles(test, rows);
            return rows;
          };
          const sign = isDescending ? -1 : 1;
          const keyOf = (row: FileRow): Key => [valueIn(row, name), row.created_at, row.id];
          const stored = (await store(first))
            .filter(
              ({ kind, user_id, read_permission }) =>
                kind === "Video" && (user_id === reader.id || read_permission === 1),
            )
            .filter((row) =>
              Object.entries(filters).every(([filter, value]) => value === undefined || valueIn(row, filter) === value),
            )
            .sort((a, b) => sign * compareKeys(keyOf(a), keyOf(b)))
            .map(({ id }) => id);

          const read = async (query: Record<string, string>) => {
            const text = new URLSearchParams(query);
            const { status, body } = await test.call(`GET /videos?${text}`, { token: reader.token, agent: keepAlive });
            assert.equal(status, 200, body.message);
            return body.result;
          };
          const chosen = Object.entries(filters).flatMap(([filter, value]) =>
            value === undefined ? [] : [[filter, `${value}`]],
          );
          let page = await read({
            ...Object.fromEntries(chosen),
            sortOrder: `${isDescending ? "-" : ""}${name}`,
            pageSize: `${pageSize}`,
          });
          for (const direction of ["nextToken", "previousToken"] as const) {
            const seen: string[] = idsOf(page);
            for (let token = page[direction]; token !== undefined; token = page[direction]) {
              await store(added.splice(0, 1));
              page = await read({ pagingToken: token });
              if (direction === "nextToken") seen.push(...idsOf(page));
              else seen.unshift(...idsOf(page));
            }
            assert.equal(new Set(seen).size, seen.length);
            assert.deepEqual(
              seen.filter((id) => stored.includes(id)),
              stored,
            );
          }
        },
      ),
      { numRuns: rounds(40) },
    );
  });
});

describe("hostile.md 35: the clock steps back by an hour during paging", () => {
  it("no row is skipped or repeated, and later rows have no earlier creation time", async () => {
    const reader = await test.signUp();
    const create = async (comment: string) => {
      const body = { location: "1,2", comment };
      return (await test.call("POST /checkins", { token: reader.token, body })).body.result.id as string;
    };
    const made: string[] = [];
    for (let n = 0; n < 9; n++) made.unshift(await create(`${n}`));
    const first = await readCheckins(test, { pageSize: 2, userID: "me" }, reader);
    test.advance(-3_600_000);
    const late = [await create("late"), await create("later")].reverse();
    const pages = await walkCheckins(test, first, "nextToken", reader);
    assert.deepEqual(pages.flatMap(idsOf), made);
    const last = pages.at(-1);
    assert.ok(last !== undefined);
    const back = await walkCheckins(test, last, "previousToken", reader);
    assert.deepEqual(back.reverse().flatMap(idsOf), [...late, ...made]);
    test.advance(3_600_000);
  });
});
