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
import { joinToken, startTestIssuer, type TestIssuer } from "../../test/oidc-issuer.ts";
import { type ApplicationSettings, updateApplicationSettings } from "../tenancy/application-settings.ts";
import { socialUserName } from "./users.social.routes.ts";

let test: TestApp;
let issuer: TestIssuer;
let deviceToken: string;
before(async () => {
  test = await startTestApp();
  issuer = await startTestIssuer(() => test.now());
  deviceToken = await test.registerDevice();
  await configure({ google: issuer.provider });
});
after(async () => {
  await issuer.close();
  await test.close();
});

const dayMs = 86_400_000;

async function configure(oidc: ApplicationSettings["oidc"], appid = test.application.appid): Promise<void> {
  await test.app.database.write(({ queries }) => updateApplicationSettings(appid, { oidc }, queries));
}

function send(body: Record<string, unknown>, token = deviceToken): Promise<Answer> {
  return test.call("POST /users/login/social", { token, body });
}

/** Logs this subject in, with a valid token that contains these claims. */
async function logIn(
  sub: string,
  claims: Record<string, unknown> = {},
  { provider = "google", token = deviceToken } = {},
): Promise<Answer> {
  const identityAccessToken = await issuer.sign({ sub, ...claims });
  return send({ identityProviderName: provider, identityID: sub, identityAccessToken }, token);
}

function assertRefused(answer: Answer): void {
  assertError(answer, 403, "AuthBadUsernameOrPassword", 262);
}

function claim({ token }: Pick<TestUser, "token">, identityId: string, provider = "google"): Promise<Answer> {
  return test.call(`POST /users/me/identities/${encodeURIComponent(provider)}`, { token, body: { identityId } });
}

async function holderOf(identityId: string, token: string): Promise<unknown> {
  const answer = await test.call(`GET /users/identities/google/${encodeURIComponent(identityId)}`, { token });
  return answer.body.result;
}

async function usersNow(): Promise<number> {
  return (await test.app.database.reads.selectFrom("users").select("id").execute()).length;
}

