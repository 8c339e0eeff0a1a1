import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { codeIn, mailsTo, requestCode, signUpWithMail, waitUntil } from "../../test/mails.ts";
import { updateApplicationSettings } from "../tenancy/application-settings.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const tenMinutesMs = 600_000;
const weekMs = 604_800_000;

async function change(user: TestUser, body: object) {
  const answer = await test.call("PATCH /users/me", { token: user.token, body });
  await waitUntil(() => test.app.background.runningCount === 0);
  return answer;
}

/** Requests a code. @returns the addresses that received it */
async function codesTo(user: TestUser, ...addresses: string[]): Promise<string[]> {
  const count = (address: string) => mailsTo(test, address).filter((mail) => /^It is [2-9A-Z]{12}/m.test(mail)).length;
  const before = addresses.map(count);
  assertResult(await requestCode(test, user), 200, true);
  await waitUntil(() => test.app.background.runningCount === 0);
  test.advance(61_000);
  return addresses.filter((address, n) => count(address) > (before[n] ?? 0));
}

function newAddresses(user: TestUser) {
  return ["owner", "evil", "worse"].map((name) => `${name}-${user.id}@example.com`) as [string, string, string];
}

async function signUp(): Promise<{ user: TestUser; addresses: [string, string, string] }> {
  const user = await test.signUp();
  const addresses = newAddresses(user);
  await change(user, { email: addresses[0] });
  return { user, addresses };
}

// spec/users#user-fields
describe("blanks and invisible characters around an address", () => {
  const copied = (address: string) => `\ufeff ${address}\u00a0\u200b\n`;

  it("are trimmed at sign-up, in changes and in searches, and trigger no mail", async () => {
    const device = await test.registerDevice();
    const address = "blank@example.com";
    const given = { username: "blank", password: "correct horse", email: copied(address) };
    const { body } = await test.call("POST /users", { token: device, body: given });
    assert.equal(body.result.email, address);
    const { id, accessToken: token } = body.result;
    const user: TestUser = { ...(await test.signUp()), id, token, userName: "blank" };
    assert.deepEqual(await codesTo(user, address), [address]);
    test.advance(tenMinutesMs + 1);
    const settings = { oidc: {}, email: { requirePassword: true } };
    await test.app.database.write(({ queries }) =>
      updateApplicationSettings(test.application.appid, settings, queries),
    );
    assert.equal((await change(user, { email: `${address} ` })).status, 200, "the same address is no change");
    await test.app.database.write(({ queries }) =>
      updateApplicationSettings(test.application.appid, { oidc: {} }, queries),
    );
    const found = await test.call(`GET /users?email=${encodeURIComponent(copied(address))}`, { token });
    assert.deepEqual(
      found.body.result.pageResults.map((one: { id: string }) => one.id),
      [id],
    );
    assert.equal((await change(user, { email: copied("a b@example.com") })).body.result.email, "a b@example.com");
    assert.equal("email" in (await change(user, { email: " \u200b" })).body.result, false);
    const blank = { ...given, username: "blanks", email: " \u3164" };
    assert.equal("email" in (await test.call("POST /users", { token: device, body: blank })).body.result, false);
  });

  it("trigger no mail if an earlier release stored them", async () => {
    const { user, addresses } = await signUp();
    const [owner, next] = addresses;
    await test.app.database.write(({ queries }) =>
      queries
        .updateTable("users")
        .set({ email: ` ${owner} ` })
        .where("id", "=", user.id)
        .execute(),
    );
    assert.deepEqual(await codesTo(user, owner), [owner]);
    await change(user, { email: next });
    assert.match(mailsTo(test, owner).at(-1) ?? "", /was changed/);
  });
});

// spec/users#request-a-reset-code
describe("an address that cannot receive a mail", () => {
  it("is stored; the log and the operators' audit log report a code that was not sent to it", async () => {
    const user = await test.signUp();
    for (const email of ["nobody", "a@b, c@d", "a\u200bb@example.com"]) {
      assert.equal((await change(user, { email })).body.result.email, email);
    }
    const logged = () => test.logLines.filter((line) => line["user"] === user.id && line["reason"] === "form").length;
    const before = logged();
    assertResult(await requestCode(test, user), 200, true);
    await waitUntil(() => test.app.background.runningCount === 0);
    assert.equal(logged(), before + 1);
    const { token } = await test.createOperator();
    let entry: { action: string; details: object } | undefined;
    await waitUntil(async () => {
      const { body } = await test.call(`GET /_/api/audit?target=${user.id}`, { token });
      entry = body.result.pageResults.find(({ action }: { action: string }) => action === "requestPasswordReset");
      return entry !== undefined;
    });
    assert.deepEqual(entry?.details, { error: "ParameterOutOfRange", reason: "email" });
  });
});

