import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { processorTime } from "../../test/processor-time.ts";
import { parseJson } from "./json.ts";
import { parseLooseJson } from "./loose-json.ts";

/** As a client writes it that knows single quotes alone. */
function singleQuoted(value: unknown): string {
  return JSON.stringify(value).replaceAll(/"((?:[^"\\]|\\.)*)"/g, (_, inner: string) => {
    return `'${inner.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  });
}

describe("parseLooseJson", () => {
  it("reads JSON, and the same in single quotes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = parseJson(JSON.stringify(value));
        assert.deepEqual(parseLooseJson(JSON.stringify(value)), read);
        assert.deepEqual(parseLooseJson(singleQuoted(value)), read);
      }),
    );
  });

  it("takes quotes of one kind inside the other, and both kinds side by side", () => {
    const text = `[{'key': 'a "b"', "path": "it's", 'c\\'d': 'e\\\\'}]`;
    assert.deepEqual(parseLooseJson(text), [{ key: 'a "b"', path: "it's", "c'd": "e\\" }]);
  });

  it("throws for what is neither", () => {
    for (const text of ["", "'", "['a]", "[a]", "{'a':}", "'a' 'b'", "['a\nb']"]) {
      assert.throws(() => parseLooseJson(text), SyntaxError, text);
    }
  });

  it("takes linear time for hostile texts", () => {
    const spentMs = processorTime();
    for (const text of ["'".repeat(1_000_001), "'\\".repeat(500_000), "[".repeat(1_000_000), "\"'".repeat(500_000)]) {
      assert.throws(() => parseLooseJson(text));
    }
    assert.ok(spentMs() < 2_000);
  });
});