describe("POST /users/login/social, the first time: spec/users#log-in-with-a-provider", () => {
  it("answers 200 with a new user, a token and isNew", async () => {
    const profile = { email: "jane@example.com", email_verified: true, given_name: "Jane", family_name: "Müller" };
    const answer = await logIn("jane", profile);
    const { id, userName, accessToken } = answer.body.result;
    assert.match(id, /^usr_[0-9a-z]+$/);
    assert.match(userName, /^google-[0-9a-f]{16}$/);
    const now = `/Date(${test.now()})/`;
    const user = {
      id,
      userName,
      firstName: "Jane",
      lastName: "Müller",
      email: "jane@example.com",
      emailVerified: true,
      celebMode: false,
      locationFuzzing: false,
      lastLogin: now,
      created: now,
      lastModified: now,
    };
    const accessTokenExpires = `/Date(${test.now() + 30 * dayMs})/`;
    assertResult(answer, 200, { ...user, accessToken, accessTokenExpires, isNew: true });
    assertResult(await test.call("GET /users/me", { token: accessToken }), 200, user);
    const { pageResults } = (await test.call("GET /users/me/identities", { token: accessToken })).body.result;
    assert.deepEqual(pageResults, [{ identityProviderName: "google", identityProviderID: "jane", created: now }]);
    assert.equal(await holderOf("jane", accessToken), id);
  });

  it("stores only verified addresses, and names only if they are strings", async () => {
    const cases: [claims: Record<string, unknown>, expected: Record<string, string>][] = [
      [{ email: "a@b" }, {}],
      [{ email: "a@b", email_verified: false }, {}],
      [{ email: "a@b", email_verified: "true" }, { email: "a@b" }],
      [{ email: "a@b", email_verified: "false" }, {}],
      [{ email: "a@b", email_verified: 1 }, {}],
      [{ email: ["a@b"], email_verified: true, given_name: { a: 1 }, family_name: 7 }, {}],
      [{ email: "x".repeat(321), email_verified: true, given_name: "x".repeat(257), family_name: "" }, {}],
      [{ given_name: "a\0b", family_name: "\uD800" }, {}],
      [{ email: "𝒳".repeat(320), email_verified: true }, { email: "𝒳".repeat(320) }],
      [
        { given_name: "𝒳".repeat(256), family_name: 'Müller "x"' },
        { firstName: "𝒳".repeat(256), lastName: 'Müller "x"' },
      ],
      [{ userName: "admin", isNew: false, id: "usr_1", gender: "Male", celebMode: true }, {}],
    ];
    for (const [n, [claims, expected]] of cases.entries()) {
      const { email, firstName, lastName, gender, celebMode, isNew } = (await logIn(`profile ${n}`, claims)).body
        .result;
      const found = JSON.parse(JSON.stringify({ email, firstName, lastName, gender }));
      assert.deepEqual([found, celebMode, isNew], [expected, false, true]);
    }
  });

  it("generates a name that does not contain the subject, and another one when it is taken", async () => {
    for (const name of [socialUserName("google", "squatted"), socialUserName("google", "squatted").toUpperCase()]) {
      assert.ok(!name.includes("squatted"));
      await test.call("POST /users", { token: deviceToken, body: { username: name, password: "password" } });
    }
    const { userName } = (await logIn("squatted")).body.result;
    assert.match(userName, /^google-[0-9a-f]{16}-[0-9a-f]{12}$/);
  });

  it("accepts any string as provider and subject, even one that folds to many letters", async () => {
    for (const text of ["__proto__", "constructor", "a/b?c#d", "\u202Eابجد", "ﷺ".repeat(256), "𝒳".repeat(256)]) {
      const oidc = Object.fromEntries([
        ["google", issuer.provider],
        [text, issuer.provider],
      ]);
      await configure(oidc);
      const first = await logIn(text, {}, { provider: text });
      assert.equal(first.body.result.isNew, true, text);
      const again = await logIn(text, {}, { provider: text });
      assert.deepEqual([again.body.result.id, again.body.result.isNew], [first.body.result.id, false]);
    }
    await configure({ google: issuer.provider });
  });

  it("creates one user for many concurrent logins with one identity, and every token is valid", async () => {
    const before = await usersNow();
    const answers = await Promise.all(Array.from({ length: 30 }, () => logIn("hasty")));
    assert.equal(await usersNow(), before + 1);
    assert.equal(new Set(answers.map(({ body }) => body.result.id)).size, 1);
    assert.equal(answers.filter(({ body }) => body.result.isNew).length, 1);
    for (const { body } of answers) {
      assert.equal((await test.call("GET /users/me", { token: body.result.accessToken })).status, 200);
    }
  });
});

