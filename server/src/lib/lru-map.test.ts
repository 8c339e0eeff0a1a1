import assert from "node:assert/strict";
import { it } from "node:test";
import { LruMap } from "./lru-map.ts";

it("a full map drops the least recently used entry", () => {
  const map = new LruMap<string, number>(3);
  for (const [index, key] of ["a", "b", "c"].entries()) map.set(key, index);
  assert.equal(map.get("a"), 0);
  map.set("b", 10);
  map.set("d", 3);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => map.get(key)),
    [0, 10, undefined, 3],
  );
  assert.equal(map.size, 3);
});

it("deleted entries make room", () => {
  const map = new LruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.delete("b");
  map.set("c", 3);
  assert.deepEqual([map.get("a"), map.get("b"), map.get("c")], [1, undefined, 3]);
  map.clear();
  assert.deepEqual([map.get("a"), map.size], [undefined, 0]);
});
