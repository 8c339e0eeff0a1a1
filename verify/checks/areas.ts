import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { format, metersBetween, moved, type Point, spread } from "../globe.ts";
import { checkInAll, idsOf, search, walk } from "../listing.ts";
import { otherUser, shared, signUp, uniqueName, type World } from "../world.ts";

const vienna = { lat: 48.2082, lng: 16.3738 };
const places: readonly Point[] = [
  ...spread(40),
  ...[0, 3, 40, 90, 180, 400, 700, 1_500, 8_000].map((meters, index) => moved(vienna, meters, index % 2 ? meters : 0)),
  ...[999_700, 1_000_300].map((meters) => moved(vienna, -meters, 0)), // an Earth of another size would fail here
  ...[179.9, 179.999, 180, -180, -179.999, -179.9].map((lng) => ({ lat: 0.5, lng })),
  ...[-120, 0, 60, 179.99].map((lng) => ({ lat: 89.99, lng })),
  ...[90, -90].flatMap((lat) => [0, 137].map((lng) => ({ lat, lng }))),
  { lat: -89.999, lng: -45 },
  { lat: 0, lng: 0 },
];

/** A point closer to a border than this, in metres, may be on either side. */
const doubtMeters = 0.01;

const circles: readonly (readonly [center: Point, meters: number])[] = [
  ...[1, 50, 100, 500, 1_000.5, 3_000, 9_500, 1_000_000, 30_000_000].map((meters) => [vienna, meters] as const),
  ...[500, 12_000, 2_000_000].map((meters) => [{ lat: 0.5, lng: 180 }, meters] as const),
  ...[500, 12_000, 2_000_000].map((meters) => [{ lat: 0.4, lng: -179.95 }, meters] as const),
  ...[50, 1_200, 2_000_000].map((meters) => [{ lat: 90, lng: 20 }, meters] as const),
  ...[3_000, 10_000_000].map((meters) => [{ lat: 89.98, lng: 100 }, meters] as const),
  ...[150, 500_000].map((meters) => [{ lat: -90, lng: 0 }, meters] as const),
  [{ lat: 0, lng: 0 }, 20_010_000],
];
const boxes = [
  [48.2, 16.3, 48.25, 16.4],
  [48.2, 16.37, 48.209, 16.3745],
  [-10, -20, 60, 40],
  [-89.9999, -180, 89.9999, 180],
  [0, 179.95, 1, -179.95],
  [-60, 100, 60, -100],
  [0, 179.99, 1, 180],
  [89.98, -130, 89.995, 10],
  [-89.9995, -50, -80, -40],
  [-33.87, -70.65, 12.5, -3.25],
  [0, 20, 10, 19.5],
] as const;

/** A user with a check-in at each place, readable by all users, and one with another comment. */
const mapped = shared(async (world) => {
  const { token, id: userID } = await signUp(world);
  const tag = uniqueName("tag");
  const all = places.map((place) => ({ location: format(place), comment: "here", tag, readPermissions: "App" }));
  const ids = await checkInAll(world, token, [...all, { ...all[40], comment: "there" }]);
  const points = [...places, vienna].map((place, index) => ({ ...place, id: ids[index] ?? "" }));
  return { token, query: { userID, tag, pageSize: "1000" }, points };
});

/**
 * Expects exactly the check-ins in an area that the model finds.
 *
 * @param edge how far inside the area a point is in metres, negative outside
 */
async function expectInside(world: World, locationRange: string, edge: (point: Point) => number) {
  const { token, query, points } = await mapped(world);
  for (const reader of [token, (await otherUser(world)).token]) {
    const answer = await search(world, reader, { ...query, locationRange });
    const found = new Set(idsOf(answer));
    const wrong = points.filter((p) => (found.has(p.id) ? edge(p) < -doubtMeters : edge(p) > doubtMeters));
    expectEqual(answer, `check-ins wrongly inside or outside ${locationRange}`, wrong, []);
    expectEqual(answer, "number of rows", idsOf(answer).length, found.size);
  }
}

/** Approximately how far a point is inside a box; only the sign matters. */
function boxEdge([south, west, north, east]: (typeof boxes)[number]): (point: Point) => number {
  const width = (east - west + 360) % 360 || 360;
  return ({ lat, lng }) => {
    const [fromWest, toEast] = [(lng - west + 720) % 360, width - ((lng - west + 720) % 360)];
    return Math.min(lat - south, north - lat, fromWest === 0 ? 0 : toEast) * 100_000;
  };
}

