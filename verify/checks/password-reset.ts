import { group } from "../check.ts";
import { further, missing, specified } from "../errors.ts";
import { expectEqual, expectError, expectResult, expectSameAnswer } from "../expect.ts";
import { logIn, sharedDevice, sharedUser, signUp, signUpWith, uniqueName, type World } from "../world.ts";

const mail = { subject: "Your code", body: "Your code is @ResetCode." };
const newPassword = "another horse";

async function ask(world: World, fields: Readonly<Record<string, unknown>>) {
  return world.call("POST /users/password", { token: await sharedDevice(world), body: fields });
}

async function reset(world: World, fields: Readonly<Record<string, unknown>>) {
  return world.call("PATCH /users/password", { token: await sharedDevice(world), body: fields });
}

/** The tolerance for jitter between answers. A busy machine exceeds it now and then, and a difference of the service always. */
const apartMsMax = 150;
const triesMax = 5;

/** Password reset by a mailed code (spec/users#request-a-reset-code), as far as it can be checked without the mail. */
export const passwordReset = group("password-reset", (it) => {
  it("spec/users#request-a-reset-code · POST /users/password: true, in the same time, whether the user exists or not", async (world) => {
    const withMail = await signUpWith(world, { email: "verify@example.invalid" });
    const { userName: withoutMail } = await sharedUser(world);
    const names = [withMail.userName, withMail.userName.toUpperCase(), withoutMail, uniqueName(), "x".repeat(5_000)];
    for (let tries = 1; ; tries++) {
      const startedAt = performance.now();
      const asked = names.map(async (userName) => {
        const answer = await ask(world, { userName, ...mail });
        return { answer, ms: performance.now() - startedAt };
      });
      const [first, ...others] = await Promise.all(asked);
      if (first === undefined) return;
      expectEqual(first.answer, "result", expectResult(first.answer), true);
      for (const { answer } of others) expectSameAnswer(answer, first.answer);
      const isSame = others.every(({ ms }) => Math.abs(ms - first.ms) < apartMsMax);
      if (!isSame && tries < triesMax) continue;
      expectEqual(first.answer, `answered within ${apartMsMax} ms of the others`, isSame, true);
      break;
    }
    expectResult(await world.call("GET /users/me", { token: withMail.token }));
    expectResult(await world.call("GET /users/me", { token: await logIn(world, withMail) }));
  });
  for (const name of ["userName", "subject", "body"])
    it(`spec/users#request-a-reset-code · POST /users/password: 400 ParameterMissingRequiredValue without ${name}`, async (world) => {
      for (const value of [undefined, null, ""]) {
        expectError(await ask(world, { userName: uniqueName(), ...mail, [name]: value }), missing(name));
      }
    });
  for (const name of ["userName", "resetCode"])
    it(`spec/users#use-a-reset-code · PATCH /users/password: 400 ParameterMissingRequiredValue without ${name}`, async (world) => {
      const sent = { userName: uniqueName(), resetCode: "nothing", newPassword };
      for (const value of [undefined, null, ""])
        expectError(await reset(world, { ...sent, [name]: value }), missing(name));
    });
  it("spec/users#use-a-reset-code · PATCH /users/password: newPassword is required, and has at least 4 characters", async (world) => {
    const sent = { userName: uniqueName(), resetCode: "nothing" };
    for (const value of [undefined, null]) {
      expectError(await reset(world, { ...sent, newPassword: value }), missing("newPassword"));
    }
    for (const value of ["", "abc"]) {
      expectError(await reset(world, { ...sent, newPassword: value }), specified.passwordTooShort);
    }
  });
  for (const name of ["userName", "subject", "body", "resetCode", "newPassword"])
    it(`spec/users#request-a-reset-code · /users/password: 400 ParameterIncorrectFormat for an object as ${name}`, async (world) => {
      const expected = { ...further.incorrectFormat, message: new RegExp(name) };
      const isOfMail = name in { userName: 1, ...mail };
      const sent = { userName: uniqueName(), ...mail, resetCode: "nothing", newPassword, [name]: { a: 1 } };
      expectError(await (isOfMail ? ask(world, sent) : reset(world, sent)), expected);
    });
  it("spec/users#use-a-reset-code · PATCH /users/password: 400 ParameterOutOfRange for a wrong code; password and tokens are unchanged", async (world) => {
    const user = await signUp(world);
    const { userName } = user;
    const tries = Array.from({ length: 6 }, (_, index) =>
      reset(world, { userName, resetCode: `${index}`, newPassword }),
    );
    const unknown = reset(world, { userName: uniqueName(), resetCode: "nothing", newPassword });
    const [first, ...others] = await Promise.all([unknown, ...tries]);
    expectError(first, { ...further.outOfRange, message: /resetCode/ });
    for (const answer of others) expectSameAnswer(answer, first);
    expectResult(await world.call("GET /users/me", { token: user.token }));
    expectResult(await world.call("GET /users/me", { token: await logIn(world, user) }));
  });
});
