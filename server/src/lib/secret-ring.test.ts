import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSaltedHashes } from "../metrics/engine/salted-hashes.ts";
import { createSealer, createSeriesSealer } from "./seal.ts";
import { createSecretRing, fingerprintOf, listFingerprints } from "./secret-ring.ts";
import { createSigner } from "./signer.ts";

const [newer, old] = ["the new secret", "the old secret"];

describe("a ring of secrets", () => {
  it("seals, signs and hashes with the current secret, and opens and verifies with all secrets", () => {
    const ring = createSecretRing([newer, old]);
    const makers = { createSealer, createSeriesSealer };
    const sealers = Object.values(makers).map((make) => ({ make, sealer: make(ring, "test") }));
    const signer = createSigner(ring, "test");
    const hashes = createSaltedHashes(ring);
    for (const [name, other] of [
      [old, newer],
      [newer, old],
    ] as const) {
      assert.equal(ring.sealWith(fingerprintOf(name)), true);
      assert.equal(listFingerprints(ring)[0], fingerprintOf(name));
      for (const { make, sealer } of sealers) {
        const sealed = sealer.seal("text", "context");
        assert.equal(make([name], "test").open(sealed, "context"), "text");
        assert.equal(make([other], "test").open(sealed, "context"), undefined);
        assert.equal(sealer.open(make([other], "test").seal("text", "context"), "context"), "text");
        assert.deepEqual([sealer.isNewest(sealed), sealer.isNewest(make([other], "test").seal("", ""))], [true, false]);
      }
      assert.equal(signer.sign("text"), createSigner([name], "test").sign("text"));
      assert.ok(signer.isSigned("text", createSigner([other], "test").sign("text")));
      assert.equal(hashes.of("app", "id"), createSaltedHashes([name]).of("app", "id"));
    }
    assert.equal(ring.sealWith(fingerprintOf("a stranger")), false);
    assert.equal(ring.sealing, 0);
  });
});
