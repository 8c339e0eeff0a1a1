// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { abortable } from "./abortable.ts";

describe("a byte stream with an abort signal", () => {
  it("rejects immediately when it is aborted, even while its source is silent", async () => {
    const stopping = new AbortController();
    const silent = new Readable({ read() {} });
    const read = abortable(silent, stopping.signal).next();
    stopping.abort(new Error("enough"));
    await assert.rejects(read, /^Error: enough$/);
    assert.ok(silent.destroyed);
  });

  it("closes its source when the reader stops early", async () => {
    for (const signal of [undefined, new AbortController().signal]) {
      const source = Readable.from([Buffer.from("a"), Buffer.from("b")]);
      for await (const chunk of abortable(source, signal)) {
        assert.equal(String(chunk), "a");
        break;
      }
      await new Promise((resolve) => setImmediate(resolve));
      assert.ok(source.destroyed);
    }
  });

  it("does not accumulate listeners, however many chunks are read", async () => {
    const { signal } = new AbortController();
    const chunks = Array.from({ length: 100 }, (_, i) => Buffer.from([i]));
    for await (const chunk of abortable(Readable.from(chunks), signal)) {
      assert.equal(chunk.length, 1);
      assert.ok(getEventListeners(signal, "abort").length <= 2); // one of `abortable`, one of the previous chunk
    }
    assert.deepEqual(getEventListeners(signal, "abort"), []);
  });
});
