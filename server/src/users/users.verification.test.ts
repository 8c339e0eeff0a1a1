import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { allMails, codeIn, mailsTo, signUpWithMail, waitUntil } from "../../test/mails.ts";
import { startTestIssuer } from "../../test/oidc-issuer.ts";
import type { ApplicationSettings } from "../tenancy/application-settings.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const hourMs = 3_600_000;
const minuteMs = 60_000;
const weekMs = 604_800_000;
const wrongCode = "verifyCode is wrong, used or expired.";

/** Asks for a code. @returns the code of the mail, or nothing if none was mailed */
async function codeFor(user: TestUser, email: string, body: object = { email }): Promise<string> {
  const before = allMails(test).length;
  assertResult(await test.call("POST /users/me/email", { token: user.token, body }), 200, true);
  await settled();
  const mails = allMails(test);
  return mails.length > before ? codeIn(mails.at(-1)) : "";
}

async function settled(): Promise<void> {
  await waitUntil(() => test.app.background.runningCount === 0);
}

async function verify(user: TestUser, verifyCode: string, others: object = {}) {
  const answer = await test.call("PATCH /users/me/email", { token: user.token, body: { verifyCode, ...others } });
  await settled();
  return answer;
}

function assertWrong(answer: Awaited<ReturnType<typeof verify>>): void {
  assertError(answer, 400, "ParameterOutOfRange", 514, wrongCode);
}

async function profileOf(user: TestUser): Promise<{ email?: string; emailVerified?: boolean }> {
  const { email, emailVerified } = (await test.call("GET /users/me", { token: user.token })).body.result;
  return { ...(email !== undefined && { email }), ...(emailVerified !== undefined && { emailVerified }) };
}

async function configure(settings: Partial<ApplicationSettings>): Promise<void> {
  const { token } = await test.createOperator();
  const path = `/_/api/applications/${test.application.appid}/settings`;
  assert.equal((await test.call(`PUT ${path}`, { token, body: settings })).status, 200);
}

let users = 0;
function newAddress(): string {
  users += 1;
  return `person${users}@example.com`;
}

// spec/users#verify-an-address
describe("POST and PATCH /users/me/email", () => {
  it("verify the present address; only the user and operators see that it is verified", async () => {
    const user = await signUpWithMail(test, newAddress());
    const other = await test.signUp();
    assert.deepEqual(await profileOf(user), { email: user.email });
    const code = await codeFor(user, user.email, {});
    assert.deepEqual(await profileOf(user), { email: user.email });
    assertResult(await verify(user, ` ${code.toLowerCase().slice(0, 6)}-${code.slice(6)} `), 200, true);
    assert.deepEqual(await profileOf(user), { email: user.email, emailVerified: true });
    const seen = await test.call(`GET /users/${user.id}`, { token: other.token });
    assert.equal("emailVerified" in seen.body.result, false);
    const { token } = await test.createOperator();
    const operated = await test.call(`GET /_/api/applications/${test.application.appid}/users/${user.id}`, { token });
    assert.equal(operated.body.result.emailVerified, true);
  });

  it("change the address to one that a code was mailed to, and notify the former one", async () => {
    const user = await signUpWithMail(test, newAddress());
    const next = newAddress();
    const code = await codeFor(user, next);
    assert.deepEqual(await profileOf(user), { email: user.email });
    assertResult(await verify(user, code), 200, true);
    assert.deepEqual(await profileOf(user), { email: next, emailVerified: true });
    assert.match(mailsTo(test, user.email).at(-1) ?? "", /address of your account was changed/);
    assertWrong(await verify(user, code));
  });

  it("send the client's text, or the application's own", async () => {
    const user = await test.signUp();
    const address = newAddress();
    await codeFor(user, address);
    assert.match(mailsTo(test, address).at(-1) ?? "", /Subject: Test: your code for this address/);
    const body = { email: address, subject: "Welcome", body: "Type @VerifyCode" };
    test.advance(minuteMs + 1);
    const code = await codeFor(user, address, body);
    assert.match(mailsTo(test, address).at(-1) ?? "", new RegExp(`Subject: Welcome\r\n[^]*Type ${code}\r\n`));
    const without = await test.call("POST /users/me/email", { token: user.token, body: { ...body, body: "Hello" } });
    assertError(without, 400, "ParameterIncorrectFormat", 515, "body must contain @VerifyCode.");
  });

  it("refuse what is no single address, and a user without one", async () => {
    const user = await test.signUp();
    for (const email of ["nobody", "a@b, c@d", "a@ex%mple.com", "A <a@example.com>", "a@example.com#.evil.org"]) {
      const answer = await test.call("POST /users/me/email", { token: user.token, body: { email } });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "email must be a single e-mail address.");
    }
    const none = await test.call("POST /users/me/email", { token: user.token, body: {} });
    assertError(none, 400, "ParameterMissingRequiredValue", 513, "email is required: the user has no address.");
    await test.call("PATCH /users/me", { token: user.token, body: { email: "not an address" } });
    const unusable = await test.call("POST /users/me/email", { token: user.token, body: {} });
    assertError(unusable, 400, "ParameterIncorrectFormat", 515, "email must be a single e-mail address.");
  });
});

