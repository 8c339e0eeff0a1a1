// Runs on one engine: it tests HTTP, before any statement.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, openRaw, send, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

/** Sends raw bytes and returns the first response. */
async function exchange(bytes: string) {
  const connection = openRaw(test.port);
  connection.write(bytes);
  const answer = await connection.receive();
  connection.close();
  assert.ok(answer !== undefined, "the server closed without an answer");
  return answer;
}

const tooLongHead = `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe("every response: spec/transport#envelope", () => {
  it("is an envelope of exactly application/json, on success and on every kind of error", async () => {
    const answers = [
      await test.call("GET /service/ping"),
      await test.call("POST /devices", { body: { ...test.application, platform: "test" } }),
      await test.call("GET /nowhere"),
      await test.call("GET /users/me"),
      await test.call("POST /devices", { body: "{" }),
      await test.call("POST /devices", { body: "x".repeat(1_048_577) }),
      await test.call("GET /users/identities/%zz/1"),
      await exchange(tooLongHead),
      await exchange("GET / HTTP/9.9\r\n\r\n"),
      await exchange("NONSENSE\r\n\r\n"),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 201, 404, 401, 400, 413, 400, 413, 400, 404],
    );
    for (const { headers, body, status } of answers) {
      assert.equal(headers["content-type"], "application/json");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.equal(body.status, status);
      assert.match(body.request_id, /^[\w-]+$/);
      assert.equal(body.success, status < 400);
    }
  });

  // spec/transport#caching
  it("is not cacheable, with or without tokens in it", async () => {
    const { token, deviceToken, userName, password } = await test.signUp();
    const operator = await test.createOperator();
    const credentials = { username: userName, password };
    const login = { method: "POST", path: "/users/login", parameters: credentials };
    const headers = { "idempotency-key": "no store" };
    const answers = [
      await test.call("POST /devices", { body: { ...test.application, platform: "test" } }),
      await test.call("POST /users", { token: deviceToken, body: { username: "No Store", password } }),
      await test.call("POST /users/login", { token: deviceToken, body: credentials, headers }),
      await test.call("POST /users/login", { token: deviceToken, body: credentials, headers }),
      await test.call("POST /batch", { token: deviceToken, body: { requests: [login] } }),
      await test.call("GET /users/me", { token }),
      await test.call("POST /users/me/logout", { token }),
      await test.call("GET /users/me", { token }),
      await test.call("GET /nowhere"),
      await test.call("GET /_/api/applications", { token: operator.token }),
    ];
    const expected = answers.map(({ status }) => [status, "no-store"]);
    assert.deepEqual(
      answers.map(({ status, headers: sent }) => [status, sent["cache-control"]]),
      expected,
    );
    assert.equal(answers[3]?.headers["idempotent-replayed"], "true");
  });

  it("has a unique request_id", async () => {
    const ids = new Set<string>();
    for (let n = 0; n < 100; n += 1) ids.add((await test.call("GET /service/ping")).body.request_id);
    assert.equal(ids.size, 100);
  });

  it("is an envelope even for a request without Host, which Node.js would answer itself", async () => {
    const answer = await exchange("GET /service/ping HTTP/1.1\r\n\r\n");
    assert.deepEqual([answer.status, answer.body?.error], [400, "ParameterIncorrectFormat"]);
  });

  it("is an envelope even for an unknown expectation, which Node.js would answer itself", async () => {
    const answer = await exchange("GET /service/ping HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\n\r\n");
    assert.deepEqual([answer.status, answer.body?.error], [400, "ParameterIncorrectFormat"]);
  });

  it("is preceded by 100 Continue for clients that wait for it", async () => {
    const connection = openRaw(test.port);
    connection.write("POST /devices HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert.equal((await connection.receive())?.status, 100);
    connection.write("{}");
    assert.equal((await connection.receive())?.body.error, "ParameterMissingRequiredValue");
    connection.close();
  });

  it("is an envelope even for CONNECT, for which Node.js would close the connection", async () => {
    const answer = await exchange("CONNECT example.org:80 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert.deepEqual([answer.status, answer.body?.error], [404, "OperationNotFound"]);
  });

  it("is sent over HTTP/1.1 to a request for an upgrade", async () => {
    const head = "GET /service/ping HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    assertResult(await exchange(head), 200, "Pong");
  });
});

describe("paths and verbs: spec/transport#paths-and-verbs", () => {
  const notFound = [404, "OperationNotFound", 516, "There is no such operation."] as const;

  it("an unknown path gets 404 OperationNotFound, with a valid token, an invalid one or none", async () => {
    const { token } = await test.signUp();
    for (const path of ["/nowhere", "/users/me/nowhere", "/v1/users/me", "/_/nowhere", "/Users/me"]) {
      assertError(await test.call(`GET ${path}`), ...notFound);
      assertError(await test.call(`POST ${path}`, { token: "forged", body: "{" }), ...notFound);
      assertError(await test.call(`DELETE ${path}`, { token }), ...notFound);
    }
  });

  it("every verb that a path does not declare gets 404 OperationNotFound, including unknown verbs", async () => {
    const verbs = ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "LOCK", "QUERY", "MKCOL"];
    for (const { path } of test.app.routes) {
      const declared = test.app.routes.filter((route) => overlap(route.path, path)).map(({ method }) => `${method}`);
      for (const verb of verbs.filter((verb) => !declared.includes(verb))) {
        assertError(await send(test.port, verb, path.replaceAll(/[{}]/g, "")), ...notFound);
      }
    }
    for (const verb of ["FOO", "get", "G3T"]) {
      assertError(await exchange(`${verb} /service/ping HTTP/1.1\r\nHost: a\r\n\r\n`), ...notFound);
    }
  });

  // spec/transport#head-and-options
  it("HEAD works wherever GET does, with the same status and headers and no body", async () => {
    const { token } = await test.signUp();
    const operator = await test.createOperator();
    const isOpenEnded = ({ path }: { readonly path: string }) => path.endsWith("/stream");
    const gets = test.app.routes.filter((route) => route.method === "GET" && !isOpenEnded(route));
    assert.ok(gets.length > 30);
    const paths = gets.map(({ path }) => path.replaceAll(/[{}]/g, "").replace("/users/userId", "/users/me"));
    for (const path of [...paths, "/_/docs", "/_/openapi.json", "/_/openapi.operators.json"]) {
      const options = { token: path.startsWith("/_/api/") ? operator.token : token };
      const [get, head] = [await send(test.port, "GET", path, options), await send(test.port, "HEAD", path, options)];
      const ofEvery = ({ date, "content-length": _length, ...headers }: typeof get.headers) => headers;
      assert.deepEqual([head.status, head.text], [get.status, ""], path);
      assert.deepEqual(ofEvery(head.headers), ofEvery(get.headers), path);
    }
    const [get, head] = [await send(test.port, "GET", "/_/"), await send(test.port, "HEAD", "/_/")];
    assert.ok(
      Math.abs(Number(head.headers["content-length"]) - get.text.length) < 20,
      "the length is that of the body",
    );
    const stream = await send(test.port, "HEAD", "/events/stream", { token });
    assert.deepEqual([stream.status, stream.headers["content-type"], stream.text], [200, "text/event-stream", ""]);
    assert.equal((await send(test.port, "HEAD", "/batch")).status, 404);
  });

  it("trailing and duplicate slashes are ignored, unless they are escaped", async () => {
    const { token, id } = await test.signUp();
    for (const path of [
      "/users/me/",
      "//users/me",
      "/users//me",
      "///users///me///",
      "/users/me/?x=1",
      "/users/me?/",
    ]) {
      assert.equal((await test.call(`GET ${path}`, { token })).body.result?.id, id, path);
    }
    for (const path of ["/users%2Fme", "/users%2F%2Fme"]) {
      assertError(await test.call(`GET ${path}`, { token }), ...notFound);
    }
    const noId = await test.call("GET /users/me%2F", { token });
    assertError(noId, 400, "ParameterIncorrectFormat", 515, "userId must be an id.");
  });

  it("the request target may be an absolute URL", async () => {
    const answer = await exchange("GET http://example.org/service/ping HTTP/1.1\r\nHost: example.org\r\n\r\n");
    assertResult(answer, 200, "Pong");
  });

  it("a path whose escapes are not UTF-8 gets 400 ParameterIncorrectFormat", async () => {
    for (const path of ["/%zz", "/users/identities/%ff/1", "/users/identities/a/%c3%28", "/users/me/%"]) {
      const answer = await send(test.port, "GET", path);
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "The path is not valid UTF-8.");
    }
  });

  it("GET /service/ping returns Pong with a valid token, an invalid one or none", async () => {
    const tokens = [
      {},
      { token: await test.registerDevice() },
      { token: "forged" },
      { headers: { authorization: "" } },
    ];
    for (const options of tokens) assertResult(await test.call("GET /service/ping", options), 200, "Pong");
  });
});

describe("CORS: spec/transport#cors", () => {
  it("the preflight of every operation gets 204, without a token", async () => {
    for (const { method, path } of test.app.routes) {
      const headers = {
        origin: "https://app.example",
        "access-control-request-method": method,
        "access-control-request-headers": "authorization,content-type,idempotency-key",
      };
      const answer = await send(test.port, "OPTIONS", path.replaceAll(/[{}]/g, ""), { headers });
      assert.deepEqual([answer.status, answer.text], [204, ""], path);
      assert.equal(answer.headers["access-control-allow-origin"], "*");
      assert.ok(`${answer.headers["access-control-allow-methods"]}`.split(", ").includes(method));
      assert.equal(answer.headers["access-control-allow-headers"], headers["access-control-request-headers"]);
      assert.equal(answer.headers["access-control-allow-credentials"], undefined, "there are no cookies");
    }
  });

  // spec/transport#head-and-options
  it("an OPTIONS request that is not a preflight gets 404 OperationNotFound", async () => {
    for (const path of ["/users/me", "/checkins", "/service/ping", "/nowhere", "/_/docs", "*"]) {
      for (const headers of [{}, { "access-control-request-headers": "x" }]) {
        const answer = await send(test.port, "OPTIONS", path, { headers });
        assertError(answer, 404, "OperationNotFound", 516, "There is no such operation.");
      }
    }
  });

  it("any origin may read every response, including errors", async () => {
    const headers = { origin: "https://app.example" };
    const answers = {
      success: await test.call("GET /service/ping", { headers }),
      "no token": await test.call("GET /users/me", { headers }),
      "no such path": await test.call("GET /nowhere", { headers }),
      "bad body": await test.call("POST /devices", { headers, body: "{" }),
      "large body": await test.call("POST /devices", { headers, body: "x".repeat(1_048_577) }),
      "bad path": await test.call("GET /%zz", { headers }),
      "long head": await exchange(tooLongHead),
    };
    const exposed = `${answers.success.headers["access-control-expose-headers"]}`.split(", ");
    for (const name of ["Retry-After", "RateLimit", "RateLimit-Policy", "ETag"])
      assert.ok(exposed.includes(name), name);
    const origins = Object.entries(answers).map(([name, answer]) => [
      name,
      answer.headers["access-control-allow-origin"],
    ]);
    assert.deepEqual(Object.fromEntries(origins), Object.fromEntries(Object.keys(answers).map((name) => [name, "*"])));
  });
});

describe("shutting down (hostile.md 34)", () => {
  it("requests in flight finish, the next one is refused with Connection: close, and then the port is closed", async () => {
    const app = await startTestApp();
    const body = JSON.stringify({ ...app.application, platform: "test" });
    const head = `POST /devices HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`;
    const connection = openRaw(app.port);
    connection.write(head + body.slice(0, 10));
    await app.call("GET /service/ping"); // by now the server has seen the request above

    const closed = app.app.close(10_000);
    connection.write(`${body.slice(10)}GET /_/health/ready HTTP/1.1\r\nHost: a\r\n\r\n`);
    const [finished, refused] = [await connection.receive(), await connection.receive()];
    assert.equal(finished?.status, 201);
    assert.ok(refused);
    assertError(refused, 503, "ServiceUnavailable", 1284, "The server is shutting down.");
    assert.equal(refused.headers["connection"], "close");
    assert.equal(refused.headers["retry-after"], "1");
    assert.equal(await connection.receive(), undefined);
    await closed;
    await assert.rejects(send(app.port, "GET", "/service/ping"), { code: "ECONNREFUSED" });
    await app.close();
  });

  it("requests that do not finish within the grace period are aborted", async () => {
    const app = await startTestApp();
    const connection = openRaw(app.port);
    connection.write("POST /devices HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{");
    await app.call("GET /service/ping");
    const [answer] = await Promise.all([connection.receive(), app.app.close(50)]);
    assert.equal(answer, undefined);
    await app.close();
  });
});

/** Whether a path could match both patterns. */
function overlap(a: string, b: string): boolean {
  const [left, right] = [a.split("/"), b.split("/")];
  return (
    left.length === right.length && left.every((part, n) => part === right[n] || /\{/.test(part + (right[n] ?? "")))
  );
}
