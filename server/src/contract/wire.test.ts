// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createIdGenerator, idPatternOf } from "../lib/ids.ts";
import type { IdKind } from "../lib/kinds.ts";
import type { Schema } from "./schema.ts";
import { Decimal, Flag, IdInput, Integer, readWireValue, Text } from "./wire.ts";

/** The parsed value, or "format" or "range". */
function read(schema: Schema, value: unknown): unknown {
  const parsed = readWireValue(schema, value);
  return "problem" in parsed ? parsed.problem : parsed.value;
}

const anyText = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }));
const notScalar = fc.oneof(fc.array(fc.anything()), fc.object(), fc.constant({}), fc.constant([]));
const anyJson = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown); // JSON has no -0

// spec/transport#texts
describe("Text", () => {
  it("accepts any Unicode except NUL and lone surrogates unchanged, within its bounds in code points", () => {
    fc.assert(
      fc.property(anyText, fc.nat(6), fc.nat(12), (text, minLength, more) => {
        const maxLength = minLength + more;
        const length = [...text].length;
        const isText = text.isWellFormed() && !text.includes("\0");
        const isInside = length >= minLength && length <= maxLength;
        const expected = isText ? (isInside ? text : "range") : "format";
        assert.equal(read(Text({ minLength, maxLength }), text), expected);
      }),
    );
  });

  it("counts code points at the bounds, not UTF-16 units or graphemes", () => {
    const schema = Text({ minLength: 4, maxLength: 8 });
    for (const character of ["a", "é", "\u0301", "😀", "\u202E", "中"]) {
      for (const length of [4, 8]) assert.equal(read(schema, character.repeat(length)), character.repeat(length));
      for (const length of [1, 3, 9, 100]) assert.equal(read(schema, character.repeat(length)), "range");
    }
  });

  it("refuses a lone surrogate and NUL at any position", () => {
    const bad = fc.constantFrom("\0", "\uD800", "\uDBFF", "\uDC00", "\uDFFF");
    const around = fc.string({ unit: "grapheme-ascii" });
    fc.assert(
      fc.property(around, bad, around, (before, character, after) => {
        assert.equal(read(Text({ maxLength: 1_000 }), before + character + after), "format");
      }),
    );
  });

  it("accepts a number as a decimal string, and integers of any length with all digits", () => {
    const schema = Text({ maxLength: 400 });
    fc.assert(fc.property(fc.bigInt(), (integer) => assert.equal(read(schema, integer), integer.toString())));
    fc.assert(
      fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), (number) => {
        const text = read(schema, number);
        assert.match(String(text), /^-?\d+(\.\d+)?$/);
        assert.equal(Number(text), number + 0); // + 0: no -0
      }),
    );
  });

  it("refuses booleans, objects, arrays and numbers that JSON cannot write", () => {
    const values = fc.oneof(fc.boolean(), notScalar, fc.constantFrom(Infinity, -Infinity, NaN, null, undefined));
    fc.assert(fc.property(values, (value) => assert.equal(read(Text({ maxLength: 100 }), value), "format")));
  });
});

describe("Integer", () => {
  it("reads a number and a string with a sign, white space, leading zeros, a fraction of zeros or an exponent as equal", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (n) => {
        const size = Math.abs(n);
        const sign = n < 0 ? "-" : "+";
        const forms = [n, BigInt(n), `${n}`, ` ${n}\t`, `${sign}${size}`, `${sign}00${size}`, `${n}.000`, `${n}e0`];
        for (const form of forms) assert.equal(read(Integer({}), form), n + 0); // + 0: no -0
      }),
    );
  });

  it("refuses numbers outside of its bounds", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), fc.nat(), (n, minimum, more) => {
        const maximum = minimum + more;
        const expected = n >= minimum && n <= maximum ? n : "range";
        assert.equal(read(Integer({ minimum, maximum }), n), expected);
        assert.equal(read(Integer({ minimum, maximum }), `${n}`), expected);
      }),
    );
  });

  it("refuses fractions, and reports numbers beyond a double as out of range", () => {
    for (const value of [0.5, "0.5", "1e-1", "-1.25", Number.MIN_VALUE])
      assert.equal(read(Integer({}), value), "format");
    for (const value of ["1e400", "-1e400", Infinity, "9".repeat(400), 10n ** 400n]) {
      assert.equal(read(Integer({}), value), "range");
    }
  });
});