// spec/mail#changed-addresses
describe("a stolen token cannot take over the account by changing its address: hostile.md 41", () => {
  it("codes go to the former address for seven days, despite further changes, and then to the new one", async () => {
    const { user, addresses } = await signUp();
    const [owner, evil, worse] = addresses;
    test.advance(tenMinutesMs + 1);
    const answer = await change(user, { email: evil });
    assert.equal(answer.body.result.email, evil);
    assert.deepEqual(await codesTo(user, ...addresses), [owner]);
    await change(user, { email: "" });
    assert.deepEqual(await codesTo(user, ...addresses), [owner]);
    await change(user, { email: worse });
    assert.deepEqual(await codesTo(user, ...addresses), [owner]);
    assert.match(mailsTo(test, owner).join(), /The e-mail address of your account was changed/);
    test.advance(weekMs);
    assert.deepEqual(await codesTo(user, ...addresses), [worse]);
  });

  it("a code sent before the change stays valid, and a reset with it restores the former address", async () => {
    const { user, addresses } = await signUp();
    const [owner, evil] = addresses;
    test.advance(tenMinutesMs + 1);
    assert.deepEqual(await codesTo(user, ...addresses), [owner]);
    await change(user, { email: evil });
    const resetCode = codeIn(mailsTo(test, owner).find((mail) => mail.includes("It is ")));
    // The code was mailed before the change, so it proves only the former address.
    const body = { userName: user.userName, resetCode, newPassword: "brand new" };
    const answer = await test.call("PATCH /users/password", { token: user.deviceToken, body });
    assertResult(answer, 200, true);
    const credentials = { username: user.userName, password: "brand new" };
    const login = await test.call("POST /users/login", { token: user.deviceToken, body: credentials });
    assert.equal(login.body.result.email, owner);
    test.advance(weekMs);
    assert.deepEqual(await codesTo(user, ...addresses), [owner]);
  });

  it("a first address that a client sets later receives no codes for seven days", async () => {
    const user = await test.signUp();
    const addresses = newAddresses(user);
    test.advance(tenMinutesMs + 1);
    await change(user, { email: addresses[1] });
    assert.deepEqual(await codesTo(user, ...addresses), []);
    test.advance(weekMs);
    assert.deepEqual(await codesTo(user, ...addresses), [addresses[1]]);
  });
});

// spec/mail#changed-addresses
describe("a change of the address takes effect immediately", () => {
  it("within ten minutes after the sign-in, or with the password; the former address is notified", async () => {
    const { user, addresses } = await signUp();
    const [owner, next, last] = addresses;
    await change(user, { email: next });
    assert.deepEqual(await codesTo(user, ...addresses), [next]);
    assert.match(mailsTo(test, owner).at(-1) ?? "", /was changed/);
    test.advance(tenMinutesMs);
    assert.equal((await change(user, { email: last, currentPassword: user.password })).status, 200);
    assert.deepEqual(await codesTo(user, ...addresses), [last]);
    assert.match(mailsTo(test, next).at(-1) ?? "", /was changed/);
  });

  it("not with a wrong password; setting the same address again changes nothing", async () => {
    const { user, addresses } = await signUp();
    const [owner, next] = addresses;
    const wrong = await change(user, { email: next, currentPassword: "wrong" });
    assertError(wrong, 403, "AuthBadUsernameOrPassword", 262);
    assert.equal((await change(user, { email: owner, firstName: "Jane" })).status, 200);
    assert.deepEqual(mailsTo(test, owner), []);
  });

  it("only with the password where the application requires it", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const user = await test.signUp("Strict", application);
    await test.app.database.write(({ queries }) =>
      updateApplicationSettings(appid, { oidc: {}, email: { requirePassword: true } }, queries),
    );
    const refused = await change(user, { email: "a@example.com" });
    const message = "currentPassword is required with email.";
    assertError(refused, 400, "ParameterMissingRequiredValue", 513, message);
    assert.equal((await change(user, { email: "a@example.com", currentPassword: user.password })).status, 200);
    assert.equal((await change(user, { email: "a@example.com", tag: "x" })).status, 200);
  });

  // spec/mail#notices
  it("with at most twenty notices per day to the addresses of a user", async () => {
    const user = await signUpWithMail(test);
    const addresses = Array.from({ length: 25 }, (_, n) => `n${n}-${user.id}@example.com`);
    for (const email of addresses) assert.equal((await change(user, { email })).status, 200);
    const notified = [user.email, ...addresses].flatMap((address) => mailsTo(test, address));
    assert.equal(notified.length, 20);
  });
});