describe("POST /users/login/social, later: spec/users#social-users", () => {
  it("answers 200 with the same user, a new token and the time of this login, and preserves the user's changes of the profile", async () => {
    const first = (await logIn("regular", { given_name: "Old" })).body.result;
    await test.call("PATCH /users/me", { token: first.accessToken, body: { firstName: "Chosen", username: "Chosen" } });
    test.advance(1_000);
    const answer = await logIn("regular", { given_name: "New", email: "new@example.com", email_verified: true });
    const { accessToken, lastLogin, firstName, userName, email, isNew, id } = answer.body.result;
    assert.deepEqual(
      { id, lastLogin, firstName, userName, email, isNew },
      {
        id: first.id,
        lastLogin: `/Date(${test.now()})/`,
        firstName: "Chosen",
        userName: "Chosen",
        email: undefined,
        isNew: false,
      },
    );
    assert.notEqual(accessToken, first.accessToken);
    for (const token of [accessToken, first.accessToken]) {
      assert.equal((await test.call("GET /users/me", { token })).body.result.id, id);
    }
    const { pageResults } = (await test.call("GET /users/me/tokens", { token: accessToken })).body.result;
    assert.equal(pageResults.length, 2);
  });

  it("accepts identityProviderId as well, names in any case, and a user token", async () => {
    const { id, accessToken: token } = (await logIn("aliased")).body.result;
    const identityAccessToken = await issuer.sign({ sub: "aliased" });
    for (const names of [
      { identityProviderId: "google", identityID: "aliased", identityAccessToken },
      { identityproviderID: "google", identityId: "aliased", IDENTITYACCESSTOKEN: identityAccessToken },
    ]) {
      assert.equal((await send(names, token)).body.result.id, id);
    }
  });

  it("treats the same subject of another provider, or in another application, as another user", async () => {
    const { id } = (await logIn("everywhere")).body.result;
    await configure({ google: issuer.provider, other: issuer.provider });
    const ofOther = (await logIn("everywhere", {}, { provider: "other" })).body.result;
    assert.deepEqual([ofOther.isNew, ofOther.id === id], [true, false]);

    const application = await test.createApplication();
    await configure({ google: issuer.provider }, application.appid);
    const token = await test.registerDevice(application);
    const elsewhere = (await logIn("everywhere", {}, { token })).body.result;
    assert.deepEqual([elsewhere.isNew, elsewhere.id === id], [true, false]);
    const userName = socialUserName("google", "everywhere");
    assert.equal(elsewhere.userName, userName);
  });

  it("does not allow a login with a password for a user without one", async () => {
    const { userName } = (await logIn("no password")).body.result;
    for (const password of ["", "password", "undefined", "null"]) {
      const body = { username: userName, password };
      assertRefused(await test.call("POST /users/login", { token: deviceToken, body }));
    }
  });

  it("refuses a disabled user with an entry in the audit log, and accepts the user once enabled", async () => {
    const { id } = (await logIn("locked out")).body.result;
    const operator = await test.createOperator();
    const operate = (operation: string) =>
      test.call(`${operation.replace(" /", ` /_/api/`)}`, {
        token: operator.token,
        ...(operation.startsWith("POST") && { body: {} }),
      });
    const path = `/applications/${test.application.appid}/users/${id}`;
    assert.equal((await operate(`POST ${path}/disable`)).status, 200);
    const refused = await logIn("locked out");
    assertError(refused, 403, "AuthUserAccountDisabled", 264, "The user account is disabled.");
    const [entry] = (await operate("GET /audit?action=loginSocialUser&pageSize=1")).body.result.pageResults;
    assert.deepEqual(
      [entry.target, entry.requestId, entry.details],
      [id, refused.body.request_id, { error: "AuthUserAccountDisabled" }],
    );
    assert.equal((await operate(`POST ${path}/enable`)).status, 200);
    assert.equal((await logIn("locked out")).body.result.id, id);
  });

  it("creates a new user when the earlier one is deleted", async () => {
    const first = (await logIn("gone")).body.result;
    await test.call("DELETE /users/me", { token: first.accessToken });
    const next = (await logIn("gone")).body.result;
    assert.deepEqual([next.isNew, next.id === first.id], [true, false]);
    assert.equal((await test.call("GET /users/me", { token: first.accessToken })).status, 401);
  });

  it("creates a new user while the earlier one is marked as deleted and not yet erased; the erasure does not touch the new user", async () => {
    const first = (await logIn("fading")).body.result;
    await test.app.database.write(({ queries }) =>
      queries
        .updateTable("users")
        .set({ deleted_at: test.now(), user_name_key: `DELETED ${first.id}` })
        .where("id", "=", first.id)
        .execute(),
    );
    const next = (await logIn("fading")).body.result;
    assert.deepEqual([next.isNew, next.id === first.id], [true, false]);
    assert.equal((await logIn("fading")).body.result.id, next.id);
    const rows = await test.app.database.reads
      .selectFrom("identities")
      .select(["user_id", "is_verified"])
      .where("identifier", "=", "fading")
      .execute();
    assert.deepEqual(
      rows.map(({ user_id, is_verified }) => [user_id, is_verified]),
      [[next.id, 1]],
    );
  });
});

