import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

async function ignoredBy(operation: string, body?: unknown): Promise<unknown> {
  const answer = await test.call(operation, { token: user.token, ...(body !== undefined && { body }) });
  return answer.headers["rollcall-ignored"];
}

// spec/transport#unknown-parameters
describe("the header Rollcall-Ignored", () => {
  it("lists each unknown parameter of an operation once, as sent", async () => {
    assert.equal(await ignoredBy("GET /checkins?coment=x&pictureId=y&coment=z"), "coment, pictureId");
    assert.equal(await ignoredBy("GET /users/me?foo=1"), "foo");
    assert.equal(await ignoredBy("PATCH /users/me", { firstname: "A", frstName: "B" }), "frstName");
  });

  it("is also sent with errors", async () => {
    const { status, headers } = await test.call("GET /checkins?coment=x&pageSize=0", { token: user.token });
    assert.deepEqual([status, headers["rollcall-ignored"]], [400, "coment"]);
  });

  it("omits names that client libraries add to every call, and fields of objects that clients send back", async () => {
    const added = "location=1,2&readPermissions=App&writePermissions=User&OWNERID=me";
    assert.equal(await ignoredBy(`GET /checkins?${added}`), undefined);
    const { body } = await test.call("GET /users/me", { token: user.token });
    assert.equal(await ignoredBy("PATCH /users/me", body.result), undefined);
  });

  it("is bounded, and escapes characters that headers cannot contain: hostile.md 23", async () => {
    const names = Array.from({ length: 50 }, (_, n) => `x${n}${"y".repeat(100)}`);
    const many = String(await ignoredBy(`GET /checkins?${names.map((name) => `${name}=1`).join("&")}`));
    assert.ok(many.length < 300 && many.split(", ").length === 10, many);
    assert.equal(await ignoredBy("GET /checkins?a%0D%0AX-Evil%3A=1&%F0%9F%98%80=1"), "a%0D%0AX-Evil%3A, %F0%9F%98%80");
    assert.equal(await ignoredBy("PATCH /users/me", { "\ud800": 1, __proto__x: 1 }), "%EF%BF%BD, __proto__x");
  });

  it("lists the parameters in the query of a call whose parameters are in the body", async () => {
    assert.equal(
      await ignoredBy("POST /checkins?comment=a&tag=b", { location: "1,2" }),
      undefined,
      "fields of a check-in",
    );
    assert.equal(await ignoredBy("POST /checkins?page=2", { location: "1,2", comments: "a" }), "page, comments");
  });

  it("can be read by web pages", async () => {
    const headers = { origin: "https://app.example" };
    const answer = await test.call("GET /checkins?coment=x", { token: user.token, headers });
    assert.match(String(answer.headers["access-control-expose-headers"]), /\bRollcall-Ignored\b/);
  });
});

// spec/transport#unknown-parameters
describe("the names of ignored parameters in the envelope", () => {
  it("are listed if the application has debug, in results, errors and items of a batch", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Debugging", application);
    const call = async (operation: string, body?: object) =>
      (await test.call(operation, { token, ...(body && { body }) })).body;
    const typo = { location: "1,2", comments: "typo" };
    const key = { headers: { "idempotency-key": "typo" } };
    assert.equal("ignored" in (await call("POST /checkins", typo)), false);
    const operator = await test.createOperator();
    const settings = `PATCH /_/api/applications/${application.appid}/settings`;
    await test.call(settings, { token: operator.token, body: { debug: true } });
    assert.deepEqual((await call("POST /checkins?page=2", typo)).ignored, ["page", "comments"]);
    assert.deepEqual((await call("GET /checkins?near=48,16")).ignored, ["near"]);
    assert.deepEqual((await call("POST /checkins", { comments: 'a"b' })).ignored, ["comments"]);
    assert.equal("ignored" in (await call("POST /checkins", { location: "1,2", comment: "right" })), false);
    const requests = [
      { method: "POST", path: "/checkins?page=2", parameters: typo },
      { method: "GET", path: "/checkins?near=1" },
      { method: "POST", path: "/checkins", parameters: { comments: "typo" } },
      { method: "GET", path: "/users/me" },
    ];
    const { result } = await call("POST /batch", { requests });
    assert.deepEqual(
      result.responses.map(({ ignored }: { ignored?: string[] }) => ignored),
      [["page", "comments"], ["near"], ["comments"], undefined],
    );
    const misspelt = [
      { method: "POST", path: "/checkins?page=2", body: { location: "1,2" }, comment: "beside", KEY: "k" },
      { method: "GET", url: "/users/me" },
      { Verb: "GET", path: "/nowhere", id: 1 },
      "no object",
    ];
    const refused = (await call("POST /batch", { requests: misspelt })).result.responses;
    assert.deepEqual(
      refused.map(({ error, ignored }: { error?: string; ignored?: string[] }) => [error, ignored]),
      [
        ["ParameterMissingRequiredValue", ["body", "comment", "page"]],
        ["ParameterMissingRequiredValue", ["url"]],
        ["ParameterMissingRequiredValue", ["Verb", "id"]],
        ["ParameterIncorrectFormat", undefined],
      ],
    );
    for (const replayed of [false, true]) {
      const { body, headers } = await test.call("POST /checkins", { token, body: typo, ...key });
      assert.equal(body.success, true);
      assert.equal(headers["idempotent-replayed"] === "true", replayed);
      assert.deepEqual(body.ignored, replayed ? undefined : ["comments"]);
    }
  });
});

