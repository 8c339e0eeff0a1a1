// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createApplicationCounts } from "./application-counts.ts";

test("each application has its own counts, by the class of the status", () => {
  const counts = createApplicationCounts(10);
  for (const status of [200, 201, 302, 404, 429, 503]) counts.count("app_a", status);
  counts.count("app_b", 200);
  assert.deepEqual(
    [...counts.report()],
    [
      ["app_a", [2, 1, 2, 1]],
      ["app_b", [1, 0, 0, 0]],
      ["other", [0, 0, 0, 0]],
    ],
  );
});

// spec/deployment#metric-series
test("beyond the limit, the busiest applications are reported by name and the others as a sum; reported counts never decrease", () => {
  const counts = createApplicationCounts(2);
  const ask = (id: string, times: number) => {
    for (let count = 0; count < times; count += 1) counts.count(id, 200);
  };
  const reported = () => Object.fromEntries([...counts.report()].map(([id, [succeeded]]) => [id, succeeded]));
  ask("a", 5);
  ask("b", 3);
  ask("c", 1);
  assert.deepEqual(reported(), { a: 5, b: 3, other: 1 });
  ask("c", 4); // recently busier than b, but by less than the margin
  ask("b", 3);
  assert.deepEqual(reported(), { a: 5, b: 6, other: 5 });
  ask("c", 100);
  assert.deepEqual(reported(), { b: 6, c: 100, other: 5 });
  ask("a", 1);
  assert.deepEqual(reported(), { b: 6, c: 100, other: 6 });
});

test("memory is bounded and no request is lost, however many applications there are", () => {
  const counts = createApplicationCounts(100);
  let asked = 0;
  for (let round = 0; round < 3; round += 1) {
    for (let app = 0; app < 10_000; app += 1) {
      counts.count(`app_${app}`, 200);
      asked += 1;
    }
    const reported = counts.report();
    assert.equal(reported.size, 101);
    assert.equal(
      [...reported.values()].reduce((sum, [succeeded]) => sum + succeeded, 0),
      asked,
    );
  }
});

test("a limit of 0 reports only the sum", () => {
  const counts = createApplicationCounts(0);
  counts.count("app_a", 200);
  assert.deepEqual([...counts.report()], [["other", [1, 0, 0, 0]]]);
});
