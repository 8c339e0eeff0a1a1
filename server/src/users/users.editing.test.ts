import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, startTestApp, type TestApp } from "../../test/harness.ts";
import { codeIn, mailsTo, signUpWithMail, waitUntil } from "../../test/mails.ts";
import { download } from "../../test/uploads.ts";
import { readZip } from "../../test/zips.ts";

let test: TestApp;
let operator: { id: string; token: string };
before(async () => {
  test = await startTestApp();
  operator = await test.createOperator();
});
after(() => test.close());

function ask(operation: string, body?: object) {
  const [method, path] = operation.split(" ");
  const options = { token: operator.token, ...(body !== undefined && { body }) };
  return test.call(`${method} /_/api/applications/${test.application.appid}${path}`, options);
}

async function login(username: string, password: string) {
  return test.call("POST /users/login", { token: await test.registerDevice(), body: { username, password } });
}

async function auditOf(target: string) {
  const { body } = await test.call(`GET /_/api/audit?target=${target}`, { token: operator.token });
  return body.result.pageResults.map(({ action, details }: Record<string, unknown>) => ({ action, details }));
}

const mailsSent = () => waitUntil(() => test.app.background.runningCount === 0);

// spec/operators#edit-users
describe("users that operators create and edit", () => {
  it("log in with the given password, and have no token until then", async () => {
    const given = { username: "Ada", password: "correct horse", firstName: "Ada", dateOfBirth: "/Date(0)/" };
    const { status, body } = await ask("POST /users", { ...given, email: "ada@example.com", gender: "Female" });
    assert.equal(status, 201);
    const { id, created, lastModified, lastLogin, counts, ...fields } = body.result;
    const { username, password, ...rest } = given;
    assert.deepEqual(fields, {
      ...rest,
      userName: username,
      email: "ada@example.com",
      gender: "Female",
      hasPassword: true,
      celebMode: false,
      locationFuzzing: false,
    });
    assert.deepEqual([lastModified, lastLogin, counts.tokens], [created, created, 0]);
    assert.ok(!JSON.stringify(body).includes("accessToken"));
    assert.equal((await login("ADA", password)).body.result.id, id);

    const taken = await ask("POST /users", { username: "ada", password });
    const message = "The username is already in use. Choose a unique username.";
    assertError(taken, 400, "ItemAlreadyExists", 770, message);
    assertError(
      await ask("POST /users", { username: "Eve" }),
      400,
      "ParameterMissingRequiredValue",
      513,
      "password is required.",
    );
    assert.equal((await ask("POST /users", { username: "Eve", password: "abc" })).body.parameter, "password");
    const [entry, ...more] = await auditOf(id);
    assert.deepEqual(more, []);
    assert.equal(entry.action, "createOperatedUser");
    assert.ok(!/correct|Ada|example/i.test(JSON.stringify(entry)), JSON.stringify(entry));
  });

  it("are changed only in names, address and privacy; an empty string clears a field", async () => {
    const user = await test.signUp();
    const profile = { firstName: "Jane", lastName: "Doe", email: `jane-${user.id}@example.com` };
    const given = { ...profile, username: `Jane ${user.id}`, celebMode: true, locationFuzzing: true };
    test.advance(1_000);
    const { status, body } = await ask(`PATCH /users/${user.id}`, { ...given, tag: "kept", password: "another one" });
    assert.equal(status, 200);
    const { username, ...shown } = given;
    const me = (await test.call("GET /users/me", { token: user.token })).body.result;
    for (const [name, value] of Object.entries({ ...shown, userName: username, tag: undefined })) {
      assert.deepEqual([body.result[name], me[name]], [value, value], name);
    }
    assert.equal((await login(username, user.password)).status, 200);
    const cleared = await ask(`PATCH /users/${user.id}`, { lastName: "", email: "", celebMode: false });
    const { lastName, email, celebMode, firstName } = cleared.body.result;
    assert.deepEqual([lastName, email, celebMode, firstName], [undefined, undefined, false, "Jane"]);
    const other = await test.signUp();
    const answer = await ask(`PATCH /users/${user.id}`, { username: other.userName.toUpperCase() });
    assertError(answer, 400, "ItemAlreadyExists", 770, "The username is already in use. Choose a unique username.");
    assert.deepEqual((await auditOf(user.id))[0], {
      action: "changeOperatedUser",
      details: {
        ...{ lastName: "given", email: "given", celebMode: false },
        changes: { email: { from: "j…@example.com" }, celebMode: { from: true, to: false } },
      },
    });
  });

  it("receive codes at a new address immediately; the former address receives a notice, and its codes become invalid", async () => {
    const user = await signUpWithMail(test);
    assert.equal((await ask(`POST /users/${user.id}/password-reset`, {})).status, 200);
    await mailsSent();
    const former = codeIn(mailsTo(test, user.email)[0]);
    test.advance(61_000);
    const email = `new-${user.id}@example.com`;
    assert.equal((await ask(`PATCH /users/${user.id}`, { email })).status, 200);
    await mailsSent();
    assert.match(mailsTo(test, user.email).at(-1) ?? "", /The e-mail address of your account was changed/);
    const reset = { userName: user.userName, resetCode: former, newPassword: "a new one" };
    assert.equal((await test.call("PATCH /users/password", { token: user.deviceToken, body: reset })).status, 400);
    assert.equal((await ask(`POST /users/${user.id}/password-reset`, {})).status, 200);
    await mailsSent();
    const resetCode = codeIn(mailsTo(test, email)[0]);
    const body = { ...reset, resetCode };
    assert.equal((await test.call("PATCH /users/password", { token: user.deviceToken, body })).status, 200);
    assert.equal((await login(user.userName, "a new one")).status, 200);
  });
});

