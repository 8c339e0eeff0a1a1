// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ApiError } from "../lib/errors.ts";
import { userNameKey } from "../lib/user-name-keys.ts";
import { requireUserNameKey } from "./users.names.ts";

describe("userNameKey: spec/users#user-names", () => {
  it("gives names that differ only in case or Unicode form one key", () => {
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

  it("gives names that look alike to a reader one key: blanks, control and invisible characters", () => {
    for (const names of [
      [
        "ada",
        " ada",
        "ada ",
        "ada\n",
        "a\u200Bda",
        "a\u00ADda",
        "\uFEFFada",
        "ada\u202E",
        "a\u0007da",
        "ada\uFE0F",
        "A\u{E0041}DA",
      ],
      ["a da", "a  da", "a\u00A0da", "a\tda", "a \u200B da", "a\u2003da", "a\u2028da", "a\u2800da"],
      ["zoë", "zoe\u200B\u0308", "zoe\u034F\u0308"],
      ["", " ", "\u200B", "\u3164", "\u2800", "\u202E \u202C"],
    ]) {
      const keys = names.map(userNameKey);
      assert.deepEqual([...new Set(keys)], [keys[0]], names.map((name) => JSON.stringify(name)).join(" "));
    }
  });

  it("gives names that differ visibly different keys", () => {
    const names = ["ada", "a da", "ad a", "adá", "аda", "", "%", "_", "a.da"];
    assert.equal(new Set(names.map(userNameKey)).size, names.length);
  });

  it("is the same for every character in upper and lower case and in every Unicode form", () => {
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

  it("refuses, instead of truncating, a name of 256 characters whose key is too long for an index", () => {
    assert.throws(
      () => requireUserNameKey("\uFDFA".repeat(256)), // one character that folds to eighteen
      (error) => error instanceof ApiError && error.condition === "ParameterOutOfRange",
    );
    assert.doesNotThrow(() => requireUserNameKey("𝒳".repeat(256)));
    assert.doesNotThrow(() => requireUserNameKey("\u{20000}".repeat(256)));
  });
});