// spec/users#social-users
describe("identities that are merely claimed: account pre-hijacking", () => {
  it("do not sign in the user who claimed them: the user who proves one is a different user and receives it", async () => {
    const claimer = await test.signUp();
    assertResult(await claim(claimer, "victim"), 200, 1);
    test.advance(1_000);
    const answer = (await logIn("victim")).body.result;
    assert.deepEqual([answer.isNew, answer.id === claimer.id], [true, false]);
    assert.equal(await holderOf("victim", claimer.token), answer.id);
    const mine = (await test.call("GET /users/me/identities", { token: answer.accessToken })).body.result.pageResults;
    assert.deepEqual(mine, [
      { identityProviderName: "google", identityProviderID: "victim", created: `/Date(${test.now()})/` },
    ]);
    const theirs = (await test.call("GET /users/me/identities", { token: claimer.token })).body.result.pageResults;
    assert.deepEqual(theirs, []);
    assert.equal((await logIn("victim")).body.result.id, answer.id);
  });

  it("cannot be claimed back, and stay proven after another claim", async () => {
    const first = (await logIn("owner")).body.result;
    const other = await test.signUp();
    const taken = "The identity belongs to another user.";
    assertError(await claim(other, "owner"), 400, "ItemAlreadyExists", 770, taken);
    assertResult(await claim({ token: first.accessToken }, "owner"), 200, 1);
    assert.equal((await logIn("owner")).body.result.id, first.id);
  });

  it("belong to the user who proves them, despite concurrent claims", async () => {
    const claimers = await Promise.all(Array.from({ length: 5 }, () => test.signUp()));
    const [proofs] = await Promise.all([
      Promise.all(Array.from({ length: 5 }, () => logIn("contested"))),
      ...claimers.map((claimer) => claim(claimer, "contested")),
    ]);
    const ids = new Set(proofs.map(({ body }) => body.result.id));
    assert.equal(ids.size, 1);
    assert.ok(!claimers.some(({ id }) => ids.has(id)));
    assert.ok(ids.has(await holderOf("contested", claimers[0]?.token ?? "")));
  });
});

describe("POST /users/login/social refuses", () => {
  it("a failed verification with 403 without a message, and creates no user", async (t) => {
    const before = await usersNow();
    const good = { identityProviderName: "google", identityID: "x" };
    const seconds = Math.floor(test.now() / 1_000);
    const evil = await startTestIssuer(() => test.now());
    t.after(() => evil.close());
    const [head = "", payload = "", signature = ""] = (await issuer.sign({ sub: "x" })).split(".");
    const claims = { iss: issuer.provider.issuer, aud: issuer.provider.audience, sub: "x", exp: seconds + 60 };
    for (const token of [
      await issuer.sign({ sub: "y" }),
      await issuer.sign({ sub: "x", aud: "another client" }),
      await issuer.sign({ sub: "x", iss: "https://evil.example" }),
      await issuer.sign({ sub: "x", exp: seconds - 61 }),
      await issuer.sign({ sub: "x", exp: undefined }),
      await issuer.sign({ sub: "x", nbf: seconds + 120 }),
      await evil.sign({ sub: "x", iss: issuer.provider.issuer }),
      joinToken({ alg: "none" }, claims),
      joinToken({ alg: "HS256", kid: issuer.publicJwk.kid }, claims, signature),
      `${head}.${payload}.${signature.slice(1)}`,
      `${head}.${payload}.`,
      "garbage",
      "__proto__",
      4711,
    ]) {
      assertRefused(await send({ ...good, identityAccessToken: token }));
    }
    for (const identityProviderName of ["Google", "facebook", "__proto__", "constructor", "toString"]) {
      const identityAccessToken = await issuer.sign({ sub: "x" });
      assertRefused(await send({ ...good, identityProviderName, identityAccessToken }));
    }
    const stranger = await test.registerDevice(await test.createApplication());
    assertRefused(await logIn("x", {}, { token: stranger }));
    const expiring = await issuer.sign({ sub: "x" });
    test.advance(3_600_000 + 61_000);
    assertRefused(await send({ ...good, identityAccessToken: expiring }));
    assert.equal(await usersNow(), before);
  });

  it("with 503 ServiceUnavailable when the keys are unreachable", async () => {
    const away = await startTestIssuer(() => test.now());
    await configure({ google: issuer.provider, away: away.provider });
    await away.close();
    const identityAccessToken = await away.sign({ sub: "x" });
    const answer = await send({ identityProviderName: "away", identityID: "x", identityAccessToken });
    const message = "The keys of the identity provider cannot be reached. Try again.";
    assertError(answer, 503, "ServiceUnavailable", 1284, message);
    assert.equal(answer.headers["retry-after"], "1");
  });

  it("missing, oversized or non-text parameters with 400", async () => {
    const body = { identityProviderName: "google", identityID: "x", identityAccessToken: "x" };
    const limits = { identityProviderName: 256, identityID: 256, identityAccessToken: 16_384 };
    for (const [name, max] of Object.entries(limits)) {
      for (const missing of [undefined, null, ""]) {
        const answer = await send({ ...body, [name]: missing });
        assertError(answer, 400, "ParameterMissingRequiredValue", 513, `${name} is required.`);
      }
      for (const wrong of [{}, ["x"], true]) {
        const answer = await send({ ...body, [name]: wrong });
        assertError(answer, 400, "ParameterIncorrectFormat", 515, `${name} must be a text.`);
      }
      const answer = await send({ ...body, [name]: "x".repeat(max + 1) });
      assertError(answer, 400, "ParameterOutOfRange", 514, `${name} must have at most ${max} characters.`);
      assertRefused(await send({ ...body, [name]: "x".repeat(max) }));
    }
  });
});

