// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRowBytes } from "./in-flight.ts";

describe("the bytes of a row", () => {
  it("are a high estimate until a response of the kind has been observed", () => {
    const rows = createRowBytes();
    assert.equal(rows.estimate("a", "checkins"), 2_048);
    rows.note("a", "checkins", 700);
    assert.equal(rows.estimate("a", "checkins"), 700);
  });

  it("are estimated by application and by kind of response", () => {
    const rows = createRowBytes();
    rows.note("a", "checkins", 50_000);
    assert.equal(rows.estimate("a", "users"), 2_048);
    assert.equal(rows.estimate("b", "checkins"), 2_048);
  });

  it("grow immediately, and shrink slowly, by a sixteenth of the difference per response", () => {
    const rows = createRowBytes();
    rows.note("a", "checkins", 1_000);
    rows.note("a", "checkins", 17_000);
    assert.equal(rows.estimate("a", "checkins"), 17_000);
    rows.note("a", "checkins", 1_000);
    assert.equal(rows.estimate("a", "checkins"), 16_000);
    for (let count = 0; count < 200; count += 1) rows.note("a", "checkins", 1_000);
    assert.ok(Math.abs(rows.estimate("a", "checkins") - 1_000) < 1);
  });

  it("are at least 256, because an empty page does not predict the next one", () => {
    const rows = createRowBytes();
    rows.note("a", "checkins", 0);
    assert.equal(rows.estimate("a", "checkins"), 256);
  });

  it("are stored for a thousand applications, and the oldest are dropped", () => {
    const rows = createRowBytes();
    for (let n = 0; n < 1_001; n += 1) rows.note(`application ${n}`, "checkins", 300);
    assert.deepEqual(
      [0, 1, 1_000].map((n) => rows.estimate(`application ${n}`, "checkins")),
      [2_048, 300, 300],
    );
  });
});
