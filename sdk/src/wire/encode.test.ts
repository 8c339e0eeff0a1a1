import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { encodeParameters, encodeQuery } from "./encode.ts";

describe("the encoding of parameters", () => {
  it("writes dates, points, ranges and areas as strings", () => {
    const place = { lat: 48.123456789, lng: -0.00000001 };
    assert.deepEqual(
      encodeParameters({
        timestamp: new Date(5),
        location: place,
        created: { from: new Date(1), to: new Date(2) },
        lastModified: { to: new Date(2) },
        dobRange: { from: new Date(-1) },
        events: [{ key: "a", timestamp: new Date(5) }],
      }),
      {
        timestamp: "/Date(5)/",
        location: "48.1234568,-0",
        created: "/Date(1)/-/Date(2)/",
        lastModified: "-/Date(2)/",
        dobRange: "/Date(-1)/-",
        events: [{ key: "a", timestamp: "/Date(5)/" }],
      },
    );
    assert.deepEqual(encodeParameters({ near: { lat: 1, lng: 20, meters: 500 } }), { locationRange: "1,20,500" });
    const box = { southWest: { lat: 10, lng: 100 }, northEast: { lat: -2.5, lng: 3 } };
    assert.deepEqual(encodeParameters({ box }), { locationRange: "10,100--2.5,3" });
  });

  it("does not change the values of the app, and omits absent parameters", () => {
    assert.deepEqual(encodeParameters({ near: undefined, box: undefined, location: undefined, created: null }), {});
    const value = { at: new Date(5), place: { lat: 1, lng: 2 }, nothing: null };
    assert.equal(encodeParameters({ value })["value"], value);
    assert.deepEqual(encodeParameters({ value: null, tag: undefined, comment: null }), { value: null });
    assert.equal(encodeParameters({ values: value })["values"], value);
  });

  it("escapes a query", () => {
    assert.equal(
      encodeQuery({ tag: "a&b=c", size: 2, value: { a: 1 } }),
      "?tag=a%26b%3Dc&size=2&value=%7B%22a%22%3A1%7D",
    );
    assert.equal(encodeQuery({}), "");
  });
});
