import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
let deviceToken: string;
before(async () => {
  test = await startTestApp();
  deviceToken = await test.registerDevice();
});
after(() => test.close());

const dayMs = 86_400_000;
const nameTaken = "The username is already in use. Choose a unique username.";

function create(body: Record<string, unknown>, token = deviceToken): Promise<Answer> {
  return test.call("POST /users", { token, body: { password: "correct horse", ...body } });
}

function logIn(username: string): Promise<Answer> {
  return test.call("POST /users/login", { token: deviceToken, body: { username, password: "correct horse" } });
}

/**
 * Returns the expected response of POST /users for this name, with generated fields copied from the actual response.
 */
function newUser({ body }: Answer, userName: string) {
  const { id, accessToken } = body.result;
  assert.match(id, /^usr_[0-9a-z]+$/);
  assert.match(accessToken, /^[\w.-]+$/);
  const now = `/Date(${test.now()})/`;
  return {
    id,
    userName,
    celebMode: false,
    locationFuzzing: false,
    lastLogin: now,
    created: now,
    lastModified: now,
    accessToken,
    accessTokenExpires: `/Date(${test.now() + 30 * dayMs})/`,
  };
}

describe("POST /users: spec/users#sign-up", () => {
  it("answers 200 with the user and a token of 30 days, without omitted fields and the password", async () => {
    const answer = await create({ username: "Jane" });
    assertResult(answer, 200, newUser(answer, "Jane"));
  });

  it("answers 200 with all fields", async () => {
    const profile = { email: "joe@example.com", firstName: "Joe", lastName: "Müller" };
    const answer = await create({ username: "joe@example.com", ...profile });
    assertResult(answer, 200, { ...newUser(answer, "joe@example.com"), ...profile });
  });

  it("uses the configured lifetime of the token", async (t) => {
    const short = await startTestApp({ USER_TOKEN_LIFETIME_MS: "60000" });
    t.after(() => short.close());
    const body = { username: "Jane", password: "correct" };
    const answer = await short.call("POST /users", { token: await short.registerDevice(), body });
    assert.equal(answer.body.result.accessTokenExpires, `/Date(${short.now() + 60_000})/`);
  });

  it("returns a token that belongs to the user", async () => {
    const { id, accessToken: token } = (await create({ username: "Own Token" })).body.result;
    assert.equal((await test.call("GET /users/me", { token })).body.result.id, id);
  });

  it("accepts a user token as well as a device token", async () => {
    const { token } = await test.signUp();
    const answer = await create({ username: "Invited" }, token);
    assertResult(answer, 200, newUser(answer, "Invited"));
  });

  it("ignores fields that the service sets, whatever their type", async () => {
    const sent = {
      id: "usr_mine",
      userID: {},
      created: "/Date(0)/",
      lastModified: [],
      lastLogin: 7,
      accessToken: { any: "thing" },
      accessTokenExpires: true,
      isNew: true,
      roles: ["operator"],
      celebMode: true,
      locationFuzzing: true,
      token_version: 9,
      password_hash: "$argon2id$",
      application_id: "app_other",
    };
    const answer = await create({ username: "Server Fields", ...sent });
    assertResult(answer, 200, newUser(answer, "Server Fields"));
  });

  it("reads a number as a name in decimal digits, and null and empty optional fields as absent", async () => {
    const answer = await create({ UserName: 4711, email: null, firstName: "", LASTNAME: null });
    assertResult(answer, 200, newUser(answer, "4711"));
  });

  it("stores strings of any script unchanged, including names that are special to a program", async () => {
    for (const text of [
      "👩‍👩‍👧‍👦",
      "\u202Eابجد",
      `e${"\u0301".repeat(256)}`,
      "__proto__",
      "constructor",
      "%_'\"\\;--",
    ]) {
      const username = [...text].slice(0, 256).join("");
      const answer = await create({ username, firstName: username });
      assertResult(answer, 200, { ...newUser(answer, username), firstName: username });
    }
  });
});

