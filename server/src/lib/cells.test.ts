import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { rounds } from "../../test/rounds.ts";
import { type CellRange, cellOf, cellsOfBox, cellsOfRange, cellsOfRing, centerOfCell, isInRange } from "./cells.ts";
import { distanceMeters, type Location, type LocationRange } from "./locations.ts";

const cellsMax = 2 ** 52;
const earthRadiusMeters = 6_371_008.8;

/** Random coordinates, at and next to the edges of the map, and on the borders of large cells. */
const latitude = coordinate(90);
const longitude = coordinate(180);
const location: fc.Arbitrary<Location> = fc.record({ lat: latitude, lng: longitude }, { noNullPrototype: true });
const meters = fc.oneof(
  fc.constantFrom(0, 0.1, 1, 100, 1000, 50_000, 1e6, 1e7, 10_007_557, 2e7, 20_015_114, 3e7),
  fc.double({ min: -1, max: 7.5, noNaN: true }).map((exponent) => 10 ** exponent),
);
const rangesMax = fc.constantFrom(1, 2, 3, 8, 24, 24, 24, 100);
const box = fc.tuple(location, location, fc.boolean(), fc.boolean()).map(([a, b, isFlat, isNarrow]): LocationRange => {
  const lat = isFlat ? a.lat : b.lat;
  const lng = isNarrow ? a.lng : b.lng;
  const southWest = { lat: Math.min(a.lat, lat), lng: a.lng };
  return { shape: "box", southWest, northEast: { lat: Math.max(a.lat, lat), lng } };
});
const share = fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }));

describe("cellOf", () => {
  it("interleaves the bits of both indexes, longitude first", () => {
    fc.assert(
      fc.property(location, (place) => assert.equal(cellOf(place), naiveCell(place))),
      { numRuns: rounds(1000) },
    );
  });

  it("is undone by centerOfCell, to within half a meter", () => {
    fc.assert(
      fc.property(location, (place) => {
        const center = centerOfCell(cellOf(place));
        assert.equal(cellOf(center), cellOf(place));
        assert.ok(distanceMeters(center, place) < 0.5);
      }),
      { numRuns: rounds(1000) },
    );
  });

  it("numbers the quadrants of the map from the south-west, first to the north", () => {
    const centers: [number, number][] = [
      [-45, -90],
      [45, -90],
      [-45, 90],
      [45, 90],
    ];
    assert.deepEqual(
      centers.map(([lat, lng]) => Math.floor(cellOf({ lat, lng }) / 2 ** 50)),
      [0, 1, 2, 3],
    );
  });

  it("does not decrease to the north or to the east", () => {
    fc.assert(
      fc.property(location, location, (a, b) => {
        const southWest = { lat: Math.min(a.lat, b.lat), lng: Math.min(a.lng, b.lng) };
        assert.ok(cellOf(southWest) <= cellOf({ lat: Math.max(a.lat, b.lat), lng: Math.max(a.lng, b.lng) }));
      }),
    );
  });

  it("maps the far edges of the map to the last cells", () => {
    assert.equal(cellOf({ lat: -90, lng: -180 }), 0);
    assert.equal(cellOf({ lat: 90, lng: 180 }), cellsMax - 1);
    assert.notEqual(cellOf({ lat: 0, lng: 180 }), cellOf({ lat: 0, lng: -180 }));
  });
});

