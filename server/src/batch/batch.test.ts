import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

type Item = Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: envelopes of every shape
type Envelope = any;

function post(body: unknown, token = user.token): Promise<Answer> {
  return test.call("POST /batch", { token, body });
}

/** Runs a batch, and returns its responses. */
async function run(requests: unknown, options: Item = {}, token = user.token): Promise<Envelope[]> {
  const { status, body } = await post({ requests, ...options }, token);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(Object.keys(body), ["status", "result", "request_id", "success"]);
  return body.result.responses;
}

function checkIn(comment: string, key?: string): Item {
  return { key, method: "POST", path: "/checkins", parameters: { location: "1,2", comment } };
}

async function comments(of = user): Promise<string[]> {
  const { pageResults } = (await test.call("GET /checkins?userID=me&sortOrder=created", { token: of.token })).body
    .result;
  return pageResults.map(({ comment }: { comment: string }) => comment);
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries += 1) {
    assert.ok(tries < 500, "It does not come to pass");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const names = (responses: Envelope[]) => responses.map(({ error, status }) => error ?? status);

describe("POST /batch: spec/batch#batch-requests", () => {
  it("answers 200 with the envelopes in request order, each with its key, or with its index by default", async () => {
    const responses = await run([
      checkIn("a", "first"),
      { method: "get", path: "/service/ping" },
      { key: 7, method: "GET", path: "/users/me" },
      { key: "none", method: "GET", path: "/nowhere" },
    ]);
    const [created, ping, me, none] = responses;
    const { result, request_id } = created;
    assert.deepEqual(created, { key: "first", status: 201, result, request_id, success: true });
    assert.equal(result.comment, "a");
    assert.deepEqual(ping, { key: "1", status: 200, result: "Pong", request_id: ping.request_id, success: true });
    assert.deepEqual([me.key, me.result.id], ["7", user.id]);
    assert.deepEqual([none.key, none.status, none.error, none.success], ["none", 404, "OperationNotFound", false]);
    assert.equal(new Set(responses.map((each) => each.request_id)).size, 4);
  });

  it("accepts requests as a string, in double or single quotes, and names in any case", async () => {
    const item = { KEY: "k", Method: "GET", PATH: "/service/ping", Parameters: {} };
    for (const text of [JSON.stringify([item]), JSON.stringify([item]).replaceAll('"', "'")]) {
      const { body } = await post({ REQUESTS: text });
      assert.equal(body.result.responses[0].result, "Pong", text);
    }
  });

  it("accepts every verb, the query of a path, parameters of GET and DELETE, and a path without a leading slash", async () => {
    const me = await test.signUp();
    const [first, second] = await run([checkIn("one"), checkIn("two")], {}, me.token);
    const responses = await run(
      [
        { method: "GET", path: "/checkins?pageSize=1" },
        { method: "GET", path: "checkins", parameters: { pageSize: 1, sortOrder: "created" } },
        { method: "PATCH", path: `/checkins/${first.result.id}`, parameters: { comment: "new" } },
        { method: "DELETE", path: `/checkins/${second.result.id}`, parameters: { comment: {} } },
        { method: "POST", path: "/users/me/identities/a%2Fb", parameters: { identityId: "1" } },
        { method: "DELETE", path: "/users/me/identities/a%2Fb?identityId=1" },
      ],
      {},
      me.token,
    );
    assert.deepEqual(names(responses), [200, 200, 200, 200, 200, 200]);
    assert.deepEqual(
      responses.slice(0, 3).map(({ result }) => (result.pageResults?.[0] ?? result).comment),
      ["two", "one", "new"],
    );
    assert.deepEqual(await comments(me), ["new"]);
  });

  it("independent: a failed item does not stop the others", async () => {
    const me = await test.signUp();
    const wrong = { method: "POST", path: "/checkins", parameters: { location: "91,0" } };
    const responses = await run(
      [checkIn("1"), wrong, checkIn("2"), { method: "PUT", path: "/checkins" }],
      {},
      me.token,
    );
    assert.deepEqual(names(responses), [201, "ParameterOutOfRange", 201, "OperationNotFound"]);
    assert.deepEqual(await comments(me), ["1", "2"]);
  });

  it("sequential: the batch stops at the first failure, and the other items are BatchItemNotRun 424", async () => {
    const me = await test.signUp();
    const wrong = { method: "POST", path: "/checkins", parameters: {} };
    const responses = await run([checkIn("1"), wrong, checkIn("2", "x")], { mode: "Sequential" }, me.token);
    assert.deepEqual(names(responses), [201, "ParameterMissingRequiredValue", "BatchItemNotRun"]);
    const { request_id } = responses[2];
    const message = "An earlier item of the batch failed.";
    const notRun = { status: 424, error: "BatchItemNotRun", errorNumber: 1286, message, request_id, success: false };
    assert.deepEqual(responses[2], { key: "x", ...notRun });
    assert.deepEqual(await comments(me), ["1"]);
  });

  it("atomic: all items take effect, or none does, and all except the failed one are BatchItemNotRun", async () => {
    const me = await test.signUp();
    const wrong = { method: "GET", path: `/checkins/${test.app.ids.newId("Checkin")}` };
    const failed = await run([checkIn("1"), checkIn("2"), wrong, checkIn("3")], { mode: "atomic" }, me.token);
    assert.deepEqual(names(failed), ["BatchItemNotRun", "BatchItemNotRun", "ItemDoesNotExist", "BatchItemNotRun"]);
    assert.deepEqual(await comments(me), []);
    const done = await run([checkIn("1"), checkIn("2"), checkIn("3")], { mode: "atomic" }, me.token);
    assert.deepEqual(names(done), [201, 201, 201]);
    assert.deepEqual(await comments(me), ["1", "2", "3"]);
  });

  // spec/batch#batch-items
  it("an item reads the effects of the items before it, in every mode", async () => {
    for (const mode of ["independent", "sequential", "atomic"]) {
      const me = await test.signUp();
      const list = { method: "GET", path: "/checkins" };
      const patch = { method: "PATCH", path: "/users/{{me.result.id}}", parameters: { firstName: mode } };
      const whole = [checkIn("1"), list, { key: "me", method: "GET", path: "/users/me" }, patch];
      const responses = await run(
        [...whole, { method: "GET", path: "/users/me" }],
        { mode, references: true },
        me.token,
      );
      assert.deepEqual(names(responses), [201, 200, 200, 200, 200], mode);
      assert.equal(responses[1].result.pageResults.length, 1);
      assert.equal(responses[4].result.firstName, mode);
    }
  });

  it("sign-ups and logins, which hash passwords, work in every mode", async () => {
    for (const mode of ["independent", "sequential", "atomic"]) {
      const signUp = (name: string) => ({
        key: name,
        method: "POST",
        path: "/users",
        parameters: { username: `${mode} ${name}`, password: "pass word" },
      });
      const logIn = (name: string) => ({ ...signUp(name), key: `login ${name}`, path: "/users/login" });
      const responses = await run([signUp("a"), checkIn("x"), signUp("b"), logIn("a"), logIn("b")], { mode });
      assert.deepEqual(names(responses), [200, 201, 200, 200, 200], mode);
      const { accessToken } = responses[3].result;
      assert.equal((await test.call("GET /users/me", { token: accessToken })).body.result.userName, `${mode} a`);
      const wrong = { ...logIn("a"), parameters: { username: `${mode} a`, password: "wrong" } };
      assert.deepEqual(names(await run([signUp("a"), wrong], {})), ["ItemAlreadyExists", "AuthBadUsernameOrPassword"]);
    }
  });

  it("a token that an item revokes is invalid for the items after it", async () => {
    for (const mode of ["independent", "sequential"]) {
      const me = await test.signUp();
      const out = { method: "POST", path: "/users/me/logout" };
      const responses = await run([checkIn("1"), out, checkIn("2")], { mode }, me.token);
      assert.deepEqual(names(responses), [201, 200, "AuthAccessTokenInvalid"]);
      assert.equal((await test.call("GET /users/me", { token: me.token })).status, 401);
    }
    const me = await test.signUp();
    const out = { method: "POST", path: "/users/me/logout" };
    const responses = await run([out, checkIn("2")], { mode: "atomic" }, me.token);
    assert.deepEqual(names(responses), ["BatchItemNotRun", "AuthAccessTokenInvalid"]);
    assert.equal((await test.call("GET /users/me", { token: me.token })).status, 200, "it was undone");
  });

  it("a device token may run the operations that accept one, and each item is checked", async () => {
    const responses = await run([{ method: "GET", path: "/devices/current" }, checkIn("1")], {}, user.deviceToken);
    assert.deepEqual(names(responses), [200, "AuthUserAccessTokenRequired"]);
  });

  it("a mail is sent after the commit of the batch, and never if the batch is rolled back", async () => {
    const me = await test.signUp();
    await test.call("PATCH /users/me", { token: me.token, body: { email: "me@example.org" } });
    const mails = () => readdir(join(test.config.dataDir, "mail")).catch((): string[] => []);
    const parameters = { userName: me.userName, subject: "Your code", body: "@ResetCode" };
    const ask = { method: "POST", path: "/users/password", parameters };
    const before = (await mails()).length;
    await run([checkIn("x"), ask, { method: "GET", path: "/nowhere" }], { mode: "atomic" }, me.token);
    await run([ask, checkIn("x"), { method: "GET", path: "/nowhere" }], { mode: "atomic" }, me.token);
    await run([checkIn("x"), ask], { mode: "atomic" }, me.token);
    await waitUntil(async () => (await mails()).length >= before + 1);
    test.advance(60_000); // a younger code would not be replaced
    await run([checkIn("x"), ask], {}, me.token);
    await waitUntil(async () => (await mails()).length >= before + 2);
    assert.equal((await mails()).length, before + 2);
  });

  it("prefers the documented spelling of two members that differ in case, and treats null as absent", async () => {
    const ping = { method: "GET", path: "/service/ping" };
    const responses = await run([
      { key: "a", Key: "b", ...ping },
      { Key: "b", key: "a", ...ping },
      { key: "a", KEY: null, ...ping },
      { KEY: "a", Key: "b", ...ping },
      { key: "", ...ping },
      { key: null, ...ping },
    ]);
    assert.deepEqual(
      responses.map(({ key }) => key),
      ["a", "a", "a", "b", "4", "5"],
    );
  });

  it("several items with one key each have a response, and a reference means the latest earlier item", async () => {
    const requests = [checkIn("1", "k"), checkIn("2", "k"), checkIn("after {{k.result.comment}}", "k")];
    const responses = await run(requests, { references: true });
    assert.deepEqual(
      responses.map(({ key, result }) => [key, result.comment]),
      [
        ["k", "1"],
        ["k", "2"],
        ["k", "after 2"],
      ],
    );
  });

  it("each item is logged like a call, with the id of its batch, and without secrets", async () => {
    const from = test.logLines.length;
    const password = "a secret password";
    const parameters = { username: "nobody at all", password };
    const requests = [
      { method: "POST", path: "/users/login?x=secret", parameters },
      { method: "PUT", path: "/x" },
    ];
    const { body } = await post({ requests });
    const lines = test.logLines.slice(from);
    const [login, nowhere] = lines.filter(({ batch }) => batch === body.request_id);
    assert.deepEqual(
      [login?.["path"], login?.["operation"], login?.["status"], login?.["error"], login?.["user"]],
      ["/users/login", "loginUser", 403, "AuthBadUsernameOrPassword", user.id],
    );
    assert.deepEqual([nowhere?.["path"], nowhere?.["status"]], ["/x", 404]);
    assert.ok(!JSON.stringify(lines).includes("secret"));
  });

  it("a wrong password of a user that the same batch creates fails only its item", async () => {
    const parameters = { username: "of this batch", password: "a password" };
    const requests = [
      { method: "POST", path: "/users", parameters },
      { method: "POST", path: "/users/login", parameters: { ...parameters, password: "another" } },
    ];
    for (const mode of ["atomic", "independent"]) {
      const responses = await run(requests, { mode });
      const expected =
        mode === "atomic" ? ["BatchItemNotRun", "AuthBadUsernameOrPassword"] : [undefined, "AuthBadUsernameOrPassword"];
      assert.deepEqual(
        responses.map(({ error }) => error),
        expected,
        mode,
      );
    }
  });

  it("an atomic batch does not give a wrong reset code another attempt", async () => {
    const me = await test.signUp();
    const digest = "0".repeat(64);
    const code = {
      application_id: test.application.appid,
      user_id: me.id,
      digest,
      tries_left: 5,
      expires_at: test.now() + 1e6,
    };
    await test.app.database.write(({ queries }) => queries.insertInto("password_resets").values(code).execute());
    const guess = (n: number) => ({
      method: "PATCH",
      path: "/users/password",
      parameters: { userName: me.userName, resetCode: `guess ${n}`, newPassword: "mine now" },
    });
    const guesses = Array.from({ length: 3 }, (_, n) => guess(n));
    for (const mode of ["atomic", "independent"]) await run([checkIn("x"), ...guesses], { mode });
    const rows = test.app.database.reads
      .selectFrom("password_resets")
      .select("tries_left")
      .where("user_id", "=", me.id);
    assert.equal((await rows.executeTakeFirst())?.tries_left, 1);
  });
});

// spec/batch#references
describe("references: true", () => {
  const refer = (path: string, parameters?: unknown, options: Item = { references: true }) =>
    run([checkIn("it's \\{{ me", "a.b"), { key: "last", method: "PATCH", path, parameters }], options);

  it("a string that is one reference becomes the value with its type, and a reference in a longer string is inserted", async () => {
    const responses = await run(
      [
        checkIn("first", "one"),
        {
          key: "two",
          method: "POST",
          path: "/checkins",
          parameters: { location: "{{one.result.location}}", comment: "{{one.status}} and {{ one.result.comment }}" },
        },
        { method: "GET", path: "/checkins", parameters: { pageSize: 1 }, key: "list" },
        { method: "GET", path: "/checkins/{{list.result.pageResults.0.id}}?x={{one.result.comment}}" },
      ],
      { references: true },
    );
    assert.deepEqual(names(responses), [201, 201, 200, 200]);
    assert.deepEqual(responses[1].result.location, { lat: 1, lng: 2 });
    assert.equal(responses[1].result.comment, "201 and first");
    assert.equal(responses[3].result.id, responses[1].result.id);
  });

  it("a literal {{ is written \\{{, keys may contain dots, and braces are literal unless references is set", async () => {
    const id = "{{a.b.result.id}}";
    const [, changed] = await refer(`/checkins/${id}`, { comment: "\\{{a.b.result.id}} {{a.b.result.comment}}" });
    assert.equal(changed.result.comment, "{{a.b.result.id}} it's {{ me");
    const [created] = await run([checkIn(id)]);
    assert.equal(created.result.comment, id);
    assert.equal((await run([checkIn("\\{{")], { references: false }))[0].result.comment, "\\{{");
  });

  it("a lone surrogate from a value is refused in a path, and treated in a string as if the client had sent it", async () => {
    const half = "{{read.result.value}}";
    const responses = await run(
      [
        { method: "PUT", path: "/metadata/me/half", parameters: { value: "\ud800" } },
        { key: "read", method: "GET", path: "/metadata/me/half" },
        { method: "GET", path: `/metadata/me/${half}` },
        { method: "GET", path: `/checkins?comment=${half}` },
        checkIn(half),
      ],
      { references: true },
    );
    assert.deepEqual(names(responses), [201, 200, "BatchItemNotRun", "BatchItemNotRun", "ParameterIncorrectFormat"]);
  });

  it("names like __proto__ are ordinary members in items with references (hostile.md 15)", async () => {
    const parameters = JSON.parse('{"value":{"__proto__":{"a":"{{ping.result}}"},"constructor":"{{ping.status}}"}}');
    const [, , read] = await run(
      [
        { key: "ping", method: "GET", path: "/service/ping" },
        { method: "PUT", path: "/metadata/me/names", parameters },
        { method: "GET", path: "/metadata/me/names" },
      ],
      { references: true },
    );
    assert.equal(JSON.stringify(read.result.value), '{"__proto__":{"a":"Pong"},"constructor":200}');
  });

  it("a value that is inserted into a path remains one segment", async () => {
    const responses = await run(
      [
        { key: "me", method: "PATCH", path: "/users/me", parameters: { firstName: "../users/me?x" } },
        { method: "GET", path: "/users/me/identities/{{me.result.firstName}}" },
      ],
      { references: true },
    );
    assert.deepEqual(responses[1].result?.pageResults, []);
  });

  it("a reference to an unknown, later, failed or the same item, a malformed one, or a non-scalar in a string is BatchItemNotRun", async () => {
    for (const comment of [
      "{{",
      "{{}}",
      "{{a.b",
      "{{nobody.result.id}}",
      "{{last.result.id}}",
      "{{a.b.result.nothing}}",
      "{{a.b.result.constructor}}",
      "{{a.b.result.id.length}}",
      "{{a.b.__proto__}}",
      "{{a.b}}",
      "x {{a.b.result.location}}",
      `{{${"a.".repeat(400_000)}}}`,
    ]) {
      const [, refused] = await refer("/checkins/{{a.b.result.id}}", { comment });
      assert.deepEqual([refused.status, refused.error, refused.errorNumber], [424, "BatchItemNotRun", 1286], comment);
    }
    const failed = await run(
      [{ key: "f", method: "GET", path: "/nowhere" }, checkIn("{{f.status}}"), checkIn("{{3.status}}"), checkIn("ok")],
      { references: true },
    );
    assert.deepEqual(names(failed), ["OperationNotFound", "BatchItemNotRun", "BatchItemNotRun", 201]);
  });
});

describe("a batch that is refused, completely or by item: hostile.md 14, 15, 17, 28, 29", () => {
  // spec/batch#batch-items
  it("a nested batch, in any spelling, is OperationNotFound, like an unknown path", async () => {
    const inner = { requests: [checkIn("inner")] };
    const paths = ["/batch", "batch", "//batch/", "/batch?x", "/%62atch", "/b%61tch/"];
    const requests = paths.map((path) => ({ method: "pOST ", path, parameters: inner }));
    const others = ["HEAD", "OPTIONS", "TRACE", "BREW", "GET"].map((method) => ({ method, path: "/batch" }));
    const before = await comments();
    for (const response of await run([...requests, ...others])) {
      assert.deepEqual([response.status, response.error], [404, "OperationNotFound"]);
    }
    assert.deepEqual(await comments(), before);
  });

  it("a batch without requests, with more than 200, or with requests that are not an array gets 400", async () => {
    assertError(await post({ requests: [] }), 400, "ParameterOutOfRange", 514, "requests must have at least 1 item.");
    const many = Array(201).fill(checkIn("many"));
    assertError(await post({ requests: many }), 413, "RequestTooLarge", 1281, "requests must have at most 200 items.");
    for (const requests of [undefined, null, ""]) {
      assertError(await post({ requests }), 400, "ParameterMissingRequiredValue", 513, "requests is required.");
    }
    for (const requests of [{}, 7, true, "x", "[", "{}", "'"]) {
      assertError(await post({ requests }), 400, "ParameterIncorrectFormat", 515, "requests must be an array.");
    }
    assert.ok(!(await comments()).includes("many"));
    assert.equal((await run(Array(200).fill({ method: "GET", path: "/service/ping" }))).length, 200);
  });

  it("an invalid item is refused separately, with its key if it has one", async () => {
    const responses = await run([
      null,
      [],
      "x",
      {},
      { key: "k", method: "GET" },
      { key: "p", method: "GET", path: "/service/ping", parameters: [] },
      { key: {}, method: "GET", path: "/service/ping" },
      { key: "m", method: {}, path: "/service/ping" },
      { key: "ok", method: "GET", path: "/service/ping", parameters: null, more: 1 },
    ]);
    assert.deepEqual(
      responses.map(({ key, error, status }) => [key, error ?? status]),
      [
        ["0", "ParameterIncorrectFormat"],
        ["1", "ParameterIncorrectFormat"],
        ["2", "ParameterIncorrectFormat"],
        ["3", "ParameterMissingRequiredValue"],
        ["k", "ParameterMissingRequiredValue"],
        ["p", "ParameterIncorrectFormat"],
        ["6", "ParameterIncorrectFormat"],
        ["m", "ParameterIncorrectFormat"],
        ["ok", 200],
      ],
    );
  });

  it("hostile names, strings and depths are stored or refused, and never cause an internal error", async () => {
    const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const item = `{"method":"POST","path":"/checkins","parameters":{"location":"1,2","comment":${nested}}}`;
    for (const options of ["", ',"references":true', ',"mode":"atomic"']) {
      const body = `{"requests":[${item},{"key":"__proto__","method":"GET","path":"/service/ping"}]${options}}`;
      const answer = await test.call("POST /batch", { token: user.token, body });
      assert.equal(answer.status, 200);
      assert.ok([400, 424].includes(answer.body.result.responses[0].status), answer.text.slice(0, 300));
    }
    const keyed = `{"requests":[${item.replace("{", '{"idempotencyKey":"deep",')}]}`;
    const [deep] = (await test.call("POST /batch", { token: user.token, body: keyed })).body.result.responses;
    assert.equal(deep.status, 400);
    const path = `/checkins/${"x".repeat(20_000)}`;
    const odd = [
      "/checkins/%ff",
      "/%00",
      "/../users/me",
      "/checkins/..%2f..%2fusers",
      path,
      "/checkins/%2e%2e",
      "/\uD800",
    ];
    for (const [index, { status }] of (await run(odd.map((path) => ({ method: "GET", path })))).entries()) {
      assert.ok([400, 404, 413].includes(status), `${odd[index]?.slice(0, 30)} ${status}`);
    }
  });

  it("an item for another user's object is refused like a separate call", async () => {
    const [mine] = await run([checkIn("mine")]);
    const other = await test.signUp();
    const stranger = await test.signUp("Stranger", await test.createApplication());
    for (const { token } of [other, stranger]) {
      const requests = ["GET", "PATCH", "DELETE"].map((method) => ({ method, path: `/checkins/${mine.result.id}` }));
      assert.deepEqual(names(await run(requests, {}, token)), Array(3).fill("ItemDoesNotExist"));
    }
  });

  // spec/batch#batch-limits
  it("no further item is run after the responses exceed BATCH_REPLY_BYTES_MAX", async (t) => {
    const small = await startTestApp({ BATCH_REPLY_BYTES_MAX: "1500", BATCH_ITEMS_MAX: "5" });
    t.after(() => small.close());
    const { token } = await small.signUp();
    const long = { method: "POST", path: "/checkins", parameters: { location: "1,2", comment: "x".repeat(900) } };
    const { responses } = (await small.call("POST /batch", { token, body: { requests: [long, long] } })).body.result;
    assert.deepEqual(names(responses), [201, 201]);
    const three = (await small.call("POST /batch", { token, body: { requests: [long, long, long] } })).body.result;
    assert.deepEqual(names(three.responses), [201, 201, "RequestTooLarge"]);
    const { pageResults } = (await small.call("GET /checkins", { token })).body.result;
    assert.equal(pageResults.length, 4);
    const six = await small.call("POST /batch", { token, body: { requests: Array(6).fill(long) } });
    assertError(six, 413, "RequestTooLarge", 1281, "requests must have at most 5 items.");
  });
});