describe("POST /users: spec/users#user-lengths", () => {
  it("answers 400 ItemAlreadyExists when the name is taken in the same application, even with only username and password", async () => {
    const { userName, password } = await test.signUp("Taken");
    for (const body of [{}, { password }, { email: "other@example.com", firstName: "Other" }]) {
      assertError(await create({ username: userName, ...body }), 400, "ItemAlreadyExists", 770, nameTaken);
    }
  });

  it("answers 400 ItemAlreadyExists for a name that differs only in case or Unicode form", async () => {
    await create({ username: "Zoë Straße" });
    for (const username of ["ZOË STRASSE", "zoe\u0308 straße", "Ｚｏë Strasse"]) {
      assertError(await create({ username }), 400, "ItemAlreadyExists", 770, nameTaken);
    }
  });

  it("answers 400 ItemAlreadyExists for a name that looks like another, at sign-up and in a change", async () => {
    const userName = " Grace\u200B  Hopper\u202E";
    const made = await create({ username: userName });
    // In the submitted form (hostile.md 19)
    assert.deepEqual([made.status, made.body.result.userName], [200, userName]);
    const other = await test.signUp();
    const rename = (username: string, token: string) => test.call("PATCH /users/me", { token, body: { username } });
    for (const username of [
      "Grace Hopper",
      "grace hopper ",
      "Grace\u00A0Hopper",
      "Gr\u00ADace\tHopper",
      "GRACE\u0007 HOPPER",
    ]) {
      assertError(await create({ username }), 400, "ItemAlreadyExists", 770, nameTaken);
      assertError(await rename(username, other.token), 400, "ItemAlreadyExists", 770, nameTaken);
      const login = await logIn(username);
      assert.deepEqual([login.status, login.body.result?.id], [200, made.body.result.id]);
      const renamed = await rename(username, made.body.result.accessToken);
      assert.deepEqual([renamed.status, renamed.body.result.userName], [200, username]);
    }
    // A name of invisible characters is valid, and all such names are equal.
    assert.equal((await create({ username: " \t" })).status, 200);
    for (const username of [" ", "\u200B", "\u202E\u3164\t"]) {
      assertError(await create({ username }), 400, "ItemAlreadyExists", 770, nameTaken);
    }
  });

  it("preserves a name from a release that distinguished names by blanks, in logins, changes and searches", async () => {
    const former = (await create({ username: "Legacy Name" })).body.result;
    await test.app.database.write(({ queries }) =>
      queries
        .updateTable("users")
        .set({ user_name: "Legacy Name ", user_name_key: "legacy name " })
        .where("application_id", "=", test.application.appid)
        .where("id", "=", former.id)
        .execute(),
    );
    const later = (await create({ username: "Legacy Name" })).body.result;
    for (const username of ["Legacy Name ", "LEGACY NAME "]) {
      assertError(await create({ username }), 400, "ItemAlreadyExists", 770, nameTaken);
    }
    for (const [username, id] of [
      ["legacy name ", former.id],
      ["legacy name", later.id],
      ["legacy  name", later.id],
    ]) {
      const login = await logIn(username);
      assert.equal(login.body.result?.id, id, username);
    }
    for (const username of ["Legacy Name ", "LEGACY name "]) {
      const renamed = await test.call("PATCH /users/me", { token: former.accessToken, body: { username } });
      assert.deepEqual([renamed.status, renamed.body.result.userName], [200, username]);
      const taken = await test.call("PATCH /users/me", { token: later.accessToken, body: { username } });
      assertError(taken, 400, "ItemAlreadyExists", 770, nameTaken);
    }
    const found = await test.call("GET /users?userName=LEGACY%20NAME%20", { token: later.accessToken });
    assert.ok(found.body.result.pageResults.some(({ id }: { id: string }) => id === former.id));
  });

  it("accepts the same name in another application", async () => {
    await create({ username: "Everywhere" });
    const other = await test.createApplication();
    const answer = await create({ username: "Everywhere" }, await test.registerDevice(other));
    assertResult(answer, 200, newUser(answer, "Everywhere"));
  });

  it("succeeds for only one of a hundred concurrent sign-ups with one name; the others answer ItemAlreadyExists", async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => create({ username: n % 2 === 0 ? "Highlander" : "HIGHLANDER" })),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertError(answer, 400, "ItemAlreadyExists", 770, nameTaken);
    }
    const rows = await test.app.database.reads
      .selectFrom("users")
      .select("id")
      .where("user_name_key", "=", "highlander")
      .execute();
    assert.equal(rows.length, 1);
  });

  it("answers 400 ParameterOutOfRange for a password of fewer than 4 characters, including the empty one", async () => {
    const rule = "password must have at least 4 characters.";
    for (const password of ["", "abc", 123, "👍👍👍"]) {
      assertError(await create({ username: "Short", password }), 400, "ParameterOutOfRange", 514, rule);
    }
    for (const password of ["abcd", 1234, "👍👍👍👍", "    "]) {
      assert.equal((await create({ username: `With ${password}`, password })).status, 200);
    }
  });

  it("answers 400 ParameterMissingRequiredValue without username or password", async () => {
    for (const body of [{}, { username: null }, { username: "" }]) {
      assertError(await create(body), 400, "ParameterMissingRequiredValue", 513, "username is required.");
    }
    for (const password of [undefined, null]) {
      const answer = await create({ username: "No Password", password });
      assertError(answer, 400, "ParameterMissingRequiredValue", 513, "password is required.");
    }
  });

  it("answers 400 ParameterIncorrectFormat for an object, an array, a boolean or invalid Unicode in place of text", async () => {
    const texts = { username: "Never", password: "correct", email: "e", firstName: "f", lastName: "l" };
    for (const name of Object.keys(texts)) {
      for (const value of [{}, ["x"], true]) {
        const answer = await create({ ...texts, [name]: value });
        assertError(answer, 400, "ParameterIncorrectFormat", 515, `${name} must be a text.`);
      }
      for (const value of ["a\0b", "a\uD800b"]) {
        const answer = await create({ ...texts, [name]: value });
        assertError(answer, 400, "ParameterIncorrectFormat", 515, `${name} must be Unicode text without NUL.`);
      }
    }
  });

  it("answers 400 ParameterOutOfRange for strings that are too long", async () => {
    const limits = { username: 256, password: 1_024, email: 320, firstName: 256, lastName: 256 };
    for (const [name, max] of Object.entries(limits)) {
      const answer = await create({ username: "Never", [name]: "x".repeat(max + 1) });
      assertError(answer, 400, "ParameterOutOfRange", 514, `${name} must have at most ${max} characters.`);
    }
    const longest = Object.fromEntries(Object.entries(limits).map(([name, max]) => [name, "𝒳".repeat(max)]));
    assert.equal((await create(longest)).status, 200);
  });

  it("stores nothing of a refused request", async () => {
    await create({ username: "Refused", password: "abc" });
    await create({ username: "Refused", email: {} });
    const { accessToken } = (await create({ username: "Refused" })).body.result;
    assert.equal(typeof accessToken, "string");
  });
});

describe("GET /users/me", () => {
  it("answers 200 with the profile without tokens and internal fields", async () => {
    const profile = { email: "me@example.com", firstName: "Me", lastName: "Myself" };
    const created = await create({ username: "Me Myself", ...profile });
    const { accessToken: token, accessTokenExpires: _, ...user } = created.body.result;
    test.advance(5_000);
    assertResult(await test.call("GET /users/me", { token }), 200, user);
  });

  it("answers 401 AuthAccessTokenInvalid once the user is deleted", async (t) => {
    const { id, token } = await test.signUp();
    assert.equal((await test.call("GET /users/me", { token })).status, 200);
    const { appid } = test.application;
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    t.after(() => other.close());
    await other.app.database.write(async ({ queries }) => {
      await queries.deleteFrom("user_tokens").where("application_id", "=", appid).where("user_id", "=", id).execute();
      await queries.deleteFrom("users").where("application_id", "=", appid).where("id", "=", id).execute();
    });
    const answer = await test.call("GET /users/me", { token });
    assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
  });
});