describe("isInRange", () => {
  const pacific = boxOf(-20, 170, 10, -160);
  const cases: [string, Location, LocationRange, boolean][] = [
    ["a place on the border of a circle", at(0, 1), circleOf(0, 0, distanceMeters(at(0, 0), at(0, 1))), true],
    ["a place beyond the border of a circle", at(0, 1), circleOf(0, 0, 111_190), false],
    ["the center of a circle without a radius", at(5, 6), circleOf(5, 6, 0), true],
    ["the center across the antimeridian", at(5, -180), circleOf(5, 180, 0), true],
    ["the pole with another longitude", at(90, 17), circleOf(90, -100, 0), true],
    ["a place across the pole", at(89.9, 180), circleOf(89.9, 0, 22_300), true],
    ["the antipode in a circle of the whole world", at(-40, -170), circleOf(40, 10, 3e7), true],
    ["the south-west corner of a box", at(1, 2), boxOf(1, 2, 3, 4), true],
    ["the north-east corner of a box", at(3, 4), boxOf(1, 2, 3, 4), true],
    ["a place south of a box", at(0.9, 3), boxOf(1, 2, 3, 4), false],
    ["a place east of a box", at(2, 4.1), boxOf(1, 2, 3, 4), false],
    ["a place west in a box across the antimeridian", at(0, 175), pacific, true],
    ["a place east in a box across the antimeridian", at(0, -165), pacific, true],
    ["the antimeridian in a box across it", at(0, 180), pacific, true],
    ["a place in neither part of a box across the antimeridian", at(0, 0), pacific, false],
    ["longitude 180 in a box from -180", at(2, 180), boxOf(1, -180, 3, -170), true],
    ["longitude -180 in a box to 180", at(2, -180), boxOf(1, 170, 3, 180), true],
    ["longitude -180 north of a box to 180", at(4, -180), boxOf(1, 170, 3, 180), false],
    ["longitude 180 in a box beside the antimeridian", at(2, 180), boxOf(1, -179.9, 3, -170), false],
    ["longitude -180 in a box of the antimeridian only", at(2, -180), boxOf(1, 180, 3, 180), true],
    ["longitude 180 in a box from 180 to -180", at(2, 180), boxOf(1, 180, 3, -180), true],
    ["another longitude in a box from 180 to -180", at(2, 179.9), boxOf(1, 180, 3, -180), false],
    ["the pole at a longitude outside a box that reaches it", at(90, 50), boxOf(80, 0, 90, 40), false],
    ["a box of one place", at(1, 2), boxOf(1, 2, 1, 2), true],
  ];
  for (const [name, place, range, expected] of cases) {
    it(`${expected ? "finds" : "does not find"} ${name}`, () => assert.equal(isInRange(place, range), expected));
  }
});

describe("cellsOfRing", () => {
  it("returns the cells of all places in a ring", () => {
    const part = fc.oneof(fc.constant(0), share);
    fc.assert(
      fc.property(location, meters, part, rangesMax, places(), (center, outer, hole, max, offsets) => {
        const inner = outer * hole;
        const ranges = cellsOfRing(center, inner, outer, max);
        assertTidy(ranges, max);
        for (const place of placesAround(center, inner, outer, offsets)) {
          const distance = distanceMeters(center, place);
          if (inner <= distance && distance <= outer) assertHeld(ranges, place);
        }
      }),
      { numRuns: rounds(1500) },
    );
  });

  it("returns the cells of places on both borders of a ring", () => {
    fc.assert(
      fc.property(location, location, meters, (center, place, other) => {
        const distance = distanceMeters(center, place);
        assertHeld(cellsOfRing(center, 0, distance), place);
        assertHeld(cellsOfRing(center, distance, distance), place);
        assertHeld(cellsOfRing(center, distance, distance + other), place);
      }),
      { numRuns: rounds(1000) },
    );
  });

  it("returns the cell of a place on its border, next to the center", () => {
    const offset = fc.double({ min: -7, max: 0, noNaN: true }).map((exponent) => 10 ** exponent);
    fc.assert(
      fc.property(location, offset, share, fc.boolean(), (center, distance, part, isWest) => {
        const lat = clamp(center.lat + distance * (2 * part - 1), 90);
        const place = { lat, lng: wrap(center.lng + (isWest ? -distance : distance)) };
        const radius = distanceMeters(center, place);
        assertHeld(cellsOfRing(center, 0, radius), place);
        assertHeld(cellsOfRing(center, radius, radius), place);
      }),
      { numRuns: rounds(1000) },
    );
  });

  it("returns the cells of places on the border of about half the world", () => {
    const offset = fc.oneof(
      fc.constant(0),
      fc.double({ min: -300, max: -1, noNaN: true }).map((power) => 10 ** power),
    );
    fc.assert(
      fc.property(offset, offset, longitude, fc.boolean(), (lat, offPole, lng, isSouth) => {
        const place = at(isSouth ? offPole - 90 : 90 - offPole, lng);
        const radius = distanceMeters(at(lat, 10), place);
        assertHeld(cellsOfRing(at(lat, 10), 0, radius), place);
        assertHeld(cellsOfRing(at(lat, 10), radius, radius), place);
      }),
      { numRuns: rounds(500) },
    );
  });

  it("returns one range for the world", () => {
    for (const center of [at(0, 0), at(48, 11), at(90, 0), at(-90, 180)]) {
      assert.deepEqual(cellsOfRing(center, 0, 3e7), [{ from: 0, to: cellsMax - 1 }]);
    }
  });

  it("returns no range for a ring without any place", () => {
    assert.deepEqual(cellsOfRing(at(1, 2), 2, 1), []);
    assert.deepEqual(cellsOfRing(at(1, 2), 0, -1), []);
    assert.deepEqual(cellsOfRing(at(1, 2), 0, Number.NaN), []);
  });

  it("covers both sides of the antimeridian, and a pole at every longitude", () => {
    for (const lng of [180, -180]) {
      assertHeld(cellsOfRing(at(10, 180), 0, 0), at(10, lng));
      assertHeld(cellsOfRing(at(10, -180), 0, 0), at(10, lng));
    }
    for (let lng = -180; lng <= 180; lng += 7.5) assertHeld(cellsOfRing(at(-90, 33), 0, 0), at(-90, lng));
  });

  const tight: [string, number, number, number, number][] = [
    ["circles of 1 km at latitude 48", 48, 0, 1000, 1.4],
    ["circles of 1 km at the equator", 0, 0, 1000, 1.4],
    ["circles of 50 km at latitude 60", 60, 0, 50_000, 1.4],
    ["circles of 1000 km at latitude 48", 48, 0, 1e6, 1.5],
    ["rings of 500 m to 1 km at latitude 48", 48, 500, 1000, 1.8],
    ["rings of 900 m to 1 km at latitude 48", 48, 900, 1000, 3.5],
  ];
  for (const [name, lat, inner, outer, most] of tight) {
    it(`returns at most ${most} times the area on average for ${name}`, () => {
      let sum = 0;
      for (let n = 0; n < 100; n++) {
        const center = at(lat + Math.sin(n), n * 3.59 - 180);
        sum += squareMeters(cellsOfRing(center, inner, outer)) / (capMeters(outer) - capMeters(inner));
      }
      assert.ok(sum / 100 >= 1, `${sum / 100}`);
      assert.ok(sum / 100 <= most, `${sum / 100}`);
    });
  }
});

