import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ApiError } from "../errors.ts";
import { requireUserNameKey, userNameKey } from "./users.names.ts";

describe('userNameKey: surface.md section 5 "unique per application regardless of case and of Unicode form"', () => {
  it("names that differ in case or Unicode form only have one key", () => {
    for (const names of [
      ["ada", "ADA", "Ada", "Ⓐda", "ａｄａ"],
      ["Zoë", "ZOË", "zoe\u0308"],
      ["Straße", "STRASSE", "strasse", "STRAẞE"],
      ["ΟΔΥΣΣΕΥΣ", "οδυσσευς", "οδυσσευσ"],
      ["ﬁsh", "FISH"],
      ["Å", "Å", "a\u030A"],
      ["Юлия", "ЮЛИЯ"],
      ["가", "\u1100\u1161"],
    ]) {
      const keys = names.map(userNameKey);
      assert.deepEqual([...new Set(keys)], [keys[0]], names.join(" "));
    }
  });

  it("names that differ otherwise have different keys", () => {
    const names = ["ada", "ada ", " ada", "a da", "adá", "аda", "", "%", "_", "a\u200Bda"];
    assert.equal(new Set(names.map(userNameKey)).size, names.length);
  });

  it("is the same for every character in either case and in every form", () => {
    const different: string[] = [];
    for (let code = 1; code <= 0x1_ffff; code++) {
      const name = String.fromCodePoint(code);
      if (!name.isWellFormed()) continue;
      const key = userNameKey(name);
      const variants = [key, name.toUpperCase(), name.toLowerCase(), name.normalize("NFD"), name.normalize("NFKC")];
      if (variants.some((variant) => userNameKey(variant) !== key)) different.push(`U+${code.toString(16)}`);
    }
    assert.deepEqual(different, []);
  });

  it("is the same for every name in its composed, decomposed and upper-case form", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 20 }), (text) => {
        const name = text.normalize("NFC");
        const key = userNameKey(name);
        assert.equal(userNameKey(name.normalize("NFD")), key);
        assert.equal(userNameKey(name.toUpperCase()), key);
        assert.equal(userNameKey(key), key);
      }),
    );
  });

  it("a name of 256 characters whose key is too long for an index is refused, not truncated", () => {
    assert.throws(
      () => requireUserNameKey("\uFDFA".repeat(256)), // one character that folds to eighteen
      (error) => error instanceof ApiError && error.condition === "ParameterOutOfRange",
    );
    assert.doesNotThrow(() => requireUserNameKey("𝒳".repeat(256)));
    assert.doesNotThrow(() => requireUserNameKey("\u{20000}".repeat(256)));
  });
});
