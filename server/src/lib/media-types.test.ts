import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { essenceOf, readMediaType } from "./media-types.ts";

describe("a claimed media type", () => {
  it("is stored in lower case, with its charset and no other parameter", () => {
    for (const [claimed, stored] of [
      ["Text/Plain", "text/plain"],
      [" text/plain;charset=UTF-8 ", "text/plain; charset=utf-8"],
      ['text/plain; format=flowed; Charset = "windows-1252"; x=y', "text/plain; charset=windows-1252"],
      ["text/plain; charset=utf-8; charset=latin1", "text/plain; charset=utf-8"],
      ["video/mp4; codecs=avc1", "video/mp4"],
      ["text/plain;", "text/plain"],
      ["text/plain; charset=", "text/plain"],
      ["text/plain; charset=a b", "text/plain"],
      ['text/plain; charset="a', "text/plain"],
      ["text/plain; charset=x\r\nset-cookie: y", "text/plain"],
      [`text/plain; charset=${"x".repeat(41)}`, "text/plain"],
    ] as const) {
      assert.equal(readMediaType(claimed), stored, claimed);
      assert.equal(essenceOf(stored), stored.split(";")[0]);
    }
  });

  it("is undefined for a string that is not a media type", () => {
    for (const claimed of ["", ";charset=utf-8", "nonsense", "a/b/c", "a b/c", "text/html\u00e9", "charset=utf-8"]) {
      assert.equal(readMediaType(claimed), undefined, claimed);
    }
  });
});
