import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import { allMails, codeIn, mailsTo, waitUntil } from "../../test/mails.ts";
import { scrape } from "../../test/scrapes.ts";
import { updateApplicationSettings } from "../tenancy/application-settings.ts";

const scrapeToken = "a-token-for-scrapes";

let test: TestApp;
before(async () => {
  test = await startTestApp({ METRICS_TOKEN: scrapeToken });
  await allow(true);
});
after(() => test.close());

const minuteMs = 60_000;
const weekMs = 604_800_000;

async function allow(byEmail: boolean): Promise<void> {
  const settings = { oidc: {}, signIn: { byEmail } };
  await test.app.database.write(({ queries }) => updateApplicationSettings(test.application.appid, settings, queries));
}

async function settled(): Promise<void> {
  await waitUntil(() => test.app.background.runningCount === 0);
}

let users = 0;
function newAddress(): string {
  users += 1;
  return `owner${users}@example.com`;
}

async function verify(user: TestUser, email: string): Promise<void> {
  await test.call("POST /users/me/email", { token: user.token, body: { email } });
  await settled();
  const verifyCode = codeIn(allMails(test).at(-1));
  assertResult(await test.call("PATCH /users/me/email", { token: user.token, body: { verifyCode } }), 200, true);
  await settled();
}

/** A user with a verified address. */
async function signUp(userName?: string, email = newAddress()): Promise<TestUser & { email: string }> {
  const user = await test.signUp(userName);
  await verify(user, email);
  return { ...user, email };
}

/** From a device that has never signed in. */
async function logIn(username: string, password: string, token?: string): Promise<Answer> {
  const deviceToken = token ?? (await test.registerDevice());
  return test.call("POST /users/login", { token: deviceToken, body: { username, password } });
}

function assertRefused(answer: Answer): void {
  assertError(answer, 403, "AuthBadUsernameOrPassword", 262);
}

// spec/users#sign-in-by-address
describe("signIn.byEmail", () => {
  it("signs in with a verified address in any spelling, and with the name as before", async () => {
    const user = await signUp();
    for (const name of [user.email, user.email.toUpperCase(), user.userName]) {
      const { status, body } = await logIn(name, user.password);
      assert.deepEqual([status, body.result?.id], [200, user.id], name);
    }
    assertRefused(await logIn(user.email, "wrong"));
  });

  it("does nothing by default, for an unverified address, or after the address has changed", async () => {
    const user = await signUp();
    await allow(false);
    assertRefused(await logIn(user.email, user.password));
    await allow(true);
    const unverified = await test.signUp();
    const email = newAddress();
    await test.call("PATCH /users/me", { token: unverified.token, body: { email } });
    assertRefused(await logIn(email, unverified.password));
    await test.call("PATCH /users/me", { token: user.token, body: { email: newAddress() } });
    assertRefused(await logIn(user.email, user.password));
  });

  it("a disabled user gets AuthUserAccountDisabled, only with the right password", async () => {
    const user = await signUp();
    const { token } = await test.createOperator();
    const { appid } = test.application;
    await test.call(`POST /_/api/applications/${appid}/users/${user.id}/disable`, { token });
    assert.equal((await logIn(user.email, user.password)).body.error, "AuthUserAccountDisabled");
    assertRefused(await logIn(user.email, "wrong"));
  });

  it("the former address signs in and gets codes for seven days after an unproven change: hostile.md 41", async () => {
    const user = await signUp();
    const evil = newAddress();
    test.advance(601_000);
    await test.call("PATCH /users/me", { token: user.token, body: { email: newAddress() } });
    await verify(user, evil);
    assert.equal((await logIn(user.email, user.password)).status, 200);
    const other = await test.signUp();
    await test.call("POST /users/me/email", { token: other.token, body: { email: user.email } });
    await settled();
    const verifyCode = codeIn(allMails(test).at(-1));
    const claimed = await test.call("PATCH /users/me/email", { token: other.token, body: { verifyCode } });
    assertError(claimed, 400, "ItemAlreadyExists", 770, "Another user has verified this address.");
    test.advance(61 * minuteMs);
    const ask = { userName: user.email, subject: "Code", body: "Reset: @ResetCode" };
    assertResult(await test.call("POST /users/password", { token: user.deviceToken, body: ask }), 200, true);
    await settled();
    const resetCode = codeIn(mailsTo(test, user.email).at(-1));
    const given = { userName: user.email, resetCode, newPassword: "the owner's own" };
    assertResult(await test.call("PATCH /users/password", { token: user.deviceToken, body: given }), 200, true);
    const back = (await logIn(user.email, "the owner's own")).body.result;
    assert.deepEqual([back.email, back.emailVerified], [user.email, true]);
    assertRefused(await logIn(evil, "the owner's own"));
  });

  it("an address that a stolen token has verified signs no user in for seven days", async () => {
    const user = await signUp();
    const evil = newAddress();
    test.advance(601_000);
    await verify(user, evil);
    assertRefused(await logIn(evil, user.password));
    test.advance(weekMs);
    assert.equal((await logIn(evil, user.password)).status, 200);
  });
});

