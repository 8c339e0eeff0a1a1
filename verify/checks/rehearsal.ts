import type { Group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError } from "../expect.ts";
import { sharedUser } from "../world.ts";

/** Failures that clients request (spec/rehearsal). */
export const rehearsal: Group = {
  name: "rehearsal",
  checks: {
    "spec/rehearsal#where-rehearsal-is-allowed · Rollcall-Rehearse is obeyed or refused, never ignored": async (
      world,
    ) => {
      const { token } = await sharedUser(world);
      const headers = { "Rollcall-Rehearse": "RateLimitExceeded;retry-after=7" };
      const answer = await world.call("GET /users/me", { token, headers });
      expectError(answer, further.disabled, further.rateLimitExceeded);
      if (answer.status !== 429) return;
      expectEqual(answer, "Rollcall-Rehearsed", answer.headers["rollcall-rehearsed"], "RateLimitExceeded");
      expectEqual(answer, "Retry-After", answer.headers["retry-after"], "7");
      const wrong = { "Rollcall-Rehearse": "Nothing" };
      expectError(await world.call("GET /users/me", { token, headers: wrong }), further.outOfRange);
    },
  },
};
