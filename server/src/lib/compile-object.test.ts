// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileObject } from "./compile-object.ts";

describe("compileObject", () => {
  it("copies members by key or by index, in the given order", () => {
    const byKey = compileObject([
      { name: "b", from: "x" },
      { name: "a", from: "y" },
    ]);
    assert.deepEqual(Object.entries(byKey({ x: 1, y: null, z: 2 })), [
      ["b", 1],
      ["a", null],
    ]);
    assert.deepEqual(compileObject([{ name: "a", from: 1 }])(["x", "y"]), { a: "y" });
    assert.deepEqual(compileObject([])({ x: 1 }), {});
  });

  it("converts every value except undefined", () => {
    const make = compileObject([{ name: "a", from: "a", convert: (value) => [value] }]);
    assert.deepEqual(make({ a: null }), { a: [null] });
    assert.deepEqual(make({}), { a: undefined });
  });

  it("throws if a required member is undefined, and only then", () => {
    const make = compileObject([{ name: "a", from: "a", isRequired: true }]);
    assert.throws(() => make({}), /The object has no a/);
    assert.deepEqual(make({ a: null }), { a: null });
  });

  it("accepts any string as a name", () => {
    for (const name of ['"', "\\", "\n", "\u2028", "'];throw 1//", "constructor", "__proto__"]) {
      const made = compileObject([{ name, from: name }])(Object.fromEntries([[name, 1]]));
      assert.deepEqual(Object.entries(made), [[name, 1]]);
    }
  });
});
