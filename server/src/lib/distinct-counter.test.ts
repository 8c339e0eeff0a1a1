import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ByteReader, ByteWriter } from "./bytes.ts";
import { DistinctCounter } from "./distinct-counter.ts";

function hashOf(thing: number): number {
  return Number.parseInt(hash("sha256", `${thing}`, "hex").slice(0, 13), 16);
}

function counterOf(things: Iterable<number>, precision = 12): DistinctCounter {
  const counter = new DistinctCounter(precision);
  for (const thing of things) counter.add(hashOf(thing));
  return counter;
}

function bytesOf(counter: DistinctCounter): Uint8Array {
  const writer = new ByteWriter();
  counter.write(writer);
  return writer.finish();
}

function copy(counter: DistinctCounter, precision = 12): DistinctCounter {
  return DistinctCounter.read(precision, new ByteReader(bytesOf(counter)));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

// spec/metrics#precision
describe("DistinctCounter", () => {
  it("is exact up to 256, however often items repeat", () => {
    for (const count of [0, 1, 2, 255, 256]) {
      const counter = counterOf([...range(0, count), ...range(0, count)]);
      assert.equal(counter.count(), count);
      assert.equal(copy(counter).count(), count);
    }
  });

  it("is within 5 % from 257 to a million", () => {
    for (const count of [257, 300, 1_000, 5_000, 10_000, 11_000, 20_000, 100_000, 1_000_000]) {
      const estimate = counterOf(range(0, count)).count();
      assert.ok(Math.abs(estimate / count - 1) < 0.05, `${estimate} of ${count}`);
    }
  });

  it("has a standard error of 1.6 %, as the root mean square over a hundred counters", () => {
    for (const count of [1_000, 10_000, 40_000]) {
      const errors = range(0, 50).map((run) => counterOf(range(run * 1e6, run * 1e6 + count)).count() / count - 1);
      const error = Math.sqrt(errors.reduce((sum, each) => sum + each ** 2, 0) / errors.length);
      assert.ok(error < 0.022, `${error} at ${count}`);
    }
  });

  it("takes at most the memory of its registers", () => {
    assert.ok(bytesOf(counterOf(range(0, 100_000))).length <= 4_096 + 2);
    assert.ok(bytesOf(counterOf(range(0, 100_000), 10)).length <= 1_024 + 2);
  });

  it("counts the union after a merge, in any order, even of stored counters", () => {
    const some = fc.tuple(fc.nat({ max: 2_000 }), fc.nat({ max: 1_500 }));
    fc.assert(
      fc.property(fc.array(some, { minLength: 1, maxLength: 4 }), fc.boolean(), (ranges, isStored) => {
        const whole = counterOf(ranges.flatMap(([from, length]) => range(from, from + length)));
        const parts = ranges.map(([from, length]) => counterOf(range(from, from + length)));
        const merged = new DistinctCounter(12);
        for (const part of parts) merged.merge(isStored ? copy(part) : part);
        assert.equal(merged.count(), whole.count());
        const backwards = new DistinctCounter(12);
        for (const part of parts.toReversed()) backwards.merge(part);
        assert.equal(copy(backwards).count(), whole.count());
      }),
      { numRuns: 60 },
    );
  });

  it("refuses to merge counters of different precision", () => {
    assert.throws(() => new DistinctCounter(12).merge(new DistinctCounter(10)), RangeError);
  });
});
