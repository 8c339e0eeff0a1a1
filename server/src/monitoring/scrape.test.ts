import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openStream } from "../../test/event-streams.ts";
import { assertError, send, startTestApp, type TestApp } from "../../test/harness.ts";
import { scrape } from "../../test/scrapes.ts";
import { putBackup } from "../db/deployment-facts.ts";

const token = "a-token-for-scrapes";

// spec/deployment#prometheus
describe("GET /_/prometheus", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp({ METRICS_TOKEN: token });
  });
  after(() => app.close());

  test("reports requests by operation and status to a scraper with METRICS_TOKEN", async () => {
    const user = await app.signUp();
    await app.call("GET /users/me", { token: user.token });
    await app.call("GET /users/me", { token: user.token });
    await app.call("GET /users/me", { token: user.deviceToken });
    const scraped = await scrape(app.port, token);
    const labels = 'operation="getOwnUser",method="GET",route="/users/me"';
    assert.equal(scraped.get(`rollcall_http_requests_total{${labels},status="200"}`), 2);
    assert.equal(scraped.get(`rollcall_http_requests_total{${labels},status="403"}`), 1);
    assert.equal(scraped.get('rollcall_http_request_duration_seconds_count{operation="getOwnUser"}'), 3);
    assert.equal(scraped.get('rollcall_http_request_duration_seconds_bucket{operation="getOwnUser",le="+Inf"}'), 3);
    assert.equal(scraped.get('rollcall_errors_total{condition="AuthUserAccessTokenRequired"}'), 1);
    const ofApplication = `rollcall_application_requests_total{application="${app.application.appid}"`;
    assert.equal(scraped.get(`${ofApplication},status="2xx"}`), 3);
    assert.equal(scraped.get("rollcall_http_requests_in_flight"), 1); // the scrape itself
    assert.equal(scraped.get("rollcall_http_connections"), 1);
    assert.ok((scraped.get("rollcall_http_sent_bytes_total") ?? 0) > 500);
    assert.ok((scraped.get("process_resident_memory_bytes") ?? 0) > 1e6);
    assert.ok(scraped.has("nodejs_eventloop_lag_p99_seconds"));
  });

  test("reports open streams of events, and how soon events reach them", async () => {
    const { token: userToken } = await app.signUp();
    const stream = await openStream(app.port, "/events/stream", { token: userToken });
    await stream.next();
    await app.call("POST /checkins", { token: userToken, body: { location: "1,2" } });
    await stream.next();
    const scraped = await scrape(app.port, token);
    assert.equal(scraped.get('rollcall_event_streams{state="live"}'), 1);
    assert.equal(scraped.get("rollcall_event_stream_frames_total"), 1);
    assert.equal(scraped.get("rollcall_event_told_seconds_count"), 1);
    stream.cut();
  });

  test("reports when the newest backup was completed, and omits unknown times", async () => {
    const backup = { at: 1_795_000_000_000, bytes: 12_345, isWithoutFiles: false };
    await app.app.database.write(({ queries }) => putBackup(backup, queries));
    const finished = "rollcall_backup_finished_timestamp_seconds";
    assert.equal((await scrape(app.port, token)).has(finished), false);
    await app.app.ownReports.readBackup();
    const scraped = await scrape(app.port, token);
    assert.deepEqual([scraped.get(finished), scraped.get("rollcall_backup_bytes")], [1_795_000_000, 12_345]);
    for (const name of ["rollcall_certificate_ends_timestamp_seconds", 'rollcall_lost_timestamp_seconds{what="log"}'])
      assert.equal(scraped.has(name), false, name);
  });

  test("answers 401 AuthFailed for a wrong or missing token, without metrics", async () => {
    const operator = await app.createOperator();
    const user = await app.signUp();
    const wrong = [token.slice(0, -1), `${token}x`, token.toUpperCase(), "", "Bearer", operator.token, user.token];
    for (const each of wrong) {
      const answer = await send(app.port, "GET", "/_/prometheus", { headers: { authorization: `Bearer ${each}` } });
      assertError(answer, 401, "AuthFailed", 256, "The token in METRICS_TOKEN is required.");
    }
    for (const headers of [{}, { authorization: token }, { authorization: `Basic ${token}` }]) {
      const answer = await send(app.port, "GET", `/_/prometheus?token=${token}`, { headers });
      assertError(answer, 401, "AuthFailed", 256, "The token in METRICS_TOKEN is required.");
    }
  });

  test("answers 404 for every other verb, with or without the token", async () => {
    const headers = { authorization: `Bearer ${token}` };
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const answer = await send(app.port, method, "/_/prometheus", { headers });
      assertError(answer, 404, "OperationNotFound", 516, "There is no such operation.");
    }
    assert.equal((await send(app.port, "HEAD", "/_/prometheus", { headers })).status, 200);
  });
});

// spec/deployment#prometheus
describe("METRICS_PORT", () => {
  test("serves unauthenticated scrapes and nothing else, and the service's port serves no metrics", async () => {
    const app = await startTestApp({ METRICS_PORT: "0" });
    try {
      const port = await app.app.insight?.listener?.listen("127.0.0.1", 0);
      assert.ok(port !== undefined);
      assert.equal((await scrape(port)).get("rollcall_http_requests_in_flight"), 0);
      for (const path of ["/", "/service/ping", "/_/prometheus/", "/_/api/applications"]) {
        assertError(await send(port, "GET", path), 404, "OperationNotFound", 516, "There is no such operation.");
      }
      assertError(
        await send(port, "POST", "/_/prometheus"),
        404,
        "OperationNotFound",
        516,
        "There is no such operation.",
      );
      assert.equal((await send(port, "HEAD", "/_/prometheus")).status, 200);
      const onService = await send(app.port, "GET", "/_/prometheus");
      assertError(onService, 404, "OperationNotFound", 516, "There is no such operation.");
    } finally {
      await app.close();
    }
  });

  test("requires METRICS_TOKEN on that port when it is set", async () => {
    const app = await startTestApp({ METRICS_PORT: "0", METRICS_TOKEN: token });
    try {
      const port = await app.app.insight?.listener?.listen("127.0.0.1", 0);
      assert.ok(port !== undefined);
      assertError(
        await send(port, "GET", "/_/prometheus"),
        401,
        "AuthFailed",
        256,
        "The token in METRICS_TOKEN is required.",
      );
      assert.ok((await scrape(port, token)).size > 10);
    } finally {
      await app.close();
    }
  });
});

test("the path /_/prometheus does not exist without METRICS_TOKEN and METRICS_PORT", async () => {
  const app = await startTestApp();
  try {
    const answer = await send(app.port, "GET", "/_/prometheus", { headers: { authorization: "Bearer " } });
    assertError(answer, 404, "OperationNotFound", 516, "There is no such operation.");
    assert.equal(app.app.insight, undefined);
  } finally {
    await app.close();
  }
});
