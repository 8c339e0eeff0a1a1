import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { processorTime } from "../../test/processor-time.ts";

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

async function run(requests: unknown, options: Item = {}, app = test, token = user.token): Promise<Envelope[]> {
  const { status, body } = await app.call("POST /batch", { token, body: { requests, ...options } });
  assert.equal(status, 200, JSON.stringify(body));
  return body.result.responses;
}

const names = (responses: Envelope[]) => responses.map(({ error, status }) => error ?? status);

describe("expensive references", () => {
  const references = { references: true };

  it("a body full of unterminated references is refused in linear time", { timeout: 20_000 }, async () => {
    const braces = "{{".repeat(250_000);
    const taken = processorTime();
    for (const item of [
      { method: "POST", path: "/checkins", parameters: { location: "1,2", comment: braces } },
      { method: "GET", path: `/users/${braces}` },
      { method: "POST", path: "/checkins", parameters: { location: "1,2", comment: "\\{{".repeat(100_000) + braces } },
    ]) {
      assert.deepEqual(names(await run([item], references)), ["BatchItemNotRun"]);
    }
    assert.ok(taken() < 5_000);
  });

  // spec/batch#batch-limits
  it("an item cannot exceed the body limit by references: RequestTooLarge", async () => {
    const comment = "x".repeat(2_000);
    const first = { key: "a", method: "POST", path: "/checkins", parameters: { location: "1,2", comment } };
    const of = (parameters: unknown, path = "/checkins") => [first, { method: "POST", path, parameters }];
    const text = "{{a.result.comment}}".repeat(10_000);
    const objects = Array.from({ length: 10_000 }, () => "{{a.result}}");
    const texts = Array.from({ length: 10_000 }, () => "{{a.result.comment}}");
    for (const requests of [
      of({ location: "1,2", comment: text }),
      of({ unknown: objects }),
      of({ unknown: { texts } }),
      of({ a: text.slice(0, 8_000), b: text.slice(0, 8_000) }),
      of({}, `/checkins/${text}`),
    ]) {
      assert.deepEqual(names(await run(requests, references)), [201, "RequestTooLarge"]);
    }
    const fits = of({ location: "1,2", unknown: objects.slice(0, 100), comment: "{{a.result.id}}" });
    assert.deepEqual(names(await run(fits, references)), [201, 201]);
  });
});

describe("a batch item behaves like a separate call", () => {
  it("a long number that becomes a string has all digits, even if requests is a string", async () => {
    const username = "12345678901234567890123";
    const json = `[{"method":"POST","path":"/users","parameters":{"username":${username},"password":"pass word"}}]`;
    for (const requests of [json, JSON.stringify(json), JSON.stringify(json.replaceAll('"', "'"))]) {
      const { body } = await test.call("POST /batch", { token: user.token, body: `{"requests":${requests}}` });
      const [{ result, error }] = body.result.responses;
      assert.ok(result?.userName === username || error === "ItemAlreadyExists", JSON.stringify(result));
    }
  });

  it("an atomic batch of more sign-ups than the hash queue holds does not overload itself", async (t) => {
    const small = await startTestApp({ PASSWORD_HASH_THREADS: "1", PASSWORD_HASH_QUEUE_MAX: "2" });
    t.after(() => small.close());
    const { token } = await small.signUp();
    const signUps = Array.from({ length: 12 }, (_, n) => ({
      method: "POST",
      path: "/users",
      parameters: { username: `batched ${n}`, password: "pass word" },
    }));
    const first = { method: "POST", path: "/checkins", parameters: { location: "1,2" } };
    const responses = await run([first, ...signUps], { mode: "atomic" }, small, token);
    assert.deepEqual(new Set(names(responses)), new Set([200, 201]));
  });

  it("a very long path is truncated in the log", async () => {
    const { length } = test.logLines;
    const path = `/${"x".repeat(900_000)}`;
    assert.deepEqual(names(await run([{ method: "GET", path }])), ["RequestTooLarge"]);
    assert.ok(test.logLines.slice(length).every((line) => JSON.stringify(line).length < 20_000));
  });

  it("the path of an item and the path of a request are parsed identically", async () => {
    const paths = [
      "/users/me/",
      "//users//me",
      "/users/./me",
      "/users/../users/me",
      "/users/%2e%2e/me",
      "/users/me%2f",
      "/users%2fme",
      "/USERS/me",
      "/users/me;x=1",
      "/users/%6de",
      "/users/%256de",
      "/users/%00",
      "/users/%ff",
      "/users/me?pageSize=a",
      "/users/me%3fx",
      "/users/me?%ff=%ff",
      "/users?userName=%ff",
      "/users?userName=%00",
      "/checkins?pageSize=0",
      "/checkins?PAGESIZE=1&pageSize=1&pagesize=x",
      "/checkins?pageSize",
      "/checkins?pageSize=1&pageSize=2",
      "/checkins?%70ageSize=1",
      "/users/\u2215me",
      "/_/health",
    ];
    // Paging tokens always differ, because each is sealed with its own nonce.
    const shape = (envelope: Envelope) =>
      JSON.parse(JSON.stringify(envelope), (name, value) => (/^key$|request_id|Token$/.test(name) ? undefined : value));
    const responses = await run(paths.map((path) => ({ method: "GET", path })));
    for (const [index, path] of paths.entries()) {
      const alone = await test.call(`GET ${encodeURI(decodeURI(path.replaceAll("%", "%25"))).replaceAll("%25", "%")}`, {
        token: user.token,
      });
      assert.deepEqual(shape(responses[index]), shape(alone.body), path);
    }
  });

  it("the landing page is not an operation, so an item cannot request it", async () => {
    assert.deepEqual(names(await run([{ method: "GET", path: "/" }])), ["OperationNotFound"]);
  });
});

// spec/batch#modes
describe("batches that write the same rows in opposite orders", () => {
  const modes = ["independent", "sequential", "atomic"];
  for (const [name, mode, isKeyed] of [
    ...modes.map((mode) => [mode, mode, false] as const),
    ...modes.map((mode) => [`${mode}, with a key`, mode, true] as const),
  ]) {
    it(`all succeed (${name})`, { timeout: 60_000 }, async () => {
      const me = await test.signUp();
      const at = { location: "1,2" };
      const created = await Promise.all(
        Array.from({ length: 4 }, () => test.call("POST /checkins", { token: me.token, body: at })),
      );
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) => {
          const requests = created.map(({ body }) => ({
            method: "PATCH",
            path: `/checkins/${body.result.id}`,
            parameters: { comment: `of ${index}` },
          }));
          return test.call("POST /batch", {
            token: me.token,
            body: { mode, requests: index % 2 === 0 ? requests : requests.toReversed() },
            ...(isKeyed && { headers: { "idempotency-key": `${mode} ${index}` } }),
          });
        }),
      );
      const all = answers.flatMap(({ body }) => names(body.result?.responses ?? [body]));
      assert.deepEqual(all, Array(32).fill(200));
      if (mode !== "atomic" && !isKeyed) return;
      const list = await test.call("GET /checkins?userID=me", { token: me.token });
      const comments = list.body.result.pageResults.map(({ comment }: { comment: string }) => comment);
      assert.equal(new Set(comments).size, 1, "they came one after the other");
    });
  }
});
