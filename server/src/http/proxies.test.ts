// Runs on one engine: it tests HTTP, before any statement.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, send, startTestApp, type TestApp } from "../../test/harness.ts";

/** TRUST_PROXY and REQUIRE_HTTPS. All tests call from this machine, so its address represents that of any proxy. */

const refusal = [403, "AuthAPICallDisabledByDeveloper", 257, "Plain HTTP is disabled here. Use HTTPS."] as const;
const client = "203.0.113.9";

/** The log line of the last call. */
function lastLine(test: TestApp): Record<string, unknown> {
  return test.logLines.at(-1) ?? {};
}

// spec/transport#plain-http
describe("without TRUST_PROXY", () => {
  let test: TestApp;
  before(async () => {
    test = await startTestApp({ REQUIRE_HTTPS: "true" });
  });
  after(() => test.close());

  it("forged X-Forwarded headers change neither the address nor the protocol", async () => {
    const headers = { "x-forwarded-for": client, "x-forwarded-proto": "https" };
    assertError(await test.call("GET /service/ping", { headers }), ...refusal);
    assert.equal(lastLine(test)["address"], "127.0.0.1");
  });

  it("REQUIRE_HTTPS accepts calls from the same machine", async () => {
    const answer = await test.call("GET /service/ping");
    assertResult(answer, 200, "Pong");
    assert.equal(answer.headers["strict-transport-security"], undefined, "it came in clear");
    await test.signUp();
  });

  it("REQUIRE_HTTPS refuses calls that an untrusted proxy on the machine forwards", async () => {
    for (const name of ["x-forwarded-for", "x-forwarded-proto", "forwarded", "x-real-ip"]) {
      assertError(await test.call("GET /service/ping", { headers: { [name]: "127.0.0.1" } }), ...refusal);
    }
  });
});

// spec/transport#client-addresses, spec/transport#plain-http
describe("with a trusted proxy", () => {
  let test: TestApp;
  before(async () => {
    test = await startTestApp({
      REQUIRE_HTTPS: "true",
      TRUST_PROXY: "loopback,10.0.0.0/8",
      HSTS_MAX_AGE_SECONDS: "60",
    });
  });
  after(() => test.close());

  const through = (forwardedFor: string, protocol?: string) => ({
    "x-forwarded-for": forwardedFor,
    ...(protocol !== undefined && { "x-forwarded-proto": protocol }),
  });

  it("the client's address is the one that the proxy appends, not one that the client sends", async () => {
    for (const [forwardedFor, address] of [
      [client, client],
      [`127.0.0.1, ${client}`, client],
      [`10.0.0.1, 198.51.100.7, ${client}, 10.1.2.3`, client],
      ["nonsense", "127.0.0.1"],
      [`${client}, nonsense`, "127.0.0.1"],
      ["2001:dead::1", "2001:dead::1"],
    ] as const) {
      await test.call("GET /service/ping", { headers: through(forwardedFor, "https") });
      assert.equal(lastLine(test)["address"], address, forwardedFor);
    }
  });

  it("the items of a batch have the client's address", async () => {
    const { token } = await test.signUp();
    const body = { requests: [{ method: "GET", path: "/users/me" }] };
    await test.call("POST /batch", { token, body, headers: through(client, "https") });
    const items = test.logLines.filter(({ batch }) => batch !== undefined);
    assert.deepEqual(
      items.map(({ address }) => address),
      [client],
    );
  });

  it("a call over https is served, with Strict-Transport-Security", async () => {
    const answer = await test.call("GET /service/ping", { headers: through(client, "https") });
    assertResult(answer, 200, "Pong");
    assert.equal(answer.headers["strict-transport-security"], "max-age=60");
  });

  it("a call over plain HTTP is refused for every operation and page, with a valid token and before its body is read", async () => {
    const { token } = await test.signUp();
    for (const { method, path } of test.app.routes) {
      if (path.startsWith("/_/health/")) continue;
      const answer = await send(test.port, method, path.replaceAll(/[{}]/g, ""), { token, headers: through(client) });
      assertError(answer, ...refusal);
    }
    for (const path of [
      "/_/docs",
      "/_/openapi.json",
      "/_/openapi.operators.json",
      "/nowhere",
      "/users/me/../../nowhere",
    ]) {
      assertError(await send(test.port, "GET", path, { headers: through(client, "http") }), ...refusal);
    }
    for (const protocol of ["http", "https, http", "", "ws", "httpsx"]) {
      const answer = await test.call("GET /users/me", { token, headers: through(client, protocol) });
      assertError(answer, ...refusal);
      assert.equal(answer.headers["strict-transport-security"], undefined);
    }
    const large = await send(test.port, "POST", "/devices", { body: "x".repeat(1_048_577), headers: through(client) });
    assertError(large, ...refusal);
  });

  it("a preflight over plain HTTP is refused, because the browser would send the token next", async () => {
    const preflight = { origin: "https://app.example", "access-control-request-method": "GET" };
    const refused = await send(test.port, "OPTIONS", "/users/me", { headers: { ...through(client), ...preflight } });
    assertError(refused, ...refusal);
    const headers = { ...through(client, "https"), ...preflight };
    assert.equal((await send(test.port, "OPTIONS", "/users/me", { headers })).status, 204);
  });

  it("health is served over plain HTTP, because probes exchange no secrets", async () => {
    assertResult(await test.call("GET /_/health/live", { headers: through(client) }), 200, "live");
    assertResult(await test.call("GET /_/health/ready", { headers: through(client) }), 200, "ready");
  });

  it("a client cannot claim to be on the same machine", async () => {
    for (const forwardedFor of [`127.0.0.1, ${client}`, `::1,${client}`, `127.0.0.1,${client},10.0.0.2`]) {
      assertError(await test.call("GET /service/ping", { headers: through(forwardedFor) }), ...refusal);
    }
    for (const forwardedFor of ["nonsense", "unix:", "", "10.0.0.2"]) {
      assertError(await test.call("GET /service/ping", { headers: through(forwardedFor) }), ...refusal);
    }
    const ofTheProxyAlone = { headers: { "x-forwarded-proto": "http" } };
    assertError(await test.call("GET /service/ping", ofTheProxyAlone), ...refusal);
    assertResult(await test.call("GET /service/ping", { headers: through("127.0.0.1") }), 200, "Pong");
  });
});

describe("without REQUIRE_HTTPS", () => {
  it("calls over plain HTTP are served, without Strict-Transport-Security", async () => {
    const test = await startTestApp({ TRUST_PROXY: "loopback" });
    const answer = await test.call("GET /service/ping", { headers: { "x-forwarded-for": client } });
    assertResult(answer, 200, "Pong");
    assert.equal(answer.headers["strict-transport-security"], undefined);
    await test.close();
  });
});
