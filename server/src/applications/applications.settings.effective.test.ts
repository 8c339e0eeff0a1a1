import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { mailsTo } from "../../test/mails.ts";
import { startTestIssuer, type TestIssuer } from "../../test/oidc-issuer.ts";

let test: TestApp;
let issuer: TestIssuer;
let owner: { id: string; token: string };
let editor: { id: string; token: string };
before(async () => {
  test = await startTestApp();
  issuer = await startTestIssuer(() => test.now());
  owner = await test.createOperator("Olga");
  editor = await test.createOperator("Ed", "editor");
});
after(async () => {
  await issuer.close();
  await test.close();
});

function ask(method: string, appid: string, path: string, body?: object, { token } = owner) {
  const options = { token, ...(body !== undefined && { body }) };
  return test.call(`${method} /_/api/applications/${appid}/settings${path}`, options);
}

const date = (ms: number) => `/Date(${ms})/`;

// spec/operators#effective-settings
describe("GET …/settings/effective", () => {
  it("returns the effective settings, the defaults, and the operator that changed each setting last", async () => {
    const { appid } = await test.createApplication();
    const before = (await ask("GET", appid, "/effective")).body.result;
    assert.deepEqual(before.values, before.defaults);
    assert.deepEqual(before.changed, {});
    assert.deepEqual(before.defaults.retention, { metricsDays: 90, crashReportsDays: 90 });
    assert.equal(before.defaults.tokenLifetimes.deviceMs, test.config.deviceTokenLifetimeMs);
    assert.equal(before.defaults.quotas, undefined);

    const [smtpUrl, shownUrl] = ["smtp://user:s3cret@mail.example", "smtp://user@mail.example"];
    await ask("PUT", appid, "", { retention: { metricsDays: 7 }, debug: true, mail: { smtpUrl } });
    const first = test.now();
    test.advance(60_000);
    await ask("PATCH", appid, "", { debug: null, origins: ["https://a.example"] }, editor);
    const second = test.now();
    const { values, defaults, changed } = (await ask("GET", appid, "/effective")).body.result;
    assert.deepEqual(defaults, before.defaults);
    assert.deepEqual(values, {
      ...defaults,
      retention: { metricsDays: 7, crashReportsDays: 90 },
      mail: { ...defaults.mail, smtpUrl: shownUrl },
      origins: ["https://a.example"],
    });
    const [byOwner, byEditor] = [
      { at: date(first), by: owner.id, name: "Olga" },
      { at: date(second), by: editor.id, name: "Ed" },
    ];
    assert.deepEqual(changed, { retention: byOwner, mail: byOwner, debug: byEditor, origins: byEditor });
  });

  it("reports whether there is a shared secret, and which operator last set or removed it", async () => {
    const { appid } = await test.createApplication();
    const call = (method: string, { token } = owner) =>
      test.call(`${method} /_/api/applications/${appid}/signing-secret`, {
        token,
        ...(method === "PUT" && { body: {} }),
      });
    const state = async () => {
      const { hasSigningSecret, changed } = (await ask("GET", appid, "/effective")).body.result;
      return [hasSigningSecret, changed.signingSecret?.name];
    };
    assert.deepEqual(await state(), [false, undefined]);
    const { secret } = (await call("PUT", editor)).body.result;
    assert.deepEqual(await state(), [true, "Ed"]);
    assert.ok(!JSON.stringify((await ask("GET", appid, "/effective")).body).includes(secret));
    await call("DELETE");
    assert.deepEqual(await state(), [false, "Olga"]);
  });
});

// spec/operators#test-settings
describe("tests of the settings that name servers", () => {
  it("an operator can send five test mails an hour with the stored settings, and the answer reports the failure", async () => {
    const { appid } = await test.createApplication("Field Notes");
    const send = (to = "ada@test-mail.example") => ask("POST", appid, "/mail/test", { to });
    assertResult(await send(), 200, { problem: "noServer" });
    const [mail = ""] = mailsTo(test, "ada@test-mail.example");
    assert.match(mail, /^Subject: Field Notes: a test mail\r$/m);
    assertError(await send("a@b, c@d"), 400, "ParameterOutOfRange", 514, "to must be a single plain address.");
    await ask("PATCH", appid, "", { mail: { smtpUrl: "smtp://127.0.0.1:9" } });
    assertResult(await send(), 200, { problem: "unreachable" });
    for (let n = 0; n < 3; n += 1) assert.equal((await send()).status, 200);
    const { status, headers, body } = await send();
    assert.deepEqual([status, headers["retry-after"]], [429, "3600"]);
    assert.equal(body.message, "An application can send five test mails an hour.");
  });

  it("an operator can test the stored key URL of a provider, and the response reveals nothing of its content", async () => {
    const { appid } = await test.createApplication();
    const check = () => ask("POST", appid, "/oidc/example/test", {});
    assertError(await check(), 404, "ItemDoesNotExist", 769, "The item does not exist.");
    await ask("PATCH", appid, "", { oidc: { example: issuer.provider } });
    assertResult(await check(), 200, { keys: 1 });
    for (const content of ["<html>secret</html>", '{"keys":[]}', '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', "null"]) {
      issuer.answerWith((response) => response.setHeader("content-type", "text/plain").end(content));
      assertResult(await check(), 200, { keys: 0, problem: "noKeys" });
    }
    const { fetches } = issuer;
    for (const status of [302, 404, 500]) {
      issuer.answerWith((response) => response.writeHead(status, { location: issuer.provider.jwksUrl }).end("secret"));
      assertResult(await check(), 200, { keys: 0, problem: "unreachable" });
    }
    assert.equal(issuer.fetches, fetches + 3);
  });
});

// spec/operators#application-settings
it("a refusal of settings names the path of each problem", async () => {
  const { appid } = await test.createApplication();
  const wrong = { limits: { caller: { perSecond: 0 } }, oidc: { x: { issuer: "a", audience: "b" } }, nothing: 1 };
  const { body } = await ask("PUT", appid, "", wrong);
  assert.equal(body.parameter, undefined);
  assert.deepEqual(
    new Map(body.problems.map((one: Record<string, string>) => [one["path"], one["message"]])),
    new Map([
      [undefined, 'the body has an unknown member "nothing"'],
      ["oidc.x.jwksUrl", "must be a text that is not empty"],
      ["limits.caller.perSecond", "must be a number from 0.001 to 1000000"],
    ]),
  );
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`a${n}`, 0]));
  assert.equal((await ask("PUT", appid, "", { limits: many })).body.problems.length, 50);
});
