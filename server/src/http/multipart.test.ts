// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { describe, it } from "node:test";
import { createFormParser, type FormPart } from "./multipart.ts";

const limits = { partsMax: 3, headersMax: 50, waitingBytes: 1_024 };

/** Parses a form whose boundary is b, and reads every part. */
async function parse(form: string, chunkBytes = form.length) {
  const parts: (Omit<FormPart, "bytes"> & { readonly content: Promise<string> })[] = [];
  const problems: string[] = [];
  const parser = createFormParser("multipart/form-data; boundary=b", limits, {
    onPart: ({ bytes, ...part }) => parts.push({ ...part, content: text(bytes) }),
    onTooManyParts: () => problems.push("too many parts"),
    onError: ({ message }) => problems.push(message),
  });
  const bytes = Buffer.from(form);
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, index) =>
    bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  );
  Readable.from(chunks).pipe(parser);
  await finished(parser);
  return { parts: await Promise.all(parts.map(async (part) => ({ ...part, content: await part.content }))), problems };
}

function formOf(...parts: readonly [headers: string, content: string][]): string {
  return `${parts.map(([headers, content]) => `--b\r\n${headers}\r\n\r\n${content}\r\n`).join("")}--b--\r\n`;
}

// spec/files#upload-forms
describe("the parser of multipart forms", () => {
  it("returns names, file names and types, however the form is split into chunks", async () => {
    const form = formOf(
      [
        'Content-Disposition: form-data; name="data"; filename="C:\\a\\grüße.txt"\r\nContent-Type: text/plain; x=y',
        "hello",
      ],
      ["content-disposition: form-data; NAME=plain", ""],
      [`Content-Disposition: form-data; name="a\\"b;c"; filename*=UTF-8''%e2%82%ac`, "x\r\n--"],
    );
    for (const chunkBytes of [1, 7, 1_000]) {
      assert.deepEqual(await parse(form, chunkBytes), {
        parts: [
          { name: "data", fileName: "grüße.txt", label: "text/plain; x=y", content: "hello" },
          { name: "plain", fileName: undefined, label: undefined, content: "" },
          { name: 'a"b;c', fileName: "€", label: undefined, content: "x\r\n--" },
        ],
        problems: [],
      });
    }
  });

  it("finishes although it skips a large part, and ignores an epilogue", async () => {
    const large = "x".repeat(1_000_000);
    const form = formOf(["X-Other: 1", large], ['Content-Disposition: form-data; name="a"', large]);
    const { parts, problems } = await parse(`${form}${large}`, 65_536);
    assert.deepEqual(
      parts.map(({ name, content }) => [name, content.length]),
      [["a", large.length]],
    );
    assert.deepEqual(problems, []);
  });

  it("reports a form with too many parts, and an incomplete one", async () => {
    const part = ['Content-Disposition: form-data; name="a"', "x"] as [string, string];
    assert.deepEqual((await parse(formOf(part, part, part, part))).problems, ["too many parts"]);
    assert.deepEqual((await parse("no form")).problems, ["Unexpected end of multipart data"]);
  });

  it("requires a boundary", () => {
    const listener = { onPart: () => {}, onTooManyParts: () => {}, onError: () => {} };
    assert.throws(() => createFormParser("multipart/form-data", limits, listener), TypeError);
  });
});
