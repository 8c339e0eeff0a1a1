import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSealer } from "./seal.ts";

const sealer = createSealer(["a secret of some length"], "test");

describe("createSealer", () => {
  it("opens its own texts, and only in the same context", () => {
    const sealed = sealer.seal("Grüße, 👋", "region main");
    assert.equal(sealer.open(sealed, "region main"), "Grüße, 👋");
    assert.equal(sealer.open(sealed, "region eu"), undefined);
  });

  it("texts contain no percent sign, space or quote, and reveal nothing", () => {
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

  it("keeps secrets and purposes apart", () => {
    const sealed = sealer.seal("claims", "");
    assert.equal(createSealer(["another secret"], "test").open(sealed, ""), undefined);
    assert.equal(createSealer(["a secret of some length"], "paging").open(sealed, ""), undefined);
  });

  it("after a rotation seals with the newest secret and still opens texts of the older one", () => {
    const before = createSealer(["old secret"], "test");
    const rotated = createSealer(["new secret", "old secret"], "test");
    assert.equal(rotated.open(before.seal("claims", ""), ""), "claims");
    assert.equal(before.open(rotated.seal("claims", ""), ""), undefined);
    assert.equal(createSealer(["new secret"], "test").open(rotated.seal("claims", ""), ""), "claims");
  });
});
