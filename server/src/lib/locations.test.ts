import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { processorTime } from "../../test/processor-time.ts";
import { rounds } from "../../test/rounds.ts";
import { distanceMeters, type Location, parseLocation, parseLocationRange } from "./locations.ts";

const radius = 6_371_008.8;
const latitude = fc.double({ min: -90, max: 90, noNaN: true }).map((degrees) => degrees + 0);
const longitude = fc.double({ min: -180, max: 180, noNaN: true }).map((degrees) => degrees + 0);
const location: fc.Arbitrary<Location> = fc.record({ lat: latitude, lng: longitude }, { noNullPrototype: true });
const blank = fc.constantFrom("", " ", "  ");

// spec/transport#locations
describe("parseLocation", () => {
  const same: [string, unknown, Location][] = [
    ["two integers", "1,2", { lat: 1, lng: 2 }],
    ["two decimals", "47.6097,-122.3331", { lat: 47.6097, lng: -122.3331 }],
    ["blanks after the comma and around", " 47.6,  -122.3 ", { lat: 47.6, lng: -122.3 }],
    ["signs", "+1,-2", { lat: 1, lng: -2 }],
    ["exponents", "1e1,-2.5E-1", { lat: 10, lng: -0.25 }],
    ["numbers that begin or end with their point", ".5,5.", { lat: 0.5, lng: 5 }],
    ["the south pole at the antimeridian", "-90,-180", { lat: -90, lng: -180 }],
    ["the north pole at the antimeridian", "90,180", { lat: 90, lng: 180 }],
    ["an object of numbers", { lat: 1.5, lng: -2 }, { lat: 1.5, lng: -2 }],
    ["an object of texts", { lat: "1.5", lng: " -2 " }, { lat: 1.5, lng: -2 }],
    ["an object with names in another case", { LAT: 1, Lng: 2 }, { lat: 1, lng: 2 }],
    ["the documented name before one in another case", { LAT: 3, lat: 1, lng: 2, LNG: 4 }, { lat: 1, lng: 2 }],
    ["the last of two names in another case", { LAT: 3, Lat: 1, lng: 2 }, { lat: 1, lng: 2 }],
    ["an object with further members", { lat: 1, lng: 2, accuracy: "fine" }, { lat: 1, lng: 2 }],
  ];
  for (const [name, input, expected] of same) {
    it(`reads ${name}`, () => assert.deepEqual(parseLocation(input), { value: expected }));
  }

  it("reads -0 as 0", () => {
    for (const input of ["-0,-0.0", "-1e-400,-0e5", { lat: -0, lng: "-0" }]) {
      assert.deepEqual(parseLocation(input), { value: { lat: 0, lng: 0 } });
    }
  });

  it("reports degrees beyond ±90 and ±180 as a range problem", () => {
    for (const input of [
      ...["90.0000001,0", "-90.0000001,0", "91,0", "0,180.0000001", "0,-181", "1e400,0", "0,-1e400", "180,90"],
      ...[
        { lat: 91, lng: 0 },
        { lat: "0", lng: "181" },
        { lat: Number.POSITIVE_INFINITY, lng: 0 },
        { lat: 0, lng: "1e400" },
      ],
    ]) {
      assert.deepEqual(parseLocation(input), {
        problem: "range",
        rule: "must have a latitude between -90 and 90 and a longitude between -180 and 180",
      });
    }
  });

  it("does not parse a string or value that is not a pair of numbers", () => {
    const inputs: unknown[] = [
      ...[undefined, null, true, 5, Number.NaN, [], [1, 2], ["1,2"], {}, 5n, Symbol("1,2"), new Date(), () => 5],
      ...["", " ", ",", "1", "1,", ",2", "1,2,", "1,2,3", "1;2", "1 2", "a,b", "1,b", "91,b", "1,,2", "1.2.3,4", ".,1"],
      ...["NaN,0", "0,NaN", "Infinity,0", "0,-Infinity", "null,null", "0x10,1", "1e,2", "1e1.5,2", "--1,2", "- 1,2"],
      ...["1_0,2", "1n,2", "٣,٤", "1,2\u0000", '{"lat":1,"lng":2}'],
      ...[
        { lat: 1 },
        { lng: 1 },
        { lat: null, lng: 1 },
        { lat: "", lng: 1 },
        { lat: true, lng: 1 },
        { lat: [1], lng: 1 },
      ],
      ...[
        { lat: "NaN", lng: 0 },
        { lat: Number.NaN, lng: 0 },
        { lat: "Infinity", lng: 0 },
        { lat: "1,2", lng: 0 },
      ],
      ...[
        { latitude: 1, longitude: 2 },
        Object.create({ lat: 1, lng: 2 }),
        JSON.parse('{"__proto__":{"lat":1,"lng":2}}'),
      ],
    ];
    for (const input of inputs) {
      const rule = "must be a location <latitude>,<longitude> such as 47.6,-122.3";
      assert.deepEqual(parseLocation(input), { problem: "format", rule });
    }
  });

  it("returns every location unchanged, from a string or an object, in every number format", () => {
    const write = fc.constantFrom(
      String,
      (n: number) => n.toExponential(),
      (n: number) => n.toExponential().toUpperCase(),
      (n: number) => (n < 0 ? String(n) : `+${n}`),
    );
    const property = fc.property(location, write, blank, (point, text, gap) => {
      assert.deepEqual(parseLocation(`${gap}${text(point.lat)},${gap}${text(point.lng)}${gap}`), { value: point });
      assert.deepEqual(parseLocation(point), { value: point });
      assert.deepEqual(parseLocation({ LNG: text(point.lng), LAT: text(point.lat) }), { value: point });
    });
    fc.assert(property, { numRuns: rounds(1_000) });
  });
});

