import assert from "node:assert/strict";
import { connect } from "node:net";
import { afterEach, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { type CollectedSpan, type OtlpCollector, startOtlpCollector } from "../../test/otlp-collector.ts";
import { scrape } from "../../test/scrapes.ts";
import { dataPart, upload } from "../../test/uploads.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const parentId = "b7ad6b7169203331";

// spec/deployment#traces
describe("OTEL_EXPORTER_OTLP_ENDPOINT", () => {
  const open: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
  });

  async function start(
    settings: Readonly<Record<string, string>> = {},
  ): Promise<{ app: TestApp; collector: OtlpCollector }> {
    const collector = await startOtlpCollector();
    open.push(() => collector.close());
    const app = await startTestApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...settings });
    open.push(() => app.close());
    return { app, collector };
  }

  /** Stops the server, which flushes its spans. */
  async function spansOf({
    app,
    collector,
  }: {
    app: TestApp;
    collector: OtlpCollector;
  }): Promise<readonly CollectedSpan[]> {
    await app.app.close(5_000);
    return collector.spans;
  }

  test("exports a request as a trace with its route, status, statements by text, transaction and hash", async () => {
    const started = await start({ OTEL_SERVICE_NAME: "our-service", OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20secret" });
    const { app, collector } = started;
    const user = await app.signUp("a name of nobody");
    await app.call("GET /users/me?tag=a-query", { token: user.token });
    const spans = await spansOf(started);

    const signUp = spans.find(({ name }) => name === "POST /users");
    assert.ok(signUp);
    assert.equal(signUp.kind, 2);
    assert.equal(signUp.parentSpanId, undefined);
    const { "rollcall.request_id": requestId, ...attributes } = signUp.attributes;
    assert.match(String(requestId), /^[\w-]{8,}$/);
    assert.deepEqual(attributes, {
      "http.request.method": "POST",
      "url.path": "/users",
      "url.scheme": "http",
      "http.route": "/users",
      "http.response.status_code": 200,
      "rollcall.operation": "createUser",
      "rollcall.application": app.application.appid,
    });
    const parts = spans.filter((span) => span.traceId === signUp.traceId && span !== signUp);
    const hash = parts.find(({ name }) => name === "hash password");
    const transaction = parts.find(({ name }) => name === "transaction");
    assert.equal(hash?.parentSpanId, signUp.spanId);
    assert.equal(transaction?.parentSpanId, signUp.spanId);
    const insert = parts.find(({ attributes }) =>
      String(attributes["db.query.text"]).startsWith('insert into "users"'),
    );
    assert.equal(insert?.parentSpanId, transaction?.spanId);
    assert.equal(insert?.name, "insert");
    assert.equal(insert?.kind, 3);
    assert.match(String(insert?.attributes["db.system.name"]), /^(sqlite|postgresql)$/);

    assert.equal(spans.find(({ name }) => name === "GET /users/me")?.attributes["url.path"], "/users/me");
    assert.equal(collector.resource["service.name"], "our-service");
    assert.equal(collector.headers["api-key"], "a secret");
    for (const secret of [
      user.token,
      user.deviceToken,
      user.password,
      user.userName,
      "a-query",
      app.application.appkey,
    ]) {
      assert.ok(!collector.text.includes(secret), `${secret} was sent`);
    }
  });

  test("adds the error condition of a refusal, and never uses an unknown path as a span name", async () => {
    const started = await start();
    await started.app.call("GET /users/me");
    await started.app.call("GET /no/such/path");
    const spans = await spansOf(started);
    const refused = spans.find(({ name }) => name === "GET /users/me");
    assert.equal(refused?.attributes["error.type"], "AuthAccessTokenInvalid");
    assert.equal(refused?.attributes["http.response.status_code"], 401);
    assert.equal(refused?.statusCode, 0); // the client's fault
    assert.equal(spans.find(({ name }) => name === "GET")?.attributes["http.response.status_code"], 404);
  });

  test("exports the calls of a batch as its child spans", async () => {
    const started = await start();
    const { app } = started;
    const token = await app.registerDevice();
    const requests = [{ key: "a", method: "GET", path: "/devices/current" }];
    await app.call("POST /batch", { token, body: { requests } });
    const spans = await spansOf(started);
    const batch = spans.find(({ name }) => name === "POST /batch");
    const item = spans.find(({ parentSpanId, kind }) => parentSpanId === batch?.spanId && kind === 1);
    assert.equal(item?.name, "getDevice");
    assert.ok(spans.some(({ parentSpanId, kind }) => parentSpanId === item?.spanId && kind === 3));
  });

  test("exports the storage and reading of bytes as child spans of the request", async () => {
    const started = await start();
    const { app } = started;
    const { token } = await app.signUp();
    const { id } = await upload(app, token, "/blobs", dataPart("some bytes"));
    await app.call(`GET /blobs/${id}/file`, { token });
    const spans = await spansOf(started);
    const partsOf = (name: string) => {
      const request = spans.find((span) => span.name === name);
      return spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId).map((span) => span.name);
    };
    assert.ok(partsOf("POST /blobs").includes("write bytes"));
    assert.ok(partsOf("GET /blobs/{blobId}/file").includes("open bytes"));
  });

  test("continues the caller's trace if that is sampled", async () => {
    const started = await start();
    const { app } = started;
    await app.call("GET /service/ping", { headers: { traceparent: `00-${traceId}-${parentId}-01` } });
    await app.call("GET /service/ping", { headers: { traceparent: `00-${traceId}-${parentId}-00` } });
    await app.call("GET /service/ping", { headers: { traceparent: "00-nonsense" } });
    const spans = (await spansOf(started)).filter(({ name }) => name === "GET /service/ping");
    assert.equal(spans.length, 2);
    assert.equal(spans[0]?.traceId, traceId);
    assert.equal(spans[0]?.parentSpanId, parentId);
    assert.notEqual(spans[1]?.traceId, traceId);
  });

  test("uses OTEL_TRACES_SAMPLER_ARG as the sampling rate, and follows the caller's choice only with a parentbased sampler", async () => {
    const headers = { traceparent: `00-${traceId}-${parentId}-01` };
    for (const [sampler, recorded] of [
      ["parentbased_traceidratio", 1],
      ["traceidratio", 0],
    ] as const) {
      const started = await start({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: "0" });
      for (let count = 0; count < 10; count += 1) await started.app.call("GET /service/ping");
      await started.app.call("GET /service/ping", { headers });
      assert.equal((await spansOf(started)).length, recorded, sampler);
    }
  });

  test("delays neither responses nor shutdown when the collector is unreachable", async () => {
    const collector = await startOtlpCollector();
    await collector.close();
    const app = await startTestApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    open.push(() => app.close());
    for (let count = 0; count < 50; count += 1) assert.equal((await app.call("GET /service/ping")).status, 200);
    const began = performance.now();
    await app.app.close(500);
    assert.ok(performance.now() - began < 5_000);
  });

  test("exports a span even for a request whose connection closes early", async () => {
    const started = await start({ METRICS_TOKEN: "a-token-for-scrapes" });
    const { port } = started.app;
    const readMetric = async (name: string) => (await scrape(port, "a-token-for-scrapes")).get(name);
    const socket = connect(port, "127.0.0.1");
    socket.write("POST /devices HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
    while ((await readMetric("rollcall_http_requests_in_flight")) !== 2) await setTimeout(5);
    socket.destroy();
    while ((await readMetric("rollcall_http_requests_aborted_total")) !== 1) await setTimeout(5);
    assert.equal(await readMetric("rollcall_http_requests_in_flight"), 1);
    const spans = await spansOf(started);
    const broken = spans.filter(({ name }) => name.startsWith("POST"));
    assert.deepEqual(
      broken.map(({ attributes }) => attributes["error.type"]),
      ["aborted"],
    );
  });
});