describe("cellsOfBox", () => {
  it("returns the cells of all places in a box", () => {
    fc.assert(
      fc.property(box, rangesMax, fc.array(location, { maxLength: 20 }), places(), (range, max, anywhere, inside) => {
        if (range.shape !== "box") return;
        const { southWest, northEast } = range;
        const ranges = cellsOfBox(southWest, northEast, max);
        assertTidy(ranges, max);
        const width = northEast.lng - southWest.lng + (northEast.lng < southWest.lng ? 360 : 0);
        const height = northEast.lat - southWest.lat;
        const corners = [southWest, northEast, at(southWest.lat, northEast.lng), at(northEast.lat, southWest.lng)];
        for (const corner of corners) assert.ok(isInRange(corner, range));
        const within = inside.map(([a, b]) => at(southWest.lat + a * height, wrap(southWest.lng + b * width)));
        const seam = [180, -180].flatMap((lng) => [at(southWest.lat, lng), at(northEast.lat, lng)]);
        for (const place of [...corners, ...within, ...seam, ...anywhere]) {
          if (isInRange(place, range)) assertHeld(ranges, place);
        }
      }),
      { numRuns: rounds(1500) },
    );
  });

  it("returns one range for the complete map", () => {
    assert.deepEqual(cellsOfBox(at(-90, -180), at(90, 180)), [{ from: 0, to: cellsMax - 1 }]);
  });

  it("returns one cell for one place, and two on the antimeridian", () => {
    assert.deepEqual(cellsOfBox(at(1, 2), at(1, 2)), [{ from: cellOf(at(1, 2)), to: cellOf(at(1, 2)) }]);
    const both = [cellOf(at(1, -180)), cellOf(at(1, 180))];
    for (const [west, east] of [
      [180, 180],
      [-180, -180],
      [180, -180],
    ] as const) {
      assert.deepEqual(
        cellsOfBox(at(1, west), at(1, east)),
        both.map((cell) => ({ from: cell, to: cell })),
      );
    }
  });

  it("returns no range for a box whose south is north of its north", () => {
    assert.deepEqual(cellsOfBox(at(2, 0), at(1, 1)), []);
  });

  it("returns at most 1.4 times the area on average", () => {
    let sum = 0;
    for (let n = 0; n < 100; n++) {
      const southWest = at(47 + Math.sin(n), n * 3.59 - 180);
      const northEast = at(southWest.lat + 0.02, wrap(southWest.lng + 0.03));
      const exact = bandMeters(southWest.lat, northEast.lat) * (0.03 / 360);
      sum += squareMeters(cellsOfBox(southWest, northEast)) / exact;
    }
    assert.ok(sum / 100 >= 1 && sum / 100 <= 1.4, `${sum / 100}`);
  });
});

describe("cellsOfRange", () => {
  it("covers a circle or a box with at most the given number of ranges", () => {
    assert.deepEqual(cellsOfRange(circleOf(48, 11, 500), 7), cellsOfRing(at(48, 11), 0, 500, 7));
    assert.deepEqual(cellsOfRange(boxOf(1, 2, 3, 4), 7), cellsOfBox(at(1, 2), at(3, 4), 7));
    assert.equal(cellsOfRange(circleOf(48, 11, 500), 1).length, 1);
  });
});

