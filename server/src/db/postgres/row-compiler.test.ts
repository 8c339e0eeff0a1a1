// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRowCompiler } from "./lookups.ts";

describe("createRowCompiler", () => {
  it("makes rows of other columns after a migration", () => {
    const compile = createRowCompiler();
    assert.deepEqual(compile(["id", "name"])(["a", "x"]), { id: "a", name: "x" });
    assert.deepEqual(compile(["id", "title"])(["a", "y"]), { id: "a", title: "y" });
    assert.deepEqual(compile(["id"])(["a"]), { id: "a" });
  });

  it("reuses the function while the columns stay the same", () => {
    const compile = createRowCompiler();
    assert.equal(compile(["id"]), compile(["id"]));
  });

  it("skips the columns before the first one", () => {
    const compile = createRowCompiler(1);
    assert.deepEqual(compile(["position", "id"])([7, "a"]), { id: "a" });
  });
});