// spec/users#codes-for-addresses
describe("a code for an address", () => {
  it("is valid for an hour, for its user and once, also in parallel", async () => {
    const [user, other] = [await test.signUp(), await test.signUp()];
    const late = await codeFor(user, newAddress());
    assertWrong(await verify(other, late));
    test.advance(hourMs);
    assertWrong(await verify(user, late));
    const code = await codeFor(user, newAddress());
    const answers = await Promise.all(Array.from({ length: 8 }, () => verify(user, code)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  });

  it("is dead after five wrong ones, counted although a batch around them is undone", async () => {
    const user = await test.signUp();
    const code = await codeFor(user, newAddress());
    const wrong = { key: "a", method: "PATCH", path: "/users/me/email", parameters: { verifyCode: "222222222222" } };
    const requests = Array.from({ length: 5 }, (_, n) => ({ ...wrong, key: `${n}` }));
    for (const request of requests) {
      const answer = await test.call("POST /batch", {
        token: user.token,
        body: { mode: "atomic", requests: [request] },
      });
      assert.equal(answer.body.result.responses[0].error, "ParameterOutOfRange");
    }
    assertWrong(await verify(user, code));
  });

  it("dies when the address changes, and only the newest one is valid", async () => {
    const user = await signUpWithMail(test, newAddress());
    const first = await codeFor(user, newAddress());
    const second = await codeFor(user, newAddress());
    assertWrong(await verify(user, first));
    await test.call("PATCH /users/me", { token: user.token, body: { email: newAddress() } });
    assertWrong(await verify(user, second));
    assert.equal((await profileOf(user)).emailVerified, undefined);
  });

  it("is mailed once a minute to the same address, and five times an hour; the newest that was mailed is valid: P27", async () => {
    const user = await test.signUp();
    const address = newAddress();
    const first = await codeFor(user, address);
    assert.equal(await codeFor(user, address), "");
    const other = await codeFor(user, newAddress());
    assert.notEqual(other, "", "a typing mistake in the address can be corrected at once");
    let last = other;
    for (let minutes = 0; minutes < 30; minutes += 1) {
      test.advance(minuteMs + 1);
      last = (await codeFor(user, address)) || last;
    }
    assert.equal(mailsTo(test, address).length, 4);
    assert.notEqual(last, first);
    assertResult(await verify(user, last), 200, true);
  });

  it("is stored as a keyed digest", async () => {
    const user = await test.signUp();
    const code = await codeFor(user, newAddress());
    const rows = await test.app.database.reads.selectFrom("email_codes").selectAll().execute();
    assert.ok(rows.some((row) => row.user_id === user.id));
    const { hash } = await import("node:crypto");
    for (const stored of [code, hash("sha256", code, "hex")]) assert.ok(!JSON.stringify(rows).includes(stored));
  });
});

// spec/users#verified-addresses
describe("a verified address", () => {
  it("belongs to one user: a second one is refused, also in parallel, and may still claim it", async () => {
    const address = newAddress();
    const [first, second] = [await test.signUp(), await signUpWithMail(test, address)];
    const codes = [await codeFor(first, address), await codeFor(second, address.toUpperCase())];
    const answers = await Promise.all([verify(first, codes[0] ?? ""), verify(second, codes[1] ?? "")]);
    const refused = answers.find(({ status }) => status !== 200);
    assert.ok(refused);
    assertError(refused, 400, "ItemAlreadyExists", 770, "Another user has verified this address.");
    const verified = await Promise.all([profileOf(first), profileOf(second)]);
    assert.equal(verified.filter(({ emailVerified }) => emailVerified).length, 1);
    const third = await signUpWithMail(test, address);
    assert.deepEqual(await profileOf(third), { email: address });
  });

  it("can be another user's after it was changed, cleared or its user was deleted", async () => {
    const address = newAddress();
    async function verifiedUser(): Promise<TestUser> {
      test.advance(hourMs + minuteMs);
      const user = await test.signUp();
      assertResult(await verify(user, await codeFor(user, address)), 200, true);
      return user;
    }
    const changed = await verifiedUser();
    await test.call("PATCH /users/me", { token: changed.token, body: { email: newAddress() } });
    const cleared = await verifiedUser();
    await test.call("PATCH /users/me", { token: cleared.token, body: { email: "" } });
    const deleted = await verifiedUser();
    await test.call("DELETE /users/me", { token: deleted.token });
    await verifiedUser();
  });

  it("does not keep others out by a key that its user has no more", async () => {
    const [former, present] = [await test.signUp(), await test.signUp()];
    const address = newAddress();
    assertResult(await verify(former, await codeFor(former, address)), 200, true);
    // As a process of an earlier version does.
    const changed = { email: newAddress() };
    await test.app.database.write(({ queries }) =>
      queries.updateTable("users").set(changed).where("id", "=", former.id).execute(),
    );
    assert.deepEqual(await profileOf(former), changed);
    test.advance(minuteMs + 1);
    assertResult(await verify(present, await codeFor(present, address)), 200, true);
  });

  it("is verified although an earlier version stored it with blanks", async () => {
    const user = await test.signUp();
    const address = newAddress();
    await test.app.database.write(({ queries }) =>
      queries
        .updateTable("users")
        .set({ email: ` ${address} ` })
        .where("id", "=", user.id)
        .execute(),
    );
    assertResult(await verify(user, await codeFor(user, address, {})), 200, true);
    assert.equal((await profileOf(user)).emailVerified, true);
  });

  it("is not verified any more once PATCH /users/me stores another text", async () => {
    const user = await test.signUp();
    const address = newAddress();
    assertResult(await verify(user, await codeFor(user, address)), 200, true);
    await test.call("PATCH /users/me", { token: user.token, body: { email: ` ${address} `, firstName: "Ada" } });
    assert.deepEqual(await profileOf(user), { email: address, emailVerified: true });
    await test.call("PATCH /users/me", { token: user.token, body: { email: address.toUpperCase() } });
    assert.deepEqual(await profileOf(user), { email: address.toUpperCase() });
  });

  it("is recognized in any case of its domain and of A to Z, and in Unicode or ASCII", async () => {
    const user = await test.signUp();
    assertResult(await verify(user, await codeFor(user, "Jürgen.M@Bücher.example")), 200, true);
    for (const email of ["jürgen.m@xn--bcher-kva.EXAMPLE", "JüRGEN.M@bücher.example"]) {
      const other = await test.signUp();
      const answer = await verify(other, await codeFor(other, email));
      assertError(answer, 400, "ItemAlreadyExists", 770, "Another user has verified this address.");
    }
    const different = await test.signUp();
    assertResult(await verify(different, await codeFor(different, "JÜRGEN.M@bücher.example")), 200, true);
  });

  it("is also verified by a used reset code, and by an id_token that says so", async () => {
    const user = await signUpWithMail(test, newAddress());
    const ask = { userName: user.userName, subject: "Code", body: "It is @ResetCode" };
    await test.call("POST /users/password", { token: user.deviceToken, body: ask });
    await settled();
    const resetCode = codeIn(mailsTo(test, user.email).at(-1));
    const body = { userName: user.userName, resetCode, newPassword: "another one" };
    assertResult(await test.call("PATCH /users/password", { token: user.deviceToken, body }), 200, true);
    const login = { username: user.userName, password: "another one" };
    const again = await test.call("POST /users/login", { token: user.deviceToken, body: login });
    assert.equal(again.body.result.emailVerified, true);

    const issuer = await startTestIssuer(() => test.now());
    await configure({ oidc: { google: issuer.provider } });
    async function logIn(sub: string, email: string, email_verified: unknown) {
      const identityAccessToken = await issuer.sign({ sub, email, email_verified });
      const given = { identityProviderName: "google", identityID: sub, identityAccessToken };
      return (await test.call("POST /users/login/social", { token: user.deviceToken, body: given })).body.result;
    }
    const address = newAddress();
    assert.equal((await logIn("a", address, "false")).email, undefined);
    const { id, email, emailVerified } = await logIn("b", address, "true");
    assert.deepEqual([email, emailVerified], [address, true]);
    const another = await logIn("c", address, true);
    assert.notEqual(another.id, id, "no user is joined to another by an address");
    assert.deepEqual([another.email, another.emailVerified], [address, undefined]);
    await configure({});
    await issuer.close();
  });
});

// spec/users#verified-addresses
describe("a stolen token cannot take over the account by verifying its own address: hostile.md 41", () => {
  it("codes go to the former address for seven days, unless currentPassword was sent", async () => {
    const user = await signUpWithMail(test, newAddress());
    const evil = newAddress();
    test.advance(601_000);
    assertResult(await verify(user, await codeFor(user, evil)), 200, true);
    async function askForReset(): Promise<void> {
      test.advance(hourMs);
      const body = { userName: user.userName, subject: "Code", body: "Reset: @ResetCode" };
      await test.call("POST /users/password", { token: user.deviceToken, body });
      await settled();
    }
    const resets = (address: string) => mailsTo(test, address).filter((mail) => mail.includes("Reset: ")).length;
    await askForReset();
    assert.deepEqual([resets(user.email), resets(evil)], [1, 0]);
    test.advance(weekMs);
    await askForReset();
    assert.deepEqual([resets(user.email), resets(evil)], [1, 1]);
    const next = newAddress();
    const wrong = await verify(user, await codeFor(user, next), { currentPassword: "wrong" });
    assertError(wrong, 403, "AuthBadUsernameOrPassword", 262);
    test.advance(minuteMs + 1);
    const answer = await verify(user, await codeFor(user, next), { currentPassword: user.password });
    assertResult(answer, 200, true);
    await askForReset();
    assert.equal(resets(next), 1);
  });
});

// spec/users#change-by-code-only
describe("email.changeByCode", () => {
  it("makes PATCH /users/me ignore the address: nothing is stored or mailed, and only a code changes it", async () => {
    const user = await signUpWithMail(test, newAddress());
    const next = newAddress();
    await configure({ email: { changeByCode: true } });
    for (const email of [next, ""]) {
      const body = { email, firstName: "Ada", currentPassword: "not checked" };
      const answer = await test.call("PATCH /users/me", { token: user.token, body });
      assert.deepEqual([answer.status, answer.body.result.email], [200, user.email]);
    }
    await settled();
    assert.deepEqual(mailsTo(test, user.email), []);
    assertResult(await verify(user, await codeFor(user, next)), 200, true);
    assert.deepEqual(await profileOf(user), { email: next, emailVerified: true });
    await configure({});
  });
});
