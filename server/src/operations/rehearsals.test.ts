import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  type CallOptions,
  send,
  startTestApp,
  type TestApp,
  type TestOperator,
  type TestUser,
} from "../../test/harness.ts";
import { waitUntil } from "../../test/mails.ts";
import { scrape } from "../../test/scrapes.ts";
import type { Call } from "../contract/call.ts";
import type { ApplicationPolicy } from "../contract/policy.ts";
import { conditionsOf } from "../contract/route.ts";
import { ApiError, errorRow } from "../lib/errors.ts";
import { successReply } from "./envelope.ts";
import { createRehearsals } from "./rehearsals.ts";

let test: TestApp;
let operator: TestOperator;
let user: TestUser;
before(async () => {
  test = await startTestApp({ METRICS_TOKEN: "a-token-for-metrics", RATE_LIMIT_CALLER_PER_SECOND: "10000" });
  operator = await test.createOperator();
  await configure(test, operator, { rehearsal: "on" });
  user = await test.signUp();
});
after(() => test.close());

async function configure(app: TestApp, by: TestOperator, settings: object): Promise<void> {
  const path = `/_/api/applications/${app.application.appid}/settings`;
  assert.equal((await app.call(`PATCH ${path}`, { token: by.token, body: settings })).status, 200);
}

async function readSwitch(): Promise<boolean | undefined> {
  const path = `/_/api/applications/${test.application.appid}`;
  return (await test.call(`GET ${path}`, { token: operator.token })).body.result.isRehearsalOn;
}

function rehearse(what: string, operation: string, { headers, ...options }: CallOptions = {}): Promise<Answer> {
  return test.call(operation, { token: user.token, ...options, headers: { ...headers, "Rollcall-Rehearse": what } });
}

const checkin = { comment: "here", location: "48.2,16.37" };

async function countCheckins(): Promise<number> {
  const { body } = await test.call("GET /checkins?pageSize=1000", { token: user.token });
  return body.result.pageResults.length;
}

/** Sends a request over a new connection, and returns all bytes until the connection is closed. */
function sendRaw(what: string, operation: string, body?: object): Promise<string> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = "";
  const socket = connect(test.port, "127.0.0.1");
  socket.on("error", () => {}); // a reset counts as closing
  socket.setEncoding("latin1").on("data", (bytes) => {
    received += bytes;
  });
  socket.on("close", () => resolve(received));
  const lines = [
    `${operation} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Connection: close",
    `Authorization: Service ${user.token}`,
    "Content-Type: application/json",
    `Content-Length: ${text.length}`,
    `Rollcall-Rehearse: ${what}`,
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n${text}`);
  return promise;
}