// spec/search#search-scope, spec/metadata#search-metadata, spec/users#search-users
describe("names and paths of shipped clients", () => {
  const found = async (path: string, token = user.token): Promise<number> =>
    (await test.call(`GET ${path}`, { token })).body.result.pageResults.length;

  it("ownerID is an alias of userID in searches, and the documented name takes precedence", async () => {
    const other = await test.signUp();
    await test.call("POST /checkins", { token: user.token, body: { location: "1,2", readPermissions: "App" } });
    assert.deepEqual(
      [await found(`/checkins?ownerID=${user.id}`, other.token), await found("/checkins?ownerID=me", other.token)],
      [1, 0],
    );
    assert.equal(await found(`/checkins?ownerID=${user.id}&userID=me`, other.token), 0);
    assert.equal(await found(`/blobs?ownerId=${user.id}`), 0);
  });

  it("in metadata, permission is an alias of visibility, and modified of lastModified, and value is compared by its JSON type", async () => {
    const values: [string, unknown][] = [
      ["n", 5],
      ["text", "5"],
      ["yes", true],
      ["word", "true"],
      ["far", { five: 5 }],
      ["umlaut", 'ä"😀'],
    ];
    for (const [key, value] of values) {
      await test.call(`PUT /metadata/me/${key}`, { token: user.token, body: { value, permission: "App" } });
    }
    const keys = async (query: string) => {
      const { body } = await test.call(`GET /metadata/me?sortOrder=key&${query}`, { token: user.token });
      return body.result.pageResults.map(({ key }: { key: string }) => key).join();
    };
    assert.equal(await keys("permission=User"), "");
    assert.equal(await keys("permission=App"), "far,n,text,umlaut,word,yes");
    assert.equal(await keys("permission=App&value=5"), "n,text");
    assert.equal(await keys("permission=App&value=true"), "word,yes");
    assert.equal(await keys(`permission=App&value=${encodeURIComponent('ä"😀')}`), "umlaut");
    assert.equal(await keys("permission=App&modified=-1"), "");
    assert.equal(await keys("permission=App&modified=1-"), "far,n,text,umlaut,word,yes");
    const { status } = await test.call(`GET /metadata/me?value=${"x".repeat(257)}`, { token: user.token });
    assert.equal(status, 400);
  });

  it("dateOfBirth and dobRange find only the caller, because other users cannot see a date of birth", async () => {
    const save = (token: string) => test.call("PATCH /users/me", { token, body: { dateOfBirth: "1981-07-09" } });
    const other = await test.signUp();
    await save(other.token);
    assert.equal(await found("/users?dateOfBirth=1981-07-09"), 0);
    await save(user.token);
    for (const query of ["dateOfBirth=1981-07-09", "dobRange=1980-01-01-1982-01-01", "dobRange=1981-07-09-"]) {
      const { body } = await test.call(`GET /users?${query}`, { token: user.token });
      assert.deepEqual(
        body.result.pageResults.map(({ id }: { id: string }) => id),
        [user.id],
      );
    }
    assert.equal(await found("/users?dobRange=-1981-07-08"), 0);
    const { token } = await test.createOperator();
    const path = `/_/api/applications/${test.application.appid}/users`;
    assert.equal(await found(`${path}?dobRange=1981-01-01-1981-12-31`, token), 2);
    assert.equal(await found(`${path}?dateOfBirth=1981-07-10`, token), 0);
  });

  it("/users/lists is an unknown operation, not a malformed id", async () => {
    for (const operation of ["GET /users/lists", "GET /users/Lists", "PATCH /users/lists", "DELETE /users/lists"]) {
      const { status, body } = await test.call(operation, { token: user.token });
      assert.deepEqual([status, body.error], [404, "OperationNotFound"], operation);
    }
    assert.equal((await test.call("GET /users/list", { token: user.token })).status, 400);
  });
});
