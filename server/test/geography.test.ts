import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import type { CheckinRow } from "../src/db/tables.ts";
import { isInRange } from "../src/lib/cells.ts";
import { destination, distanceMeters, type Location, type LocationRange } from "../src/lib/locations.ts";
import { assertError, startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { rounds } from "./rounds.ts";
import { checkinRow, idsOf, insertCheckins, readCheckins, walkCheckins } from "./rows.ts";

/** hostile.md 21, spec/search#areas: searches by area find the same rows as a scan of all rows. */

interface World {
  readonly reader: TestUser;
  readonly rows: readonly CheckinRow[];
}

let test: TestApp;
/** Some rows at edge cases, and thousands of rows, most of them at one point. */
let sparse: World;
let dense: World;
before(async () => {
  test = await startTestApp();
  sparse = await createWorld([...hardPlaces, ...hardPlaces.map(({ lat, lng }) => ({ lat: lat / 3, lng: lng / 7 }))]);
  const spread = Array.from({ length: 700 }, (_, n) => ({ lat: (n * 7.3) % 90, lng: ((n * 31.7) % 360) - 180 }));
  const near = Array.from({ length: 500 }, (_, n) => destination(crowded, n * 77, n * n * 4));
  dense = await createWorld([...Array<Location>(2_300).fill(crowded), ...near, ...spread, ...hardPlaces]);
});
after(() => test.close());

const latitudes = [-90, -89.9999999, -60, -1e-9, 0, 1e-9, 48.2082, 89.99999999, 90];
const longitudes = [-180, -179.9999999, -90, -1e-9, 0, 16.3738, 90, 179.99999999, 180];
const hardPlaces = latitudes.flatMap((lat) => longitudes.map((lng) => ({ lat, lng })));
const crowded: Location = { lat: 48.2082, lng: 16.3738 };

/** Creates an application in which the reader owns every tenth check-in, and other users share the rest. */
async function createWorld(places: readonly Location[]): Promise<World> {
  const application = await test.createApplication();
  const reader = await test.signUp(undefined, application);
  const other = await test.signUp(undefined, application);
  const rows = places.map(({ lat, lng }, n) =>
    checkinRow({
      application_id: application.appid,
      id: test.app.ids.newId("Checkin"),
      user_id: n % 10 === 0 ? reader.id : other.id,
      read_permission: 1,
      created_at: n % 50,
      lat,
      lng,
    }),
  );
  await insertCheckins(test, rows);
  return { reader, rows };
}

function textOf(range: LocationRange): string {
  const point = ({ lat, lng }: Location) => `${lat},${lng}`;
  if (range.shape === "circle") return `${point(range.center)},${range.radiusMeters}`;
  return `${point(range.southWest)}-${point(range.northEast)}`;
}

function middleOf(range: LocationRange): Location {
  if (range.shape === "circle") return range.center;
  const { southWest, northEast } = range;
  const width = northEast.lng - southWest.lng;
  const lng = southWest.lng + (width < 0 ? width + 360 : width) / 2;
  return { lat: (southWest.lat + northEast.lat) / 2, lng: lng > 180 ? lng - 360 : lng };
}

type SortOrder = "-created" | "created" | "distance" | "-distance";

function expectedIds({ rows }: World, range: LocationRange, sortOrder: SortOrder): string[] {
  const middle = middleOf(range);
  const keyOf = (row: CheckinRow) => (sortOrder.endsWith("created") ? row.created_at : distanceMeters(middle, row));
  const sign = sortOrder.startsWith("-") ? -1 : 1;
  const found = rows.filter((row) => isInRange(row, range)).map((row) => ({ id: row.id, key: keyOf(row) }));
  return found.sort((a, b) => sign * (a.key - b.key || (a.id < b.id ? -1 : 1))).map(({ id }) => id);
}

/** Asserts that a search finds these rows in pages, in both directions. */
async function assertFound(world: World, range: LocationRange, sortOrder: SortOrder, pageSize = 1_000): Promise<void> {
  const expected = expectedIds(world, range, sortOrder);
  const query = { locationRange: textOf(range), sortOrder, pageSize };
  const pages = await walkCheckins(test, await readCheckins(test, query, world.reader), "nextToken", world.reader);
  assert.deepEqual(pages.flatMap(idsOf), expected, JSON.stringify(query));
  const last = pages.at(-1);
  if (pages.length === 1 || last === undefined) return;
  const back = await walkCheckins(test, last, "previousToken", world.reader);
  assert.deepEqual(back.reverse().flatMap(idsOf), expected, `${JSON.stringify(query)} back`);
}

function circle(center: Location, radiusMeters: number): LocationRange {
  return { shape: "circle", center, radiusMeters };
}

function box(south: number, west: number, north: number, east: number): LocationRange {
  return { shape: "box", southWest: { lat: south, lng: west }, northEast: { lat: north, lng: east } };
}

const hardRanges: readonly LocationRange[] = [
  ...[0, 1, 1_000, 20_015_086.7, 20_015_114, 30_000_000].map((radius) => circle({ lat: 90, lng: 17 }, radius)),
  ...[0, 1, 1_000_000].map((radius) => circle({ lat: -90, lng: -180 }, radius)),
  ...[0, 1, 10_000, 10_007_600].map((radius) => circle({ lat: 0, lng: 180 }, radius)),
  ...[0, 0.5, 30_000_000].map((radius) => circle(crowded, radius)),
  circle({ lat: 1e-9, lng: -1e-9 }, 0.001),
  box(-90, -180, 90, 180),
  box(-90, 180, 90, -180),
  box(-90, 179.9999999, 90, -179.9999999),
  box(-10, 170, 60, -170),
  box(0, 0, 0, 0),
  box(0, -180, 0, 180),
  box(48.2082, -180, 48.2082, 180),
  box(-90, 16.3738, 90, 16.3738),
  box(-60, 180, 60, 180),
  box(-60, -180, 60, -180),
  box(90, -180, 90, 180),
  box(0, 0.1, 1, 0),
];

// spec/search#areas, spec/search#distances
describe("GET /checkins with a locationRange: hostile.md 21", () => {
  it("finds points at the poles, on the antimeridian and on the borders, in every order", async () => {
    for (const range of hardRanges) {
      for (const sortOrder of ["-created", "distance", "-distance"] as const) {
        await assertFound(sparse, range, sortOrder, 60);
      }
    }
  });

  it("an area includes its border", async () => {
    for (const row of sparse.rows.filter((_, n) => n % 5 === 0)) {
      const center = { lat: 10, lng: row.lng / 2 };
      const meters = distanceMeters(center, row);
      assert.ok(expectedIds(sparse, circle(center, meters), "created").includes(row.id));
      await assertFound(sparse, circle(center, meters), "created");
    }
  });

  it("finds the same rows as a scan of all rows, anywhere on earth", async () => {
    const place = fc.record({
      lat: fc.oneof(fc.double({ min: -90, max: 90, noNaN: true }), fc.constantFrom(...latitudes)),
      lng: fc.oneof(fc.double({ min: -180, max: 180, noNaN: true }), fc.constantFrom(...longitudes)),
    });
    const radius = fc.oneof(
      fc.double({ min: 0, max: 2_000, noNaN: true }),
      fc.double({ min: 0, max: 3e7, noNaN: true }),
    );
    const corners = fc.tuple(place, place).map(([a, b]) => {
      const [south, north] = a.lat <= b.lat ? [a, b] : [b, a];
      return box(south.lat, a.lng, north.lat, b.lng);
    });
    const ranges = fc.oneof(
      fc.tuple(place, radius).map(([center, meters]) => circle(center, meters)),
      corners,
    );
    const orders = fc.constantFrom<SortOrder>("-created", "created", "distance", "-distance");
    await fc.assert(
      fc.asyncProperty(ranges, orders, fc.integer({ min: 30, max: 300 }), (range, sortOrder, pageSize) =>
        assertFound(sparse, range, sortOrder, pageSize),
      ),
      { numRuns: rounds(60) },
    );
    await fc.assert(
      fc.asyncProperty(ranges, orders, (range, sortOrder) => assertFound(dense, range, sortOrder)),
      { numRuns: rounds(15) },
    );
  });

  it("finds the same rows among thousands at one point, also in order of distance", async () => {
    const around = { lat: 48, lng: 16 };
    for (const sortOrder of ["-created", "distance", "-distance"] as const) {
      await assertFound(dense, circle(crowded, 3e7), sortOrder);
      await assertFound(dense, circle(around, distanceMeters(around, crowded)), sortOrder);
    }
    await assertFound(dense, box(-90, -180, 90, 180), "-created");
    await assertFound(dense, circle(crowded, 0), "distance", 100);
    await assertFound(dense, circle(crowded, 2_000), "-distance", 400);
    await assertFound(dense, circle(destination(crowded, 45, 700), 1_500), "distance", 700);
  });

  it("accepts white space and decimals in every number, and both forms of the antimeridian", async () => {
    const read = async (locationRange: string) => idsOf(await readCheckins(test, { locationRange }, sparse.reader));
    const expected = await read("0,180,10000");
    assert.ok(expected.length > 0);
    for (const range of ["0, 180, 10000", " 0.0 , -180.0 , 1e4 ", "+0,180.,10000.0"])
      assert.deepEqual(await read(range), expected);
    assert.deepEqual(await read("-1,180--1,-180"), await read("-1,-180--1,-180"));
    assert.deepEqual(await read(" -60 , 170 - 60 , -170 "), await read("-60,170-60,-170"));
  });

  it("an invalid area is refused with 400 and the name of the parameter", async () => {
    const form = "must be a circle such as 47.6,-122.3,500 or a box such as 47.5,-122.4-47.7,-122.2.";
    const degrees = "must have a latitude between -90 and 90 and a longitude between -180 and 180.";
    const radius = "must have a radius of 0 meters or more.";
    const corners = "must not have its south-west corner north of its north-east corner.";
    for (const [locationRange, rule] of [
      ["here", form],
      ["1,2", form],
      ["1,2,3,4", form],
      ["1,2,NaN", form],
      ["1,2,Infinity", form],
      ["1,2,5km", form],
      ["1;2;3", form],
      ["1,2-3", form],
      ["1,2-3,4-5,6", form],
      ["0x1,2,3", form],
      ['{"lat":1,"lng":2}', form],
      [`1,2,${"3".repeat(200)}`, form],
      ["91,2,3", degrees],
      ["1,-180.1,3", degrees],
      ["1,2-3,181", degrees],
      ["1e400,2,3", degrees],
      ["1,2,-1", radius],
      ["1,2,-1e-9", radius],
      ["1,2,1e400", radius],
      ["2,0-1,0", corners],
    ] as const) {
      const query = `GET /checkins?locationRange=${encodeURIComponent(locationRange)}&sortOrder=distance`;
      const [error, number] =
        rule === form ? (["ParameterIncorrectFormat", 515] as const) : (["ParameterOutOfRange", 514] as const);
      const answer = await test.call(query, { token: sparse.reader.token });
      assertError(answer, 400, error, number, `locationRange ${rule}`);
    }
  });
});