// spec/operators#mail-a-reset-code-for-a-user
describe("reset codes that operators mail", () => {
  it("use the application's own mail or the operator's unchanged; the audit log contains neither body nor code", async () => {
    const user = await signUpWithMail(test);
    await ask("PATCH /settings", { mail: { templates: "fixed" } });
    assert.equal((await ask(`POST /users/${user.id}/password-reset`, {})).body.result, true);
    await mailsSent();
    const [own = ""] = mailsTo(test, user.email);
    assert.match(own, /your code for a new password/);
    test.advance(61_000);
    const body = "Hello, see https://help.example/reset\nYour code: @ResetCode\n";
    assert.equal((await ask(`POST /users/${user.id}/password-reset`, { subject: "Hello", body })).status, 200);
    await mailsSent();
    const written = mailsTo(test, user.email).at(-1) ?? "";
    assert.match(written, /^Subject: Hello\r$/m);
    assert.match(written, /https:\/\/help\.example\/reset\r\nYour code: [2-9A-Z]{12}\r\n/);
    assert.ok(!written.includes("You get this mail because"));
    assert.deepEqual(await auditOf(user.id), [
      { action: "sendPasswordReset", details: { subject: "given", body: "given" } },
      { action: "sendPasswordReset", details: {} },
    ]);
    await ask("PATCH /settings", { mail: null });
  });

  it("are refused with the reason", async () => {
    const user = await test.signUp();
    const send = (body = {}) => ask(`POST /users/${user.id}/password-reset`, body);
    assertError(await send(), 400, "ParameterOutOfRange", 514, "The user has no e-mail address.");
    const wrong = await send({ body: "no code" });
    assertError(wrong, 400, "ParameterIncorrectFormat", 515, "body must contain @ResetCode.");
    await ask(`PATCH /users/${user.id}`, { email: "a@example.com, b@example.com" });
    assertError(await send(), 400, "ParameterOutOfRange", 514, "The user's email is not a single plain address.");
    await ask(`PATCH /users/${user.id}`, { email: `of-${user.id}@example.com` });
    for (let n = 0; n < 5; n += 1) {
      assert.equal((await send()).status, 200);
      if (n === 0) {
        const soon = await send();
        assert.deepEqual([soon.status, soon.headers["retry-after"]], [429, "60"]);
      }
      test.advance(61_000);
    }
    const many = "The user or the address has been mailed too many codes within an hour.";
    const { status, body } = await send();
    assert.deepEqual([status, body.error, body.message], [429, "RateLimitExceeded", many]);
    await mailsSent();
  });
});

// spec/operators#export-a-user
describe("GET …/users/{userId}/export", () => {
  it("sends the same archive as POST, to editors only, with the same entry in the audit log", async () => {
    const user = await test.signUp();
    const path = `/_/api/applications/${test.application.appid}/users/${user.id}/export`;
    const viewer = await test.createOperator("a viewer of exports", "viewer");
    assert.equal((await download(test, path, { token: viewer.token })).status, 403);
    const { status, headers, bytes } = await download(test, path, { token: operator.token });
    assert.deepEqual([status, headers.get("content-type")], [200, "application/zip"]);
    assert.equal(headers.get("content-disposition"), `attachment; filename="${user.id}.zip"`);
    assert.ok((await readZip(bytes)).has("manifest.json"));
    const [entry, refused] = await auditOf(user.id);
    assert.deepEqual(entry, { action: "exportUser", details: {} });
    assert.equal(refused.details.error, "ObjectPermissionDenied");
  });
});