// spec/users#sign-in-by-address
describe("a user name that looks like an address of another user: A3, A7", () => {
  it("neither opens nor blocks the other account: the password decides, the name first", async () => {
    const owner = await signUp();
    const squatter = await test.signUp(owner.email);
    assert.equal(owner.password, squatter.password);
    assert.equal((await logIn(owner.email, owner.password)).body.result.id, squatter.id);
    assert.equal((await logIn(owner.userName, owner.password)).body.result.id, owner.id);
    const body = { password: "the owner's", currentPassword: owner.password };
    assert.equal((await test.call("PATCH /users/me", { token: owner.token, body })).status, 200);
    assert.equal((await logIn(owner.email, "the owner's")).body.result.id, owner.id);
    assert.equal((await logIn(owner.email, squatter.password)).body.result.id, squatter.id);
  });

  it("gets its own reset code at its own address, and each code sets the password of its user", async () => {
    const owner = await signUp();
    const squatter = await test.signUp(owner.email);
    const other = newAddress();
    await test.call("PATCH /users/me", { token: squatter.token, body: { email: other } });
    const body = { userName: owner.email, subject: "Code", body: "It is @ResetCode" };
    assertResult(await test.call("POST /users/password", { token: owner.deviceToken, body }), 200, true);
    await settled();
    const codes = [owner.email, other].map((address) => codeIn(mailsTo(test, address).at(-1)));
    for (const [n, resetCode] of codes.entries()) {
      const given = { userName: owner.email, resetCode, newPassword: `password of ${n}` };
      assertResult(await test.call("PATCH /users/password", { token: owner.deviceToken, body: given }), 200, true);
    }
    assert.equal((await logIn(owner.userName, "password of 0")).body.result.id, owner.id);
    assert.equal((await logIn(owner.email, "password of 1")).body.result.id, squatter.id);
  });

  it("does not delay the owner's sign-ins, however often they succeed by the address", async () => {
    const owner = await signUp();
    await test.signUp(owner.email);
    const body = { password: "the owner's", currentPassword: owner.password };
    assert.equal((await test.call("PATCH /users/me", { token: owner.token, body })).status, 200);
    const device = await test.registerDevice();
    for (let n = 0; n < 15; n += 1) {
      assert.equal((await logIn(owner.email, "the owner's", device)).body.result?.id, owner.id, `sign-in ${n}`);
    }
  });
});

// spec/users#sign-in-by-address
describe("guesses at an address: hostile.md 7", () => {
  it("count for the name and for the address, whether or not either is known", async () => {
    const owner = await signUp();
    for (const name of [owner.email, newAddress()]) {
      const answers = [];
      for (let n = 0; n < 12; n += 1) answers.push((await logIn(name, `wrong ${n}`)).body.error);
      assert.equal(answers[0], "AuthBadUsernameOrPassword");
      assert.equal(answers.at(-1), "RateLimitExceeded");
    }
    assert.equal((await logIn(owner.userName, owner.password)).status, 200, "the wait would tell whose address it is");
    assert.equal((await logIn(owner.email, owner.password, owner.deviceToken)).status, 200, "a recognized device");
    test.advance(30 * minuteMs);
  });

  it("at a name count although the address must wait, so that they cannot go on: A7", async () => {
    const owner = await signUp();
    const named = await test.signUp(owner.email);
    const body = { password: "the name's own", currentPassword: named.password };
    assert.equal((await test.call("PATCH /users/me", { token: named.token, body })).status, 200);
    // The same address under another name.
    const spelled = owner.email.replace(".com", "。com");
    for (let n = 0; n < 10; n += 1) assertRefused(await logIn(spelled, `wrong ${n}`));
    for (let n = 0; n < 11; n += 1) await logIn(owner.email, `guess ${n}`);
    const guessed = await logIn(owner.email, "the name's own");
    assert.equal(guessed.body.error, "RateLimitExceeded", "a right guess looks like a wrong one");
    test.advance(30 * minuteMs);
  });

  it("cost two hashes, whether the name, the address, both or neither are known", async () => {
    const owner = await signUp();
    const named = await test.signUp(newAddress());
    const both = await signUp();
    await test.signUp(both.email);
    const hashes = async () =>
      (await scrape(test.port, scrapeToken)).get("rollcall_password_hash_duration_seconds_count") ?? 0;
    for (const name of [owner.email, named.userName, both.email, newAddress()]) {
      const before = await hashes();
      assertRefused(await logIn(name, "wrong"));
      assert.equal((await hashes()) - before, 2, name);
    }
  });
});