describe("Decimal", () => {
  it("reads a number and the same number in a string as equal", () => {
    fc.assert(
      fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), (n) => {
        for (const form of [n, `${n}`, ` ${n} `]) assert.ok(Object.is(read(Decimal({}), form), n + 0));
      }),
    );
  });

  it("refuses words, white space and other number notations", () => {
    const words = [
      "NaN",
      "Infinity",
      "-Infinity",
      "inf",
      "0x1F",
      "0b1",
      "0o7",
      "1_000",
      "1,5",
      "1 000",
      "٣",
      "１",
      "e1",
    ];
    for (const word of [...words, ".", "+", "-", "", " ", "1e", "1e+", "1n", "null", "true", "1;2"]) {
      assert.equal(read(Decimal({}), word), "format", word);
      assert.equal(read(Integer({}), word), "format", word);
    }
    assert.equal(read(Decimal({}), NaN), "format");
    assert.equal(read(Decimal({}), "1e400"), "range");
  });
});

describe("Flag", () => {
  it("accepts true, false, 0 and 1, and no other JSON value", () => {
    fc.assert(
      fc.property(fc.oneof(anyJson, anyText), (value) => {
        const word = typeof value === "object" ? "" : String(value).trim().toLowerCase();
        const expected = ["true", "1"].includes(word) ? true : ["false", "0"].includes(word) ? false : "format";
        assert.equal(read(Flag(), value), expected);
      }),
    );
    fc.assert(fc.property(fc.mixedCase(fc.constant("true")), (word) => assert.equal(read(Flag(), word), true)));
    fc.assert(fc.property(fc.mixedCase(fc.constant("false")), (word) => assert.equal(read(Flag(), word), false)));
  });
});

describe("IdInput", () => {
  const kinds: IdKind[] = ["App", "ApplicationKey", "Device", "User", "Checkin", "Token"];
  const anyId = fc.constantFrom(...kinds).map((kind) => ({ kind, id: createIdGenerator(Date.now).newId(kind) }));

  it("accepts ids of its kind, and names the expected kind for other ids", () => {
    fc.assert(
      fc.property(anyId, fc.constantFrom(...kinds), ({ kind, id }, expected) => {
        const parsed = readWireValue(IdInput(expected), id);
        if (kind === expected) assert.deepEqual(parsed, { value: id });
        else assert.equal("problem" in parsed && parsed.message, `Incorrect id type, expected ${expected}.`);
        assert.equal(new RegExp(idPatternOf(expected), "u").test(id), kind === expected);
      }),
    );
  });

  it("refuses other strings, including an id with any change, and other types", () => {
    const broken = fc.tuple(anyId, fc.nat(40), fc.constantFrom("", "_", "-", "A", "é", " ", "\n", "\0")).map(
      ([{ id }, at, character]) => id.slice(0, at) + character + id.slice(at + 1), // the change may also append a character
    );
    const noId = fc.oneof(broken, anyText, fc.double(), fc.bigInt(), fc.boolean(), notScalar);
    const isId = /^[a-z]{3}_[0-9a-z]{26}$/;
    fc.assert(
      fc.property(noId, fc.constantFrom(...kinds), (value, kind) => {
        fc.pre(typeof value !== "string" || !isId.test(value) || value.includes("\n"));
        assert.equal(read(IdInput(kind), value), "format");
      }),
    );
    for (const value of ["", "me", "current", "__proto__", "constructor", "zzz_00000000000000000000000000"]) {
      assert.equal(read(IdInput("User"), value), "format");
    }
  });
});
