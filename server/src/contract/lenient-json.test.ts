// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { processorTime } from "../../test/processor-time.ts";
import { parseJson } from "../lib/json.ts";
import { parseLenientJson } from "./lenient-json.ts";

/** Formats a value as a client does that supports only single quotes. */
function singleQuoted(value: unknown): string {
  return JSON.stringify(value).replaceAll(/"((?:[^"\\]|\\.)*)"/g, (_, inner: string) => {
    return `'${inner.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  });
}

describe("parseLenientJson", () => {
  it("reads JSON with double or single quotes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = parseJson(JSON.stringify(value));
        assert.deepEqual(parseLenientJson(JSON.stringify(value)), read);
        assert.deepEqual(parseLenientJson(singleQuoted(value)), read);
      }),
    );
  });

  it("accepts quotes of one kind inside the other, and strings with either kind", () => {
    const text = `[{'key': 'a "b"', "path": "it's", 'c\\'d': 'e\\\\'}]`;
    assert.deepEqual(parseLenientJson(text), [{ key: 'a "b"', path: "it's", "c'd": "e\\" }]);
  });

  it("throws for invalid JSON", () => {
    for (const text of ["", "'", "['a]", "[a]", "{'a':}", "'a' 'b'", "['a\nb']"]) {
      assert.throws(() => parseLenientJson(text), SyntaxError, text);
    }
  });

  it("takes linear time for hostile input", () => {
    const spentMs = processorTime();
    for (const text of ["'".repeat(1_000_001), "'\\".repeat(500_000), "[".repeat(1_000_000), "\"'".repeat(500_000)]) {
      assert.throws(() => parseLenientJson(text));
    }
    assert.ok(spentMs() < 2_000);
  });
});
