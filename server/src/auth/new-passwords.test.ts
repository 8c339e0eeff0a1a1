import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import { codeIn, mailsTo, requestCode, signUpWithMail, waitUntil } from "../../test/mails.ts";
import type { ApplicationSettings } from "../tenancy/application-settings.ts";

const breached = "password1";
const breachedMessage = (name: string) => `${name} is known from a data breach. Choose another one.`;

let test: TestApp;
let operator: string;
let ranges: Server;
/** The paths that were requested. */
const asked: string[] = [];
let answer: "range" | "nothing" | "error" = "range";
before(async () => {
  const digest = hash("sha1", breached, "hex").toUpperCase();
  ranges = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (answer === "nothing") return;
    response.writeHead(answer === "error" ? 500 : 200, { "content-type": "text/plain" });
    const padding = `${hash("sha1", "unique and long", "hex").toUpperCase().slice(5)}:0`;
    response.end([`${"0".repeat(35)}:3`, `${digest.slice(5)}:42`, padding].join("\r\n"));
  });
  await new Promise<void>((resolve) => void ranges.listen(0, "127.0.0.1", resolve));
  const { port } = ranges.address() as AddressInfo; // it listens to a port
  test = await startTestApp({ BREACHED_PASSWORDS_URL: `http://127.0.0.1:${port}/range/` });
  ({ token: operator } = await test.createOperator());
});
after(async () => {
  await test.close();
  ranges.closeAllConnections();
  ranges.close();
});

async function configure(passwords: ApplicationSettings["passwords"], app = test, token = operator): Promise<Answer> {
  const path = `/_/api/applications/${app.application.appid}/settings`;
  return app.call(`PUT ${path}`, { token, body: { passwords } });
}

let names = 0;
async function signUp(password: string): Promise<Answer> {
  names += 1;
  const token = await test.registerDevice();
  return test.call("POST /users", { token, body: { username: `person ${names}`, password } });
}

async function change({ token, password: currentPassword }: TestUser, password: string): Promise<Answer> {
  return test.call("PATCH /users/me", { token, body: { currentPassword, password } });
}

async function reset(user: TestUser & { email: string }, newPassword: string): Promise<Answer> {
  test.advance(61_000);
  assertResult(await requestCode(test, user), 200, true);
  await waitUntil(() => test.app.background.runningCount === 0);
  const body = { userName: user.userName, resetCode: codeIn(mailsTo(test, user.email).at(-1)), newPassword };
  return test.call("PATCH /users/password", { token: user.deviceToken, body });
}

async function createAsOperator(password: string): Promise<Answer> {
  names += 1;
  const path = `/_/api/applications/${test.application.appid}/users`;
  return test.call(`POST ${path}`, { token: operator, body: { username: `person ${names}`, password } });
}

// spec/users#password-rules
describe("the rules of new passwords", () => {
  it("minLength counts characters at sign-up, change and reset and for operators, and never at login", async () => {
    const user = await signUpWithMail(test);
    assert.equal((await configure({ minLength: 10 })).status, 200);
    const short = "9 signs 🙂";
    const message = (name: string) => `${name} must have at least 10 characters.`;
    for (const refused of [await signUp(short), await change(user, short), await createAsOperator(short)]) {
      assertError(refused, 400, "ParameterOutOfRange", 514, message("password"));
    }
    assertError(await reset(user, short), 400, "ParameterOutOfRange", 514, message("newPassword"));
    const { userName: username, password, deviceToken: token } = user;
    assert.ok([...password].length < 20);
    assert.equal((await test.call("POST /users/login", { token, body: { username, password } })).status, 200);
    for (const accepted of [
      await signUp("10 signs 🙂"),
      await change(user, "10 signs 🙂"),
      await reset(user, "10 signs 👍"),
    ]) {
      assert.equal(accepted.status, 200);
    }
    for (const minLength of [3, 65, 4.5, "8"]) assert.equal((await configure({ minLength } as object)).status, 400);
    assert.equal((await configure({})).status, 200);
  });

  it("refuseBreached refuses known passwords, and sends five digits of their hash", async () => {
    const user = await signUpWithMail(test);
    assert.equal((await configure({ refuseBreached: true })).status, 200);
    for (const refused of [await signUp(breached), await change(user, breached), await createAsOperator(breached)]) {
      assertError(refused, 400, "ParameterOutOfRange", 514, breachedMessage("password"));
    }
    assertError(await reset(user, breached), 400, "ParameterOutOfRange", 514, breachedMessage("newPassword"));
    assert.equal((await signUp("unique and long")).status, 200, "a line that pads the answer");
    assert.equal((await signUp("not in any breach")).status, 200);
    assert.ok(asked.length > 0);
    for (const path of asked) assert.match(path, /^\/range\/[0-9A-F]{5}$/);
  });

  it("refuseBreached accepts a password when the service fails, or does not answer within two seconds", async () => {
    for (const failure of ["error", "nothing"] as const) {
      answer = failure;
      assert.equal((await signUp(breached)).status, 200, failure);
    }
    answer = "range";
    assert.equal((await signUp(breached)).status, 400);
    assert.equal(test.logLines.filter(({ msg }) => `${msg}`.includes("breached passwords cannot be asked")).length, 2);
    assert.ok(!JSON.stringify(test.logLines).includes(breached));
  });

  it("refuseBreached is refused by a server without BREACHED_PASSWORDS_URL", async () => {
    const other = await startTestApp();
    const { token } = await other.createOperator();
    const refused = await configure({ refuseBreached: true }, other, token);
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /passwords\.refuseBreached needs BREACHED_PASSWORDS_URL on the server/);
    await other.close();
  });
});