function coordinate(limit: number): fc.Arbitrary<number> {
  const tiny = fc.double({ min: -14, max: -2, noNaN: true }).map((exponent) => 10 ** exponent);
  return fc.oneof(
    fc.double({ min: -limit, max: limit, noNaN: true }).map((degrees) => degrees + 0),
    fc.constantFrom(-limit, limit, 0, limit / 2),
    tiny.map((offset) => limit - offset),
    tiny.map((offset) => offset - limit),
    fc.integer({ min: -64, max: 64 }).map((step) => (step / 64) * limit + 0),
  );
}

/** Pairs of fractions: of the width and height of an area, or of its directions and distances. */
function places(): fc.Arbitrary<[number, number][]> {
  return fc.array(fc.tuple(share, share), { minLength: 10, maxLength: 20 });
}

/** Places in all directions, including some at exactly the two distances. */
function placesAround(center: Location, inner: number, outer: number, shares: [number, number][]): Location[] {
  return shares.map(([direction, part]) => {
    const angle = (inner + (outer - inner) * part) / earthRadiusMeters;
    const bearing = direction * 2 * Math.PI;
    const lat = (center.lat * Math.PI) / 180;
    const sin = Math.sin(lat) * Math.cos(angle) + Math.cos(lat) * Math.sin(angle) * Math.cos(bearing);
    const east = Math.sin(bearing) * Math.sin(angle) * Math.cos(lat);
    const turn = Math.atan2(east, Math.cos(angle) - Math.sin(lat) * sin);
    return at(clamp((Math.asin(clamp(sin, 1)) * 180) / Math.PI, 90), wrap(center.lng + (turn * 180) / Math.PI));
  });
}

function naiveCell(place: Location): number {
  const index = (degrees: number, limit: number) =>
    BigInt(Math.min(Math.floor(((degrees + limit) / (2 * limit)) * 2 ** 26), 2 ** 26 - 1));
  const x = index(place.lng, 180);
  const y = index(place.lat, 90);
  let cell = 0n;
  for (let bit = 25n; bit >= 0n; bit--) cell = (cell << 2n) | (((x >> bit) & 1n) << 1n) | ((y >> bit) & 1n);
  return Number(cell);
}

function assertTidy(ranges: CellRange[], max: number): void {
  assert.ok(ranges.length > 0 && ranges.length <= max, `${ranges.length} ranges of ${max}`);
  let last = -2;
  for (const { from, to } of ranges) {
    assert.ok(Number.isSafeInteger(from) && Number.isSafeInteger(to));
    assert.ok(last + 1 < from && from <= to && to < cellsMax);
    last = to;
  }
}

function assertHeld(ranges: CellRange[], place: Location): void {
  const cell = cellOf(place);
  assert.ok(
    ranges.some(({ from, to }) => from <= cell && cell <= to),
    `${place.lat},${place.lng} is in none of the ranges`,
  );
}

/** The area of ranges on the sphere, summed over squares of the map. */
function squareMeters(ranges: CellRange[]): number {
  let sum = 0;
  for (const { from, to } of ranges) {
    for (let cell = from; cell <= to; ) {
      let side = 1;
      while (side < 2 ** 26 && cell % (4 * side * side) === 0 && cell + 4 * side * side - 1 <= to) side *= 2;
      let row = 0;
      for (let bit = 0; bit < 26; bit++) row += (Math.floor(cell / 4 ** bit) % 2) * 2 ** bit;
      const south = (row / 2 ** 26) * 180 - 90;
      sum += bandMeters(south, south + (side / 2 ** 26) * 180) * (side / 2 ** 26);
      cell += side * side;
    }
  }
  return sum;
}

function bandMeters(south: number, north: number): number {
  const sin = (degrees: number) => Math.sin((degrees * Math.PI) / 180);
  return 2 * Math.PI * earthRadiusMeters ** 2 * (sin(north) - sin(south));
}

function capMeters(radius: number): number {
  return 2 * Math.PI * earthRadiusMeters ** 2 * (1 - Math.cos(radius / earthRadiusMeters));
}

function at(lat: number, lng: number): Location {
  return { lat, lng };
}

function circleOf(lat: number, lng: number, radiusMeters: number): LocationRange {
  return { shape: "circle", center: { lat, lng }, radiusMeters };
}

function boxOf(south: number, west: number, north: number, east: number): LocationRange {
  return { shape: "box", southWest: at(south, west), northEast: at(north, east) };
}

function wrap(lng: number): number {
  if (lng > 180) return lng - 360;
  return lng < -180 ? lng + 360 : lng;
}

function clamp(value: number, limit: number): number {
  return Math.max(-limit, Math.min(limit, value));
}