// spec/search#areas
describe("parseLocationRange", () => {
  const circles: [string, string, Location, number][] = [
    ["a circle", "47.6,-122.3,500", { lat: 47.6, lng: -122.3 }, 500],
    ["a circle with blanks and decimals", " 47.6, -122.3, 0.5 ", { lat: 47.6, lng: -122.3 }, 0.5],
    ["a radius of 0", "1,2,0", { lat: 1, lng: 2 }, 0],
    ["a radius of -0 as 0", "1,2,-0", { lat: 1, lng: 2 }, 0],
    ["a radius of 30,000 km", "-90,180,30000000", { lat: -90, lng: 180 }, 30_000_000],
    ["a radius with an exponent", "1,2,3e7", { lat: 1, lng: 2 }, 30_000_000],
  ];
  for (const [name, input, center, radiusMeters] of circles) {
    it(`reads ${name}`, () =>
      assert.deepEqual(parseLocationRange(input), { value: { shape: "circle", center, radiusMeters } }));
  }

  const boxes: [string, string, Location, Location][] = [
    ["a box", "1,2-3,4", { lat: 1, lng: 2 }, { lat: 3, lng: 4 }],
    ["a box of negative numbers", "-4,-3--2,-1", { lat: -4, lng: -3 }, { lat: -2, lng: -1 }],
    ["a box with negative exponents", "1e-1,2e-1-3e-1,4e-1", { lat: 0.1, lng: 0.2 }, { lat: 0.3, lng: 0.4 }],
    ["a box with blanks", " -1, 2 - -0.5, 4 ", { lat: -1, lng: 2 }, { lat: -0.5, lng: 4 }],
    ["a box across the antimeridian", "-10,170-10,-170", { lat: -10, lng: 170 }, { lat: 10, lng: -170 }],
    ["a box that is a point", "1,2-1,2", { lat: 1, lng: 2 }, { lat: 1, lng: 2 }],
    ["the whole earth", "-90,-180-90,180", { lat: -90, lng: -180 }, { lat: 90, lng: 180 }],
  ];
  for (const [name, input, southWest, northEast] of boxes) {
    it(`reads ${name}`, () =>
      assert.deepEqual(parseLocationRange(input), { value: { shape: "box", southWest, northEast } }));
  }

  it("reports a negative or infinite radius as a range problem", () => {
    for (const input of ["1,2,-1", "1,2,-0.001", "1,2,1e400", "1,2,-1e400"]) {
      assert.deepEqual(parseLocationRange(input), { problem: "range", rule: "must have a radius of 0 meters or more" });
    }
  });

  it("reports a box whose south is above its north as a range problem", () => {
    for (const input of ["2,0-1,0", "1,0--1,0", "90,0-89.9,0"]) {
      const rule = "must not have its south-west corner north of its north-east corner";
      assert.deepEqual(parseLocationRange(input), { problem: "range", rule });
    }
  });

  it("reports invalid degrees in a circle and in both corners of a box as a range problem", () => {
    for (const input of ["91,0,5", "0,181,5", "-91,0-0,0", "0,0-91,0", "0,-181-0,0", "0,0-0,1e400"]) {
      const result = parseLocationRange(input);
      assert.ok("problem" in result && result.problem === "range", input);
    }
  });

  it("does not parse a string or value that is neither a circle nor a box", () => {
    const inputs: unknown[] = [
      ...[undefined, null, 5, true, {}, [], ["1,2,3"], { lat: 1, lng: 2, radius: 3 }],
      ...[
        "",
        "1",
        "1,2",
        "1,2,",
        "1,2,3,4",
        "1,2,x",
        "1,2,NaN",
        "1,2,Infinity",
        "1,2,5m",
        "1,2-",
        "-1,2",
        "1,2-3",
        "1-2,3",
      ],
      ...["1,2-3,4-5,6", "1,2---3,4", "1,2-3,4,5", "1,2,3-4,5", "1,2- -", "0,1e-5,6-7,8", "1,2–3,4", "NaN,0-1,1"],
    ];
    for (const input of inputs) {
      const rule = "must be a circle such as 47.6,-122.3,500 or a box such as 47.5,-122.4-47.7,-122.2";
      assert.deepEqual(parseLocationRange(input), { problem: "format", rule });
    }
  });

  it("returns every circle unchanged", () => {
    const meters = fc.double({ min: 0, max: 3e7, noNaN: true });
    const property = fc.property(location, meters, blank, (center, radiusMeters, gap) => {
      const text = `${gap}${center.lat},${gap}${center.lng},${gap}${radiusMeters}${gap}`;
      assert.deepEqual(parseLocationRange(text), {
        value: { shape: "circle", center, radiusMeters: radiusMeters + 0 },
      });
    });
    fc.assert(property, { numRuns: rounds(1_000) });
  });

  it("returns every box unchanged, or reports a range problem if it is upside down", () => {
    const property = fc.property(location, location, blank, (southWest, northEast, gap) => {
      const text = `${southWest.lat},${gap}${southWest.lng}${gap}-${gap}${northEast.lat},${northEast.lng}`;
      const result = parseLocationRange(text);
      if (southWest.lat > northEast.lat) assert.ok("problem" in result && result.problem === "range", text);
      else assert.deepEqual(result, { value: { shape: "box", southWest, northEast } });
    });
    fc.assert(property, { numRuns: rounds(1_000) });
  });
});

