// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Caller } from "../contract/route.ts";
import type { Revocation } from "../event-log/revocations.ts";
import { concernedBy, SeenRevocations } from "./events.confirmation.ts";

const caller = { tokenId: "tok", userId: "usr", deviceId: "dev", applicationKeyId: "key" } as Caller; // the fields that are compared

function revocation(kind: Revocation["kind"], id: string, position: number | null = 1): Revocation {
  return { kind, id, position, eventId: `evt ${kind} ${id}`, revision: `revision ${id}` };
}

// spec/events#revocations
describe("the revocations that a log reader has seen", () => {
  it("are each new once, even if they get their position later", () => {
    const seen = new SeenRevocations(10);
    const [one, other] = [revocation("user", "a", null), revocation("user", "b", 12)];
    assert.deepEqual(seen.take([one, other]), [one, other]);
    assert.deepEqual(seen.take([one]), []);
    assert.deepEqual(seen.take([{ ...one, position: 13 }]), []);
    assert.equal(seen.after, 13);
    assert.deepEqual(seen.take([]), []);
  });

  it("include the revision that each of them caused", () => {
    const seen = new SeenRevocations(0);
    seen.take([revocation("token", "a")]);
    assert.deepEqual([seen.includes("revision a"), seen.includes("revision b")], [true, false]);
  });

  it("concern the callers below the revoked object, and all callers if the application was revoked", () => {
    const concerns = (kind: Revocation["kind"], id: string) => concernedBy([revocation(kind, id)])?.(caller);
    for (const [kind, id] of [
      ["token", "tok"],
      ["user", "usr"],
      ["device", "dev"],
      ["key", "key"],
    ] as const) {
      assert.equal(concerns(kind, id), true);
      assert.equal(concerns(kind, "another"), false);
    }
    assert.equal(concernedBy([revocation("user", "another"), revocation("application", "app")]), undefined);
  });

  it("do not concern a caller without a user when a user's token was revoked", () => {
    const { userId: _, ...device } = caller;
    assert.equal(concernedBy([revocation("user", "undefined")])?.(device as Caller), false);
  });
});
