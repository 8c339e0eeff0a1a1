import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertResult, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { allMails, waitUntil } from "../../test/mails.ts";
import { updateApplicationSettings } from "../tenancy/application-settings.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

/** Five codes an hour are mailed to a user. */
const betweenMailsMs = 900_000;

async function lastMail(): Promise<string> {
  await waitUntil(() => test.app.background.runningCount === 0);
  const mail = allMails(test).at(-1) ?? "";
  const [head = "", ...body] = mail.split("\r\n\r\n");
  const isEncoded = /^Content-Transfer-Encoding: base64$/im.test(head);
  const isQuoted = /^Content-Transfer-Encoding: quoted-printable$/im.test(head);
  const text = body.join("\r\n\r\n");
  if (isEncoded) return Buffer.from(text, "base64").toString();
  return isQuoted ? decodeQuotedPrintable(text) : text;
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

/** The mail with a code for a new address, in the application's or the service's own text. */
async function mailFor(user: TestUser, acceptLanguage?: string): Promise<string> {
  test.advance(betweenMailsMs);
  mails += 1;
  const headers = acceptLanguage === undefined ? {} : { "accept-language": acceptLanguage };
  const body = { email: `someone${mails}@example.com` };
  assertResult(await test.call("POST /users/me/email", { token: user.token, body, headers }), 200, true);
  return lastMail();
}
let mails = 0;

async function setLanguage({ token }: TestUser, language: string): Promise<unknown> {
  return (await test.call("PATCH /users/me", { token, body: { language } })).body.result.language;
}

// spec/users#user-fields
describe("the language of a user", () => {
  it("is stored as a canonical tag at sign-up and in PATCH; other texts are ignored, and an empty one clears it", async () => {
    const device = await test.registerDevice();
    const given = { username: "de", password: "correct horse", language: "DE-at" };
    const { body } = await test.call("POST /users", { token: device, body: given });
    assert.equal(body.result.language, "de-AT");
    const user = { ...(await test.signUp()), token: body.result.accessToken };
    for (const ignored of ["not a language", "x".repeat(65), "en_US", "🙂"]) {
      assert.equal(await setLanguage(user, ignored), "de-AT");
    }
    assert.equal(await setLanguage(user, "zh-hant-tw"), "zh-Hant-TW");
    const other = await test.signUp();
    const seen = await test.call(`GET /users/${body.result.id}`, { token: other.token });
    assert.equal("language" in seen.body.result, false);
    assert.equal(await setLanguage(user, ""), undefined);
    const none = await test.call("POST /users", { token: device, body: { ...given, username: "x", language: "?" } });
    assert.equal("language" in none.body.result, false);
  });
});

// spec/mail#mail-languages
describe("a mail", () => {
  it("is in the user's language, else in the first one that the client accepts, else in English", async () => {
    const user = await test.signUp();
    assert.match(await mailFor(user), /^With this code you confirm/);
    assert.match(await mailFor(user, "fr-CA;q=0.9, de"), /^Avec ce code/);
    await setLanguage(user, "de-AT");
    assert.match(await mailFor(user, "fr"), /^Mit diesem Code bestätigst du/);
    await setLanguage(user, "eo");
    assert.match(await mailFor(user, "fr"), /^With this code/);
  });

  it("of an item of a batch is in the language of the batch's client", async () => {
    const user = await test.signUp();
    const item = { method: "POST", path: "/users/me/email", parameters: { email: "in-a-batch@example.com" } };
    const headers = { "accept-language": "it" };
    await test.call("POST /batch", { token: user.token, body: { requests: [item] }, headers });
    assert.match(await lastMail(), /^Con questo codice/);
  });

  it("exists in eight languages, with the code and the name of the application in each", async () => {
    const user = await test.signUp();
    const texts = new Set<string>();
    for (const language of ["en", "de", "fr", "es", "pt-BR", "it", "ja", "zh-Hans"]) {
      await setLanguage(user, language);
      const text = await mailFor(user);
      assert.match(text, /Test[\s\S]*\r?\n[2-9A-Z]{12}\r?\n/, language);
      texts.add(text.replace(/[2-9A-Z]{12}/, ""));
    }
    assert.equal(texts.size, 8);
  });

  it("has the application's text of the language, else of all languages; a notice too", async () => {
    const text = (body: string) => ({ subject: "Code", body });
    const settings = {
      oidc: {},
      mail: {
        texts: { verifyCode: text("For all: @VerifyCode") },
        textsByLanguage: {
          "pt-BR": { verifyCode: text("Brasil: @VerifyCode") },
          "fr-CA": { notice: text("Avis: @Notice") },
          fr: { verifyCode: text("France: @VerifyCode") },
          pt: { verifyCode: text("Portugal: @VerifyCode"), notice: text("Aviso: @Notice") },
        },
      },
    };
    await test.app.database.write(({ queries }) =>
      updateApplicationSettings(test.application.appid, settings, queries),
    );
    const user = await test.signUp();
    assert.match(await mailFor(user, "pt-br"), /^Brasil: /);
    assert.match(await mailFor(user, "pt-AO"), /^Portugal: /);
    assert.match(await mailFor(user, "fr-CA"), /^France: /, "of the kind, also if the closer tag has others");
    assert.match(await mailFor(user, "de"), /^For all: /);
    await test.call("PATCH /users/me", { token: user.token, body: { email: "first@example.com", language: "pt" } });
    await test.call("PATCH /users/me", { token: user.token, body: { email: "second@example.com" } });
    assert.match(await lastMail(), /^Aviso: O endereço de e-mail da sua conta foi alterado/);
  });

  it("refuses texts of what is no language, and of unknown kinds", async () => {
    const { token } = await test.createOperator();
    const path = `/_/api/applications/${test.application.appid}/settings`;
    const textsByLanguage = { "no tag!": {}, de: { welcome: {} } };
    const answer = await test.call(`PUT ${path}`, { token, body: { mail: { textsByLanguage } } });
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, /"no tag!" in mail.textsByLanguage must be a language tag such as de or pt-BR/);
    assert.match(answer.body.message, /mail.textsByLanguage.de has an unknown member "welcome"/);
  });
});