describe("hostile locations", () => {
  it("return a value or a problem for any input, never an exception", () => {
    const pieces = fc.constantFrom(..."0159.,-+e ", "NaN", "1e400");
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(pieces).map((parts) => parts.join("")),
    );
    const loose = fc.record({ lat: fc.anything(), lng: fc.anything(), LAT: fc.anything() }, { requiredKeys: [] });
    const property = fc.property(fc.oneof(text, loose, fc.anything()), (input) => {
      for (const result of [parseLocation(input), parseLocationRange(input)]) {
        assert.ok("value" in result || result.rule !== "");
      }
      const point = parseLocation(input);
      if ("problem" in point) return;
      assert.ok(Math.abs(point.value.lat) <= 90 && Math.abs(point.value.lng) <= 180);
    });
    fc.assert(property, { numRuns: rounds(700) });
  });

  it("are refused immediately if they are long", () => {
    const spentMs = processorTime();
    for (const unit of ["9", ".", " ", ",", "-", "1,", "1e", "1,2-", "1,2,", "\u0000", "\ud800"]) {
      for (const length of [201, 100_000]) {
        const text = unit.repeat(length);
        for (const input of [text, `1,${text}`, `1,2-${text}`, { lat: text, lng: text }]) {
          for (const result of [parseLocation(input), parseLocationRange(input)]) {
            assert.ok("problem" in result && result.problem === "format");
          }
        }
      }
      parseLocation(unit.repeat(200).slice(0, 200));
      parseLocationRange(unit.repeat(200).slice(0, 200));
    }
    assert.ok(spentMs() < 500);
  });
});

