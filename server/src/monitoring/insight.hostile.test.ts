import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openRaw, send, startTestApp, type TestApp } from "../../test/harness.ts";
import { scrape } from "../../test/scrapes.ts";

const token = "a-token-for-scrapes";
const headers = { authorization: `Bearer ${token}` };

// spec/deployment#metric-series
describe("a hostile client or scraper", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp({ METRICS_TOKEN: token, METRICS_APPLICATIONS_MAX: "5" });
  });
  after(() => app.close());

  const seriesOf = async (name: string) =>
    [...(await scrape(app.port, token)).keys()].filter((series) => series.startsWith(name));

  test("cannot create series: 2,000 paths, verbs, ids and queries share a few labels", async () => {
    const user = await app.signUp();
    const ask = async (index: number) => {
      const made = `${index}-${"x".repeat(index % 50)}`;
      await send(app.port, "GET", `/${made}`);
      await send(app.port, ["PUT", "PATCH", "DELETE", "POST"][index % 4] ?? "", `/users/me/${made}?q="\n`.trim());
      await send(app.port, "GET", `/checkins/${made}?${made}=1`, { token: user.token });
      await send(app.port, "GET", "/users/me", { token: made });
    };
    for (let index = 0; index < 500; index += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, offset) => ask(index + offset)));
    }
    const requests = await seriesOf("rollcall_http_requests_total");
    assert.ok(requests.length < 20, requests.join("\n"));
    assert.ok((await scrape(app.port, token)).size < 700);
  });

  test("cannot create series by raw bytes: requests that are not HTTP count as (broken)", async () => {
    for (const bytes of [
      "nonsense\r\n\r\n",
      'GET /"\n{} HTTP/1.1\r\n\r\n',
      "\u0000\r\n\r\n",
      "ROLLCALL / HTTP/1.1\r\n\r\n",
    ]) {
      const connection = openRaw(app.port);
      connection.write(bytes);
      await connection.receive();
      connection.close();
    }
    assert.deepEqual(await seriesOf('rollcall_http_requests_total{operation="(broken)"'), [
      'rollcall_http_requests_total{operation="(broken)",status="404"}',
      'rollcall_http_requests_total{operation="(broken)",status="400"}',
    ]);
  });

  test("cannot create a series for each application: up to METRICS_APPLICATIONS_MAX are reported by name, and the others as a sum", async () => {
    for (let count = 0; count < 20; count += 1) {
      const device = await app.registerDevice(await app.createApplication(`Application ${count}`));
      await app.call("GET /devices/current", { token: device });
    }
    const series = await seriesOf("rollcall_application_requests_total");
    assert.equal(series.length, (5 + 1) * 4);
    assert.ok(series.some((each) => each.includes('application="other"')));
  });

  test("counts for no application with a token of a deleted application, or without a token", async () => {
    const sum = async () => {
      const series = [...(await scrape(app.port, token))].filter(([name]) => name.startsWith("rollcall_application_"));
      return series.reduce((total, [, value]) => total + value, 0);
    };
    const before = await sum();
    for (const made of ["", "x", "main.AAAA"]) await app.call("GET /users/me", { token: made });
    assert.equal(await sum(), before);
  });

  test("receives no secret and no name of users, applications, tokens, keys, paths or addresses", async () => {
    const application = await app.createApplication("A secret project");
    const user = await app.signUp("a user of a certain name", application);
    const operator = await app.createOperator("An operator of a certain name");
    await app.call("GET /_/api/applications", { token: operator.token });
    await app.call("POST /users/login", {
      token: user.deviceToken,
      body: { username: user.userName, password: "a wrong password" },
    });
    const { text } = await send(app.port, "GET", "/_/prometheus", { headers });
    const secrets = [user.userName, user.password, user.token, user.deviceToken, user.id, "127.0.0.1", token];
    for (const secret of [
      ...secrets,
      application.appkey,
      "A secret project",
      operator.name,
      operator.token,
      operator.id,
    ]) {
      assert.ok(!text.includes(secret), `${secret} is exposed`);
    }
  });

  test("cannot guess the token or slow down the real scraper, and neither appears as a client or in the audit log", async () => {
    const operator = await app.createOperator();
    await app.app.audit.save();
    const before = (await app.call("GET /_/api/audit", { token: operator.token })).body.result.pageResults;
    const guesses = Array.from({ length: 300 }, (_, index) =>
      send(app.port, "GET", "/_/prometheus", { headers: { authorization: `Bearer ${token.slice(0, -2)}${index}` } }),
    );
    assert.ok((await Promise.all(guesses)).every(({ status }) => status === 401));
    assert.ok(
      (await Promise.all(Array.from({ length: 50 }, () => scrape(app.port, token)))).every(({ size }) => size > 0),
    );
    await app.app.audit.save();
    const after = (await app.call("GET /_/api/audit", { token: operator.token })).body.result.pageResults;
    assert.deepEqual(after, before);
  });
});
