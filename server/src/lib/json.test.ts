import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseJson, writeJson } from "./json.ts";

function written(value: unknown): string {
  const result = writeJson(value);
  assert.ok("value" in result);
  return result.value;
}

describe("parseJson and writeJson", () => {
  it("writes any JSON like JSON.stringify", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        const json = JSON.stringify(value);
        assert.equal(written(parseJson(json)), json);
      }),
    );
  });

  it("preserve the digits of integers and the names and order of members; -0 becomes 0", () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(10n ** 300n), max: 10n ** 300n })), (integers) => {
        const json = `[${integers}]`;
        assert.equal(written(parseJson(json)), json);
      }),
    );
    const json = '{"b":1,"__proto__":{"__proto__":12345678901234567890},"a":{"toJSON":[null,{}]}}';
    assert.equal(written(parseJson(json)), json);
    assert.equal(written(parseJson(" [ -0 , 1e2 ] ")), "[0,100]");
  });

  it("omits undefined members", () => {
    assert.equal(written({ a: undefined, b: [{ c: undefined }], d: 1, e: undefined }), '{"b":[{}],"d":1}');
  });

  it("writes any depth", () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      const json = `${open.repeat(100_000)}1${close.repeat(100_000)}`;
      assert.equal(written(parseJson(json)), json);
    }
  });

  it("report a number beyond the range of a double as out of range at any position", () => {
    for (const json of ["1e400", "[-1e400]", '{"a":{"b":[1e999]}}', `${"9".repeat(400)}`, `[${"9".repeat(6_000)}]`]) {
      assert.deepEqual(writeJson(parseJson(json)), {
        problem: "range",
        rule: "must not hold a number beyond 1.8e308",
      });
    }
    assert.equal(written(parseJson(`[${"9".repeat(308)}]`)), `[${"9".repeat(308)}]`);
  });
});
