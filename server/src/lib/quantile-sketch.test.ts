// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ByteReader, ByteWriter } from "./bytes.ts";
import { binOf, QuantileSketch } from "./quantile-sketch.ts";

function sketchOf(numbers: readonly number[]): QuantileSketch {
  const sketch = new QuantileSketch();
  for (const number of numbers) sketch.add(number, binOf(number));
  return sketch;
}

function bytesOf(sketch: QuantileSketch): Uint8Array {
  const writer = new ByteWriter();
  sketch.write(writer);
  return writer.finish();
}

function copy(sketch: QuantileSketch): QuantileSketch {
  return QuantileSketch.read(new ByteReader(bytesOf(sketch)));
}

const shares = [0, 0.01, 0.5, 0.95, 0.99, 1];

function check(sketch: QuantileSketch, numbers: readonly number[], accuracy = 0.01): void {
  const sorted = numbers.toSorted((a, b) => a - b);
  for (const [index, found] of sketch.quantiles(shares).entries()) {
    const right = sorted[Math.floor((shares[index] ?? 0) * (sorted.length - 1))] ?? 0;
    assert.ok(Math.abs(found - right) <= Math.abs(right) * (accuracy + 1e-9), `${found}, not ${right}`);
  }
}

// spec/metrics#precision
describe("QuantileSketch", () => {
  const number = fc.oneof(
    fc.integer({ min: -1_000, max: 1_000 }),
    fc.double({ min: -1e9, max: 1e9, noNaN: true }),
    fc.constantFrom(0, 1e-300, -1e-300, 1e300, -1e300),
  );
  // The accuracy does not hold for subnormal numbers.
  const numbers = fc.array(
    number.filter((each) => each === 0 || Math.abs(each) > 1e-300),
    { minLength: 1, maxLength: 300 },
  );

  it("returns values within 1 % of the exact quantiles, for both signs and any size, even after it was stored", () => {
    fc.assert(
      fc.property(numbers, (all) => {
        check(sketchOf(all), all);
        check(copy(sketchOf(all)), all);
      }),
    );
  });

  it("covers the values of both sketches after a merge, including negative numbers", () => {
    fc.assert(
      fc.property(numbers, numbers, (some, others) => {
        const merged = sketchOf(some);
        merged.merge(copy(sketchOf(others)));
        check(merged, [...some, ...others]);
        assert.deepEqual(bytesOf(merged), bytesOf(sketchOf([...some, ...others])));
      }),
    );
  });

  it("bounds the number of bins for any input, at the cost of accuracy", () => {
    const all = Array.from({ length: 40_000 }, (_, index) => 10 ** ((index - 20_000) / 66.7));
    const sketch = sketchOf(all);
    assert.ok(bytesOf(sketch).length < 10_000);
    const [, , p50 = 0, , , p100 = 0] = sketch.quantiles(shares);
    assert.ok(p50 > 0.3 && p50 < 3, `${p50}`);
    assert.ok(p100 > 0.3 * (all.at(-1) ?? 0), `${p100}`);
    const other = sketchOf([1, 2, 3]);
    other.merge(sketch);
    assert.ok(bytesOf(other).length < 10_000);
    const bytes = bytesOf(copy(other));
    assert.deepEqual(bytes, bytesOf(other));
  });
});
