import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClock } from "./clock.ts";

describe("createClock", () => {
  it("returns the wall time while the wall clock advances", () => {
    let wall = 1_000;
    const clock = createClock(
      () => wall,
      () => 0,
    );
    assert.equal(clock.now(), 1_000);
    wall = 5_000;
    assert.equal(clock.now(), 5_000);
  });

  it("continues at the monotonic pace when the wall clock steps back by an hour, until the wall clock catches up", () => {
    let wall = 10_000_000;
    let monotonic = 0;
    const clock = createClock(
      () => wall,
      () => monotonic,
    );
    const before = clock.now();
    wall -= 3_600_000;
    monotonic += 250.5;
    assert.equal(clock.now(), before + 250);
    monotonic += 0.5;
    assert.equal(clock.now(), before + 251);
    wall += 3_700_000;
    assert.equal(clock.now(), wall);
  });
});