describe("distanceMeters", () => {
  const degree = (Math.PI * radius) / 180;
  const known: [string, Location, Location, number][] = [
    ["one degree along the equator", { lat: 0, lng: 0 }, { lat: 0, lng: 1 }, degree],
    ["one degree along a meridian", { lat: 50, lng: 7 }, { lat: 51, lng: 7 }, degree],
    ["one degree across the antimeridian", { lat: 0, lng: 179.5 }, { lat: 0, lng: -179.5 }, degree],
    ["one degree in sum over the north pole", { lat: 89.5, lng: 10 }, { lat: 89.5, lng: -170 }, degree],
    ["a quarter of the equator", { lat: 0, lng: -45 }, { lat: 0, lng: 45 }, (Math.PI * radius) / 2],
    ["from pole to equator", { lat: 90, lng: 33 }, { lat: 0, lng: -120 }, (Math.PI * radius) / 2],
    ["from pole to pole", { lat: 90, lng: 33 }, { lat: -90, lng: -120 }, Math.PI * radius],
    ["between antipodes on the equator", { lat: 0, lng: 0 }, { lat: 0, lng: 180 }, Math.PI * radius],
    ["between antipodes off the equator", { lat: 30, lng: 60 }, { lat: -30, lng: -120 }, Math.PI * radius],
    ["a tenth of a millimetre", { lat: 0, lng: 0 }, { lat: 0, lng: 1e-9 }, degree * 1e-9],
    [
      "a tenth of a millimetre short of the antipodes",
      { lat: 0, lng: 0 },
      { lat: 1e-9, lng: 180 },
      degree * (180 - 1e-9),
    ],
  ];
  for (const [name, a, b, meters] of known) {
    it(`is accurate to a billionth of a metre: ${name}`, () => {
      assert.ok(Math.abs(distanceMeters(a, b) - meters) <= Math.max(1e-9, meters * 4e-16), `${distanceMeters(a, b)}`);
    });
  }

  it("is 343.6 km from Paris to London", () => {
    const paris = { lat: 48.8566, lng: 2.3522 };
    const london = { lat: 51.5074, lng: -0.1278 };
    assert.equal(Math.round(distanceMeters(paris, london) / 100), 3_436);
  });

  it("is 0 between different coordinates of one place: a pole with any longitude, the antimeridian from both sides", () => {
    const property = fc.property(location, longitude, ({ lat, lng }, other) => {
      assert.equal(distanceMeters({ lat, lng }, { lat, lng }), 0);
      assert.equal(distanceMeters({ lat: 90, lng }, { lat: 90, lng: other }), 0);
      assert.equal(distanceMeters({ lat: -90, lng }, { lat: -90, lng: other }), 0);
      assert.equal(distanceMeters({ lat, lng: 180 }, { lat, lng: -180 }), 0);
    });
    fc.assert(property, { numRuns: rounds(1_000) });
  });

  it("is half a circumference between antipodes", () => {
    const property = fc.property(latitude, fc.double({ min: 0, max: 180, noNaN: true }), (lat, lng) => {
      const meters = distanceMeters({ lat, lng }, { lat: -lat, lng: lng - 180 });
      assert.ok(Math.abs(meters - Math.PI * radius) < 1e-7, String(meters));
    });
    fc.assert(property, { numRuns: rounds(1_000) });
  });

  it("is bitwise equal in both directions", () => {
    const property = fc.property(location, location, (a, b) =>
      assert.equal(distanceMeters(a, b), distanceMeters(b, a)),
    );
    fc.assert(property, { numRuns: rounds(1_000) });
  });

  it("satisfies the triangle inequality", () => {
    const property = fc.property(location, location, location, (a, b, c) => {
      assert.ok(distanceMeters(a, c) <= distanceMeters(a, b) + distanceMeters(b, c) + 1e-6);
    });
    fc.assert(property, { numRuns: rounds(1_000) });
  });

  it("agrees with the angle between the two points as vectors", () => {
    const property = fc.property(location, location, (a, b) => {
      const meters = distanceMeters(a, b);
      assert.ok(meters >= 0 && meters <= Math.PI * radius);
      assert.ok(Math.abs(meters - radius * angleBetween(vectorOf(a), vectorOf(b))) < 1e-6);
    });
    fc.assert(property, { numRuns: rounds(1_000) });
  });
});

type Vector = [number, number, number];

function vectorOf({ lat, lng }: Location): Vector {
  const [phi, lambda] = [(lat * Math.PI) / 180, (lng * Math.PI) / 180];
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
}

function angleBetween([a, b, c]: Vector, [x, y, z]: Vector): number {
  return Math.atan2(Math.hypot(b * z - c * y, c * x - a * z, a * y - b * x), a * x + b * y + c * z);
}
