import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { passSteadyTime } from "../../test/steady-clock.ts";
import { createSealer, createSeriesSealer, hmac, hmacKey } from "./seal.ts";

const sealers = { createSealer, createSeriesSealer };
for (const [name, create] of Object.entries(sealers)) {
  describe(name, () => {
    const sealer = create(["a secret of some length"], "test");

    it("opens its own strings, and only in the same context", () => {
      const sealed = sealer.seal("Grüße, 👋", "region main");
      assert.equal(sealer.open(sealed, "region main"), "Grüße, 👋");
      assert.equal(sealer.open(sealed, "region eu"), undefined);
    });

    it("returns strings without percent signs, spaces and quotes, which reveal nothing of the plain text", () => {
      const sealed = sealer.seal("application one", "");
      assert.match(sealed, /^[A-Za-z0-9_-]+$/);
      assert.ok(!Buffer.from(sealed, "base64url").includes("application"));
      assert.notEqual(sealer.seal("application one", ""), sealed);
    });

    it("refuses every truncation, extension and flipped bit", () => {
      const sealed = sealer.seal("claims", "context");
      for (let length = 0; length < sealed.length; length++) {
        assert.equal(sealer.open(sealed.slice(0, length), "context"), undefined);
      }
      assert.equal(sealer.open(`${sealed}A`, "context"), undefined);
      assert.equal(sealer.open(`${sealed}=`, "context"), undefined);
      assert.equal(sealer.open(`${sealed} `, "context"), undefined);
      const bytes = Buffer.from(sealed, "base64url");
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const flipped = Buffer.from(bytes);
        flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        assert.equal(sealer.open(flipped.toString("base64url"), "context"), undefined);
      }
    });

    it("opens no string of another secret or purpose", () => {
      const sealed = sealer.seal("claims", "");
      assert.equal(create(["another secret"], "test").open(sealed, ""), undefined);
      assert.equal(create(["a secret of some length"], "paging").open(sealed, ""), undefined);
    });

    it("seals with the newest secret after a rotation, and opens strings of the older one", () => {
      const before = create(["old secret"], "test");
      const rotated = create(["new secret", "old secret"], "test");
      assert.equal(rotated.open(before.seal("claims", ""), ""), "claims");
      assert.equal(before.open(rotated.seal("claims", ""), ""), undefined);
      assert.equal(create(["new secret"], "test").open(rotated.seal("claims", ""), ""), "claims");
    });
  });
}

describe("hmac", () => {
  it("equals the HMAC-SHA256 of node:crypto for keys and messages of every length", () => {
    for (let length = 0; length <= 64; length += 1) {
      const [key, message] = [randomBytes(length), randomBytes(length * 3)];
      const expected = createHmac("sha256", key).update(message).digest("latin1");
      assert.equal(hmac(hmacKey(key), message), expected);
    }
  });
});

describe("createSeriesSealer", () => {
  const create = () => createSeriesSealer(["a secret of some length"], "test");

  it("opens the strings of createSealer, but not the other way round", () => {
    const single = createSealer(["a secret of some length"], "test");
    assert.equal(create().open(single.seal("claims", "context"), "context"), "claims");
    assert.equal(single.open(create().seal("claims", "context"), "context"), undefined);
    assert.equal(create().isNewest(single.seal("claims", "")), false);
  });

  it("never uses a pair of salt and number twice, and never shares a salt with another process", () => {
    const [here, there] = [create(), create()];
    const headOf = (sealed: string) => Buffer.from(sealed, "base64url").toString("hex", 4, 24);
    const [ofHere, ofThere] = [here, there].map((each) =>
      Array.from({ length: 2_500 }, () => headOf(each.seal("", ""))),
    );
    assert.equal(new Set([...(ofHere ?? []), ...(ofThere ?? [])]).size, 5_000);
    const saltsOf = (heads: readonly string[] = []) => new Set(heads.map((head) => head.slice(0, 32)));
    assert.ok(saltsOf(ofHere).isDisjointFrom(saltsOf(ofThere)));
  });

  it("opens strings of every series and length, whichever process sealed them", () => {
    const [here, there] = [create(), create()];
    const textOf = (index: number) => `${index} `.repeat(index % 500 === 499 ? 10_000 : index % 40);
    const sealed = Array.from({ length: 2_100 }, (_, index) => here.seal(textOf(index), "context"));
    for (const [index, text] of sealed.entries()) assert.equal(there.open(text, "context"), textOf(index));
  });

  it("encrypts each string of a series with a separate part of the key stream", () => {
    const sealer = create();
    const sizes = [0, 1, 15, 16, 17, 40_000, 0, 33, 16_384, 100, 5];
    const ranges = sizes.map((size) => {
      const bytes = Buffer.from(sealer.seal(Buffer.alloc(size), ""), "base64url");
      const first = bytes.readUInt32BE(20);
      return { salt: bytes.toString("hex", 4, 20), first, last: first + Math.max(1, Math.ceil(size / 16)) - 1 };
    });
    for (const [, ofSalt] of Map.groupBy(ranges, ({ salt }) => salt)) {
      const inOrder = ofSalt.toSorted((a, b) => a.first - b.first);
      for (const [index, { first }] of inOrder.entries()) assert.ok(first > (inOrder[index - 1]?.last ?? -1));
    }
  });

  it("numbers its strings in random order, so that two numbers do not reveal how many are between them", () => {
    const sealer = create();
    const heads = Array.from({ length: 2_000 }, () => Buffer.from(sealer.seal("a cursor", ""), "base64url"));
    const numbers = heads.map((bytes) => bytes.readUInt32BE(20));
    const rising = numbers.filter((number, index) => number > (numbers[index - 1] ?? 0)).length;
    assert.ok(rising > 600 && rising < 1_400, `${rising} of 2,000 numbers are above the one before`);
  });

  it("uses a new salt after some seconds, not after a number of strings", () => {
    const sealer = create();
    const saltOf = (sealed: string) => Buffer.from(sealed, "base64url").toString("hex", 4, 20);
    const first = saltOf(sealer.seal("", ""));
    passSteadyTime(5_000);
    assert.notEqual(saltOf(sealer.seal("", "")), first);
  });

  it("does not allow moving characters between content and context", () => {
    const sealer = create();
    const bytes = Buffer.from(sealer.seal("ab", "c"), "base64url");
    for (const context of ["", "bc", `b${"c"}`, "c ", " c", "1 c"]) {
      assert.equal(sealer.open(bytes.toString("base64url"), context), undefined);
    }
    assert.equal(sealer.open(bytes.toString("base64url"), "c"), "ab");
  });
});
