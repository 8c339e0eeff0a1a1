import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError } from "../expect.ts";
import { sharedUser } from "../world.ts";

/** Failures that clients request (spec/rehearsal). */
export const rehearsal = group("rehearsal", (it) => {
  it("spec/rehearsal#where-rehearsal-is-allowed · Rollcall-Rehearse is obeyed or refused, never ignored", async (world) => {
    const headers = { "Rollcall-Rehearse": "RateLimitExceeded;retry-after=7" };
    const answer = await world.call("GET /users/me", { by: sharedUser, headers });
    expectError(answer, further.disabled, further.rateLimitExceeded);
    if (answer.status !== 429) return;
    expectEqual(answer, "Rollcall-Rehearsed", answer.headers["rollcall-rehearsed"], "RateLimitExceeded");
    expectEqual(answer, "Retry-After", answer.headers["retry-after"], "7");
    const wrong = { "Rollcall-Rehearse": "Nothing" };
    expectError(await world.call("GET /users/me", { by: sharedUser, headers: wrong }), further.outOfRange);
  });
});