/** The distances from the center, in the order of a page. @throws Failure when they are not in the expected order */
function expectSorted(answer: Answer, middle: Point, sign: 1 | -1): void {
  const meters = expectResult(answer).pageResults.map((row: { location: Point }) =>
    metersBetween(middle, row.location),
  );
  const isSorted = meters.every(
    (m: number, index: number) => index === 0 || sign * (m - meters[index - 1]) > -doubtMeters,
  );
  expectThat(answer, meters.length > 0 && isSorted, `rows in order of distance, not at ${meters.map(Math.round)} m`);
}

/** Search areas (spec/search#areas). The model is plain spherical geometry, independent of the service. */
export const areas = group("areas", (it) => {
  for (const [center, meters] of circles)
    it(`spec/search#areas · A circle of ${meters} m around ${format(center)}`, async (world) => {
      expectInside(world, `${format(center)},${meters}`, (point) => meters - metersBetween(center, point));
    });
  for (const box of boxes) {
    const [south, west, north, east] = box;
    const locationRange = `${south},${west}-${north},${east}`;
    it(`spec/search#areas · The box ${locationRange}`, async (world) => {
      await expectInside(world, locationRange, boxEdge(box));
    });
  }
  it("hostile.md 21 · A radius of 0 finds only check-ins at that point", async (world) => {
    const { token, query } = await mapped(world);
    const answer = await search(world, token, { ...query, locationRange: `${format(vienna)},0` });
    const locations = expectResult(answer).pageResults.map((row: { location: Point }) => row.location);
    expectEqual(answer, "locations", locations, [vienna, vienna]);
  });
  for (const locationRange of [
    "48.2082, 16.3738, 10.5",
    " 48.2082 , 16.3738 ,10",
    "+48.2082,16.37380,10",
    "48.208, 16.373 - 48.2083, 16.374",
  ])
    it(`spec/search#areas · Spaces and decimals in an area: ${locationRange}`, async (world) => {
      const { token, query } = await mapped(world);
      const answer = await search(world, token, { ...query, locationRange });
      expectEqual(answer, "number of rows", idsOf(answer).length, 3);
    });
  it("spec/search#areas · An area combines with other filters", async (world) => {
    const { token, query, points } = await mapped(world);
    const locationRange = `${format(vienna)},100`;
    const answer = await search(world, token, { ...query, locationRange, comment: "there" });
    expectEqual(answer, "rows", idsOf(answer), [points.at(-1)?.id]);
  });
  for (const center of [vienna, { lat: 0.5, lng: 179.999 }, { lat: 90, lng: 0 }])
    it(`spec/search#distances · sortOrder distance from ${format(center)}, ascending and descending, in one page and in pages`, async (world) => {
      const { token, query, points } = await mapped(world);
      for (const [sortOrder, sign] of [
        ["distance", 1],
        ["-distance", -1],
      ] as const) {
        const asked = { ...query, locationRange: `${format(center)},30000000`, sortOrder };
        const whole = await search(world, token, asked);
        expectSorted(whole, center, sign);
        expectEqual(whole, "rows", idsOf(whole).length, points.length);
        const pages = await walk(world, token, await search(world, token, { ...asked, pageSize: "9" }), "nextToken");
        expectEqual(whole, "rows of all pages", pages.flatMap(idsOf), idsOf(whole));
      }
    });
  for (const locationRange of [
    ...["90.1,0,5", "0,180.5,5", "-91,0,5", "0,0,-1", "10,0-5,5", "0,0-91,5", "0,-181-5,5", "1000,1000,1"],
  ])
    it(`spec/search#areas · 400 ParameterOutOfRange for the area ${locationRange}`, async (world) => {
      const { token } = await mapped(world);
      expectError(await search(world, token, { locationRange }), { ...further.outOfRange, message: /locationRange/ });
    });
  for (const locationRange of [
    ...["48", "48,16", "48,16,", "1,2,3,4", "1,2-3", "1,2,3-4,5", "a,b,c", "NaN,0,5", "0,0,Infinity", "0x1,0,5"],
    "1;2;3",
  ])
    it(`spec/search#areas · 400 ParameterIncorrectFormat for the area ${locationRange}`, async (world) => {
      const { token } = await mapped(world);
      const expected = { ...further.incorrectFormat, message: /locationRange/ };
      expectError(await search(world, token, { locationRange }), expected);
    });
});
