import { group, Skip } from "../check.ts";
import type { Answer } from "../client.ts";
import { further, specified } from "../errors.ts";
import { expectError, expectResult, expectThat } from "../expect.ts";
import { registerDevice, signUp } from "../world.ts";

const guessesMax = 200;

/** Limits with default settings (spec/limits#rate-limits, hostile.md 7). */
export const limits = group("limits", (it) => {
  it("hostile.md 7 · guessed passwords get 429 with Retry-After; the user's tokens and other logins are unaffected", async (world) => {
    const [user, other] = [await signUp(world), await signUp(world)];
    const token = await registerDevice(world);
    const guess = () =>
      world.call("POST /users/login", {
        token,
        body: { username: user.userName, password: "wrong" },
        isImpatient: true,
      });
    let answer: Answer = await guess();
    for (let n = 1; n < guessesMax && answer.status === 403; n++) {
      expectError(answer, specified.badUserNameOrPassword);
      answer = await guess();
    }
    if (answer.status === 403) throw new Skip("the server lets passwords be guessed, as with RATE_LIMITS=off");
    expectError(answer, further.rateLimitExceeded);
    expectThat(answer, /^[1-9]\d*$/.test(String(answer.headers["retry-after"])), "Retry-After in whole seconds");
    expectResult(await world.call("GET /users/me", { token: user.token }));
    const body = { username: other.userName, password: other.password };
    expectResult(await world.call("POST /users/login", { token: other.deviceToken, body }));
  });
  it("spec/limits#rate-limits · a hundred concurrent calls of one device are allowed", async (world) => {
    const { token } = await signUp(world);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => world.call("GET /users/me", { token, isImpatient: true })),
    );
    for (const answer of answers) expectResult(answer);
  });
});
