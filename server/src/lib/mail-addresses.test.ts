import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addressKey, maskEmail } from "./mail-addresses.ts";

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

// spec/users#verified-addresses
describe("the key of an address", () => {
  it("is the same for the case of A to Z, for Unicode forms, and for the ASCII form of a domain", () => {
    for (const [address, key] of [
      [" Jane@Example.ORG\u200b", "jane@example.org"],
      ["j\u0075\u0308rgen@bücher.example", "jürgen@xn--bcher-kva.example"],
      ["JÜRGEN@XN--BCHER-KVA.example", "jÜrgen@xn--bcher-kva.example"],
      ["a@example。org", "a@example.org"],
    ] as const) {
      assert.equal(addressKey(address), key);
    }
  });

  it("does not exist for what a URL would cut off, or for no single address", () => {
    for (const rest of ["#.evil.org", "?.evil.org", "/.evil.org", "%2eevil.org", ":25", "."]) {
      assert.equal(addressKey(`jane@example.org${rest}`), undefined, rest);
    }
    for (const none of ["jane", "a@b, c@d", "Jane <jane@example.org>", "", "@", "jane@"]) {
      assert.equal(addressKey(none), undefined, none);
    }
  });
});