describe("a rehearsed error: spec/rehearsal#rehearse-an-error", () => {
  it("is answered as in the catalogue, with Rollcall-Rehearsed, and has no effect", async () => {
    const count = await countCheckins();
    const answer = await rehearse("RateLimitExceeded;retry-after=2", "POST /checkins", { body: checkin });
    const { error, errorNumber, status, message } = errorRow("RateLimitExceeded");
    assert.equal(answer.status, status);
    assert.deepEqual([answer.body.error, answer.body.errorNumber, answer.body.message], [error, errorNumber, message]);
    assert.deepEqual([answer.headers["retry-after"], answer.headers["rollcall-rehearsed"]], ["2", "RateLimitExceeded"]);
    assert.equal(await countCheckins(), count);
  });

  it("can be any condition of any operation that a client calls with a token", async () => {
    const operations = [
      "POST /checkins",
      "GET /users/me",
      "GET /checkins",
      "PUT /metadata/me/key",
      "POST /metrics/events",
      "POST /users/me/tokens",
      "DELETE /users/me",
    ];
    for (const operation of operations) {
      const [method = "", path = ""] = operation.split(" ");
      const route = test.app.routes.find(
        (each) => each.method === method && new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
      );
      assert.ok(route, operation);
      for (const condition of conditionsOf(route)) {
        const { status, error, errorNumber } = errorRow(condition);
        const { message = undefined } = errorRow(condition);
        // Not by `call`, which refuses an InternalError that is answered.
        const headers = { "Rollcall-Rehearse": condition };
        const answer = await send(test.port, method, path, { token: user.token, headers });
        assert.equal(answer.headers["rollcall-rehearsed"], condition);
        const { body } = answer;
        assert.deepEqual(
          [answer.status, body.error, body.errorNumber, body.message],
          [status, error, errorNumber, message],
        );
      }
    }
    assert.equal((await test.call("GET /users/me", { token: user.token })).status, 200);
  });

  it("replaces the response with at=after, so that the operation takes effect; real failures are not replaced", async () => {
    const count = await countCheckins();
    const answer = await rehearse("ServiceUnavailable;at=after", "POST /checkins", { body: checkin });
    assert.equal(answer.status, 503);
    assert.equal(await countCheckins(), count + 1);
    const wrong = await rehearse("ServiceUnavailable;at=after", "POST /checkins", { body: { tag: 7, location: "x" } });
    assert.equal(wrong.status, 400);
    assert.equal(wrong.headers["rollcall-rehearsed"], undefined);
  });

  it("is not stored under an idempotency key with at=before, and with at=after the real response is stored", async () => {
    const count = await countCheckins();
    for (const key of ["before", "after"]) {
      const headers = { "Idempotency-Key": key };
      const first = await rehearse(`RateLimitExceeded;at=${key}`, "POST /checkins", { body: checkin, headers });
      assert.equal(first.status, 429);
      const repeated = await test.call("POST /checkins", { token: user.token, body: checkin, headers });
      assert.equal(repeated.status, 201);
      assert.equal(repeated.headers["idempotent-replayed"], key === "after" ? "true" : undefined);
    }
    assert.equal(await countCheckins(), count + 2);
  });

  it("does not count as a failed sign-in, and is not in the audit log", async () => {
    const body = { username: user.userName, password: user.password };
    for (let count = 0; count < 15; count++) {
      const answer = await rehearse("AuthBadUsernameOrPassword", "POST /users/login", {
        token: user.deviceToken,
        body: { ...body, password: "wrong" },
      });
      assert.deepEqual([answer.status, answer.body.error], [403, "AuthBadUsernameOrPassword"]);
    }
    assert.equal((await test.call("POST /users/login", { token: user.deviceToken, body })).status, 200);
    const { body: log } = await test.call(`GET /_/api/audit?action=loginUser`, { token: operator.token });
    assert.deepEqual(log.result.pageResults, []);
  });

  it("requires valid credentials at a registration", async () => {
    const body = { ...test.application, platform: "test" };
    const options = { body, headers: { "Rollcall-Rehearse": "RateLimitExceeded" } };
    const answer = await test.call("POST /devices", options);
    assert.deepEqual([answer.status, answer.headers["rollcall-rehearsed"]], [429, "RateLimitExceeded"]);
    const wrong = await test.call("POST /devices", { ...options, body: { ...body, appkey: "wrong" } });
    assert.deepEqual([wrong.status, wrong.body.error], [401, "AuthAppCredentialsInvalid"]);
    const after = { ...options, headers: { "Rollcall-Rehearse": "ServiceUnavailable;at=after" } };
    assert.equal((await test.call("POST /devices", after)).status, 503);
  });

  it("is marked in the log, counted only in a separate metric, and readable by web pages", async () => {
    const counts = async () => {
      const series = [...(await scrape(test.port, "a-token-for-metrics"))];
      const ofRequests = series.filter(([name]) => /^rollcall_(?:http_requests_total|errors_total|batch)/.test(name));
      const others = ofRequests.filter(([name]) => !/"\(|"scrapeMetrics"/.test(name));
      return { rehearsed: new Map(series).get("rollcall_rehearsed_total") ?? 0, others };
    };
    const before = await counts();
    const answer = await rehearse("ServiceUnavailable", "GET /users/me", { headers: { Origin: "https://a.example" } });
    assert.match(`${answer.headers["access-control-expose-headers"]}`, /\bRollcall-Rehearsed\b/);
    await waitUntil(async () => (await counts()).rehearsed === before.rehearsed + 1, "the count");
    assert.deepEqual((await counts()).others, before.others);
    const line = test.logLines.find(({ request_id }) => request_id === answer.body.request_id);
    assert.deepEqual([line?.["rehearsed"], line?.["status"]], ["ServiceUnavailable", 503]);
  });
});

describe("a rehearsed fault: spec/rehearsal#rehearse-a-fault", () => {
  it("cut closes the connection without a response, before or after the call", async () => {
    for (const [at, done] of [
      ["before", 0],
      ["after", 1],
    ] as const) {
      const count = await countCheckins();
      assert.equal(await sendRaw(`cut;at=${at}`, "POST /checkins", checkin), "");
      assert.equal(await countCheckins(), count + done);
    }
    await waitUntil(() => test.logLines.some(({ rehearsed }) => rehearsed === "cut"), "the line of the log");
  });

  it("truncated sends half of the body", async () => {
    const count = await countCheckins();
    for (const at of ["before", "after"]) {
      const answer = await sendRaw(`truncated;at=${at}`, "POST /checkins", checkin);
      const [head = "", body = ""] = answer.split("\r\n\r\n");
      assert.match(head, /^HTTP\/1\.1 201 /);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      assert.equal(body.length, Math.floor(length / 2));
      assert.match(body, /^\{"status":201,"result":/);
    }
    assert.equal(await countCheckins(), count + 1);
  });

  it("truncated, html and errors replace the bytes of a file", async () => {
    const form = new FormData();
    form.set("data", new File(["0123456789"], "a.txt", { type: "text/plain" }));
    const headers = { authorization: `Service ${user.token}` };
    const created = await fetch(`${test.url}/blobs`, { method: "POST", headers, body: form });
    const { result } = (await created.json()) as { result: { id: string } };
    const path = `/blobs/${result.id}/file`;
    const half = await sendRaw("truncated;at=after", `GET ${path}`);
    assert.match(half, /content-length: 10\r\n[\s\S]*\r\n\r\n01234$/i);
    for (const at of ["before", "after"]) {
      assert.match((await rehearse(`html;at=${at}`, `GET ${path}`)).text, /^<!doctype html>/);
      assert.equal((await rehearse(`ItemDoesNotExist;at=${at}`, `GET ${path}`)).status, 404);
    }
    assert.equal((await rehearse("slow;ms=1", `GET ${path}`)).text, "0123456789");
  });

  it("html sends a page with status 200", async () => {
    const count = await countCheckins();
    const answer = await rehearse("html", "POST /checkins", { body: checkin });
    assert.equal(answer.status, 200);
    assert.match(`${answer.headers["content-type"]}`, /^text\/html/);
    assert.equal(answer.headers["rollcall-rehearsed"], "html");
    assert.equal(await countCheckins(), count);
  });

  it("slow sends the usual response later", async () => {
    const began = performance.now();
    const answer = await rehearse("slow;ms=50", "POST /checkins", { body: checkin });
    assert.deepEqual([answer.status, answer.headers["rollcall-rehearsed"]], [201, "slow"]);
    assert.ok(performance.now() - began >= 49); // timers may be early by a millisecond
  });

  it("slow refuses more than 100 concurrent calls with ServiceUnavailable, until clients disconnect", async () => {
    const rehearsals = createRehearsals({ isAllowed: true });
    const route = test.app.routes.find(({ operation }) => operation === "getOwnUser");
    assert.ok(route);
    const policy: ApplicationPolicy = {
      isMoving: false,
      isSuspended: false,
      disabledOperations: [],
      origins: undefined,
      signing: undefined,
      tokenLifetimes: {},
      limits: { operations: [] },
      allowsRehearsal: true,
      email: {},
      signIn: {},
      passwords: {},
      isDebugged: false,
    };
    const versions = { application: 0, key: 0, device: 0 };
    const ids = { applicationId: "app_1", applicationKeyId: "apk_1", deviceId: "dev_1", userId: "usr_1" };
    const caller = { ...ids, tokenId: "tok_1", tokenExpiresAt: 1, policy, versions };
    const gone = new AbortController();
    const call: Call = {
      ...{ requestId: "1", authorization: undefined, address: "127.0.0.1", idempotencyKey: undefined, path: {} },
      readParameters: () => [],
      whenGone: () => gone.signal,
    };
    const run = (header: string) =>
      rehearsals.rehearse(header, route, call, caller, async () => successReply(200, "1"));
    const waiting = Array.from({ length: 100 }, (_, index) =>
      run(`slow;ms=30000;at=${index % 2 === 0 ? "before" : "after"}`),
    );
    const refused: unknown = await run("slow;ms=1").catch((error) => error);
    assert.ok(refused instanceof ApiError);
    assert.deepEqual(
      [refused.condition, refused.message],
      ["ServiceUnavailable", "Too many slow calls are rehearsed."],
    );
    assert.equal((await run("RateLimitExceeded")).status, 429);
    gone.abort();
    await Promise.all(waiting);
    assert.equal((await run("slow;ms=1")).status, 200);
  });
});

describe("a rehearsed item of a batch: spec/rehearsal#rehearse-an-item-of-a-batch", () => {
  function runBatch(what: string, mode: string, headers = {}): Promise<Answer> {
    const requests = ["one", "two", "three"].map((key) => ({
      key,
      method: "POST",
      path: "/checkins",
      parameters: { ...checkin, comment: key },
    }));
    return rehearse(what, "POST /batch", { body: { mode, requests }, headers });
  }

  const statusesOf = ({ body }: Answer) => body.result.responses.map(({ status }: { status: number }) => status);

  it("fails with at=before, and takes effect with at=after", async () => {
    let count = await countCheckins();
    for (const [mode, expected, done] of [
      ["independent", [201, 429, 201], 2],
      ["sequential", [201, 429, 424], 1],
      ["atomic", [424, 429, 424], 0],
    ] as const) {
      assert.deepEqual(statusesOf(await runBatch('RateLimitExceeded;item="two"', mode)), expected);
      count += done;
      assert.equal(await countCheckins(), count);
      const after = await runBatch('ServiceUnavailable;at=after;item="two"', mode);
      assert.deepEqual(statusesOf(after), [201, 503, 201]);
      count += 3;
      assert.equal(await countCheckins(), count);
    }
  });

  it("must exist and have a condition of its operation, and is not stored under the batch's idempotency key", async () => {
    const count = await countCheckins();
    const missing = await runBatch('RateLimitExceeded;item="four"', "independent");
    assert.deepEqual([missing.status, missing.body.error], [400, "ParameterOutOfRange"]);
    const keyed = await runBatch('RateLimitExceeded;item="two"', "independent", { "Idempotency-Key": "a batch" });
    assert.deepEqual([keyed.status, keyed.body.error], [400, "ParameterOutOfRange"]);
    assert.equal(await countCheckins(), count);
    assert.deepEqual(statusesOf(await runBatch('AuthFailed;item="two"', "independent")), [201, 400, 201]);
    for (const fault of ["cut", "slow;ms=1", "html"]) {
      assert.equal((await runBatch(`${fault};item="two"`, "independent")).status, 400);
    }
    assert.equal((await runBatch("RateLimitExceeded", "independent")).status, 429);
  });
});

describe("what can be rehearsed: spec/rehearsal#what-can-be-rehearsed", () => {
  it("other values get ParameterOutOfRange, with the valid values in the message", async () => {
    for (const what of [
      ...[
        "",
        ";",
        "Nothing",
        "ratelimitexceeded",
        "constructor",
        "AuthFailed",
        "cut; at",
        "cut;at=now",
        'cut;at="after"',
      ],
      ...[
        "cut at=after",
        "cut,html",
        "slow",
        "slow;ms=0",
        "slow;ms=30001",
        "slow;ms=1.5",
        "cut;ms=5",
        "html;retry-after=1",
      ],
      ...["RateLimitExceeded;retry-after=-1", "RateLimitExceeded;retry-after=3601", "ItemAlreadyExists;retry-after=1"],
      ...["ParameterOutOfRange;other=1", 'ParameterOutOfRange;item="x"', `cut${" ".repeat(200)};at=after`],
    ]) {
      const answer = await rehearse(what, "PATCH /users/me", { body: {} });
      assert.deepEqual([answer.status, answer.body.error], [400, "ParameterOutOfRange"], what);
      assert.match(answer.body.message, /^Rollcall-Rehearse must be cut, .*\bItemAlreadyExists\b/);
    }
    const spaced = await rehearse("RateLimitExceeded; retry-after=0; at=before", "PATCH /users/me", { body: {} });
    assert.deepEqual([spaced.status, spaced.headers["retry-after"]], [429, "0"]);
  });

  it("the header is validated after the path and the token, and before the parameters", async () => {
    assert.equal((await rehearse("RateLimitExceeded", "GET /nowhere")).status, 404);
    assert.equal((await rehearse("RateLimitExceeded", "GET /users/me", { token: "main.wrong" })).status, 401);
    const device = await rehearse("RateLimitExceeded", "GET /users/me", { token: user.deviceToken });
    assert.equal(device.body.error, "AuthUserAccessTokenRequired");
    const broken = await rehearse("RateLimitExceeded", "POST /checkins", { body: '{"comment":' });
    assert.equal(broken.status, 429);
  });

  it("operations without a token and operators' operations ignore the header", async () => {
    const headers = { "Rollcall-Rehearse": "RateLimitExceeded" };
    assert.equal((await test.call("GET /service/ping", { headers })).status, 200);
    assert.equal((await test.call("GET /_/api/applications", { headers, token: operator.token })).status, 200);
    assert.equal((await test.call("GET /_/health/live", { headers })).status, 200);
  });
});

describe("where rehearsal is allowed: spec/rehearsal#where-rehearsal-is-allowed", () => {
  const off = "Rehearsal is switched off for the application.";

  it("an application with the setting may rehearse, and the audit log records changes of the setting", async () => {
    for (const rehearsal of ["off", null]) {
      await configure(test, operator, { rehearsal });
      assert.equal(await readSwitch(), undefined);
      for (const what of ["RateLimitExceeded", "nonsense"]) {
        assertError(await rehearse(what, "GET /users/me"), 403, "AuthAPICallDisabledByDeveloper", 257, off);
      }
      const registration = { body: { ...test.application, platform: "test" }, headers: { "Rollcall-Rehearse": "cut" } };
      const registered = await test.call("POST /devices", registration);
      assertError(registered, 403, "AuthAPICallDisabledByDeveloper", 257, off);
      assert.equal((await test.call("GET /users/me", { token: user.token })).status, 200);
      await configure(test, operator, { rehearsal: "on" });
      assert.equal(await readSwitch(), true);
      assert.equal((await rehearse("RateLimitExceeded", "GET /users/me")).status, 429);
    }
    const { body } = await test.call("GET /_/api/audit?action=changeApplicationSettings", { token: operator.token });
    assert.match(JSON.stringify(body.result.pageResults[0]), /rehearsal/);
    const wrong = await test.call(`PATCH /_/api/applications/${test.application.appid}/settings`, {
      token: operator.token,
      body: { rehearsal: "sometimes" },
    });
    assert.match(wrong.body.message, /rehearsal must be one of off, on/);
  });

  it("no application may rehearse with REHEARSALS=off", async () => {
    const other = await startTestApp({ REHEARSALS: "off" });
    try {
      await configure(other, await other.createOperator(), { rehearsal: "on" });
      const { token } = await other.signUp();
      const headers = { "Rollcall-Rehearse": "RateLimitExceeded" };
      const answer = await other.call("GET /users/me", { token, headers });
      assertError(answer, 403, "AuthAPICallDisabledByDeveloper", 257, off);
    } finally {
      await other.close();
    }
  });
});
