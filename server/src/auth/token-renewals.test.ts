// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { addFirstUse, overlapMs, supersededAt } from "./token-renewals.ts";

const start = Date.UTC(2026, 10, 23);

describe("stored first uses of renewed tokens: spec/authentication#renewal", () => {
  it("expire a token ten minutes after the first use of its successor, or at most half a minute later", () => {
    const pauses = fc.array(fc.integer({ min: 1, max: 900_000 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(pauses, (given) => {
        let stored: string | null = null;
        let now = start;
        const usedAt = [start];
        for (const [index, pause] of given.entries()) {
          now += pause;
          usedAt.push(now);
          stored = addFirstUse(stored, index + 1, now);
          for (let renewals = 0; renewals <= index; renewals++) {
            const due = (usedAt[renewals + 1] ?? 0) + overlapMs;
            const endsAt = supersededAt(renewals, stored);
            // The first use of an expired token may be forgotten, as long as the token stays expired.
            assert.ok(due <= now ? endsAt <= now || endsAt <= due + 30_000 : endsAt >= due && endsAt <= due + 30_000);
          }
          assert.equal(supersededAt(index + 1, stored), Number.POSITIVE_INFINITY);
        }
      }),
    );
  });

  it("are few, however fast a client renews", () => {
    let stored: string | null = null;
    for (let renewals = 1; renewals <= 5_000; renewals++)
      stored = addFirstUse(stored, renewals, start + renewals * 500);
    assert.ok(`${stored}`.length < 600, stored ?? "");
  });
});
