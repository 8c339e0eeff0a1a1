// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../lib/errors.ts";
import { Tally } from "./tally.ts";

function busyTally(): Tally {
  const tally = new Tally();
  for (let operation = 0; operation < 150; operation += 1) {
    for (let call = 0; call <= operation; call += 1) {
      const failure = call % 2 === 0 ? new ApiError("ParameterOutOfRange", `${call} ${"é".repeat(400)}`) : undefined;
      tally.count(`operation${operation}`, { status: failure === undefined ? 200 : 400, ms: 1 + call * 7, failure });
    }
  }
  for (let device = 1; device <= 1_000; device += 1) tally.devices.add(device * 0x9e3779b97f4a);
  return tally;
}

describe("tallies", () => {
  it("are serialized within a size limit, and preserve every count", () => {
    const tally = busyTally();
    for (const bytesMax of [16_384, 65_536]) {
      const bytes = tally.write(bytesMax);
      assert.ok(bytes.length <= bytesMax, `${bytes.length}`);
      const read = Tally.read(bytes);
      assert.deepEqual(read.byClass, tally.byClass);
      assert.deepEqual([read.calls, read.failed], [tally.calls, tally.failed]);
      const countsOf = ({ operations }: Tally) =>
        [...operations].map(([name, { calls, errors }]) => `${name} ${calls} ${errors}`).sort();
      assert.deepEqual(countsOf(read), countsOf(tally));
      const failures = read.errors.reduce((total, { count }) => total + count, read.otherErrors);
      assert.equal(failures, tally.failed);
      assert.deepEqual(read.latency()?.quantiles([0.5, 0.99]), tally.latency()?.quantiles([0.5, 0.99]));
      assert.equal(read.devices.count(), tally.devices.count());
      assert.deepEqual(Tally.read(read.write(bytesMax)).byClass, tally.byClass);
    }
  });

  it("sum to the tally of all calls", () => {
    const [sum, twice] = [new Tally(), new Tally()];
    for (const tally of [busyTally(), Tally.read(busyTally().write(16_384))]) sum.merge(tally);
    twice.merge(busyTally());
    twice.merge(busyTally());
    assert.deepEqual(sum.byClass, twice.byClass);
    assert.equal(sum.failed, twice.failed);
    assert.deepEqual(sum.latency()?.quantiles([0.5, 0.95]), twice.latency()?.quantiles([0.5, 0.95]));
    assert.equal(sum.devices.count(), busyTally().devices.count());
  });

  it("store at most 200 characters of a message, and no reference of a batch", () => {
    const tally = new Tally();
    const message = `The reference {{secret.value}} does not resolve. ${"𝒳".repeat(300)}`;
    tally.count("getUser", { status: 424, ms: 1, failure: new ApiError("BatchItemNotRun", message) });
    const [error] = tally.errors;
    assert.equal(Array.from(error?.message ?? "").length, 200);
    assert.ok(error?.message.startsWith("The reference {{…}} does not resolve."));
  });
});
