import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { maskEmail } from "./mail-addresses.ts";

describe("masked addresses", () => {
  it("show the first character and the domain", () => {
    for (const [address, masked] of [
      ["jane.doe@example.org", "j…@example.org"],
      ["j@example.org", "j…@example.org"],
      ["😀jane@example.org", "😀…@example.org"],
      ['"a@b"@example.org', '"…@example.org'],
      ["@example.org", "…@example.org"],
      ["jane", "j…"],
      ["", "…"],
    ] as const) {
      assert.equal(maskEmail(address), masked);
    }
  });
});
