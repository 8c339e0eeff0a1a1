// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { processorTime } from "../../test/processor-time.ts";
import { parseJson } from "../lib/json.ts";
import { parseLenientJson } from "./lenient-json.ts";

/** Formats a value like a client that supports only single quotes. */
function singleQuoted(value: unknown): string {
  return JSON.stringify(value).replaceAll(/"((?:[^"\\]|\\.)*)"/g, (_, inner: string) => {
    return `'${inner.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  });
}

describe("parseLenientJson", () => {
  it("reads JSON, also with single quotes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = parseJson(JSON.stringify(value));
        assert.deepEqual(parseLenientJson(JSON.stringify(value)), read);
        assert.deepEqual(parseLenientJson(singleQuoted(value)), read);
      }),
    );
  });

  it("accepts quotes of one kind inside the other, and both kinds side by side", () => {
    const text = `[{'key': 'a "b"', "path": "it's", 'c\\'d': 'e\\\\'}]`;
    assert.deepEqual(parseLenientJson(text), [{ key: 'a "b"', path: "it's", "c'd": "e\\" }]);
  });

  it("throws for any other text", () => {
    for (const text of ["", "'", "['a]", "[a]", "{'a':}", "'a' 'b'", "['a\nb']"]) {
      assert.throws(() => parseLenientJson(text), SyntaxError, text);
    }
  });

  it("takes linear time for hostile texts", () => {
    const spentMs = processorTime();
    for (const text of ["'".repeat(1_000_001), "'\\".repeat(500_000), "[".repeat(1_000_000), "\"'".repeat(500_000)]) {
      assert.throws(() => parseLenientJson(text));
    }
    assert.ok(spentMs() < 2_000);
  });
});