describe("settings and secrets of a social login", () => {
  it("are read at the next login: changed settings and rotated keys", async () => {
    const { id } = (await logIn("changing")).body.result;
    await configure({});
    assertRefused(await logIn("changing"));
    await configure({ google: { ...issuer.provider, audience: "another client" } });
    assertRefused(await logIn("changing"));
    await configure({ google: issuer.provider });
    await issuer.rotate();
    assert.equal((await logIn("changing")).body.result.id, id);
  });

  it("are absent from the response to a refused login, whose failed check is in the log and, with debug, in the response", async (t) => {
    const oidc = { google: issuer.provider };
    const { appid } = test.application;
    const set = (settings: ApplicationSettings) =>
      test.app.database.write(({ queries }) => updateApplicationSettings(appid, settings, queries));
    t.after(() => set({ oidc }));
    const evil = await startTestIssuer(() => test.now());
    t.after(() => evil.close());
    const refused = "The id_token was refused: ";
    const cases: [check: string, token: string, message: string, provider?: string][] = [
      ["format", "garbage", `${refused}it is no signed JWT.`],
      [
        "aud",
        await issuer.sign({ sub: "x", aud: "another client" }),
        `${refused}its audience (aud) is not the one that is set for the provider.`,
      ],
      ["sub", await issuer.sign({ sub: "y" }), `${refused}its subject (sub) is not identityID.`],
      [
        "key",
        await evil.sign({ sub: "x", iss: issuer.provider.issuer }),
        `${refused}the keys at jwksUrl do not hold the one that it names (kid).`,
      ],
      [
        "provider",
        await issuer.sign({ sub: "x" }),
        "The application has no identity provider of the name identityProviderName.",
        "facebook",
      ],
    ];
    for (const debug of [undefined, false, true]) {
      await set({ oidc, ...(debug !== undefined && { debug }) });
      for (const [failedCheck, identityAccessToken, message, identityProviderName = "google"] of cases) {
        const from = test.logLines.length;
        const answer = await send({ identityProviderName, identityID: "x", identityAccessToken });
        if (debug) assertError(answer, 403, "AuthBadUsernameOrPassword", 262, message);
        else assertRefused(answer);
        const line = test.logLines.slice(from).find(({ msg }) => msg === "an id_token was refused");
        const { request_id, applicationId, provider } = line ?? {};
        assert.deepEqual(
          { request_id, applicationId, provider, failedCheck: line?.["failedCheck"] },
          { request_id: answer.body.request_id, applicationId: appid, provider: identityProviderName, failedCheck },
        );
      }
    }
    // Wrong passwords still have no message.
    const login = { username: "nobody here", password: "password" };
    assertRefused(await test.call("POST /users/login", { token: deviceToken, body: login }));
  });

  it("are in no log line: no id_token and no claims, for accepted and refused logins", async () => {
    const claims = { email: "secret@example.com", email_verified: true, given_name: "Secretname" };
    const good = await issuer.sign({ sub: "logged", ...claims });
    const bad = await issuer.sign({ sub: "logged", ...claims, aud: "another client" });
    const body = { identityProviderName: "google", identityID: "logged" };
    assert.equal((await send({ ...body, identityAccessToken: good })).status, 200);
    assertRefused(await send({ ...body, identityAccessToken: bad }));
    const log = JSON.stringify(test.logLines);
    assert.match(log, /an id_token was refused/);
    for (const secret of [...good.split("."), ...bad.split("."), "secret@example.com", "Secretname"]) {
      assert.ok(!log.includes(secret), secret);
    }
  });
});
