// Runs on one engine: it tests HTTP, before any statement.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pino } from "pino";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { ApiError } from "../errors.ts";
import { logLine } from "./request-log.ts";

// spec/deployment#log-sampling
describe("LOG_SAMPLE", () => {
  const share = 0.2;
  let app: TestApp;
  let token: string;
  before(async () => {
    app = await startTestApp({ LOG_SAMPLE: String(share) });
    token = await app.registerDevice();
  });
  after(() => app.close());

  test("about that share of the successful requests is logged, and their lines contain the share", async () => {
    const asked = 400;
    for (let count = 0; count < asked; count += 1) await app.call("GET /service/ping");
    const lines = app.logLines.filter(({ operation }) => operation === "ping");
    assert.ok(lines.length > asked * share * 0.6 && lines.length < asked * share * 1.5, `${lines.length} of ${asked}`);
    for (const { sample } of lines) assert.equal(sample, share);
  });

  test("failed requests are always logged, without a share", async () => {
    const before = app.logLines.length;
    for (let count = 0; count < 20; count += 1) await app.call("GET /users/me");
    const lines = app.logLines.slice(before);
    assert.equal(lines.length, 20);
    for (const line of lines) assert.ok(line["status"] === 401 && !("sample" in line));
  });

  test("the calls of a batch are logged with the batch; failed ones always", async () => {
    const body = {
      requests: [
        { key: "a", method: "GET", path: "/devices/current" },
        { key: "b", method: "GET", path: "/devices/current" },
        { key: "c", method: "GET", path: "/users/me" },
      ],
    };
    const logged: number[] = [];
    for (let count = 0; count < 60; count += 1) {
      const before = app.logLines.length;
      const answer = await app.call("POST /batch", { token, body });
      const lines = app.logLines.slice(before).filter(({ level }) => level === 30);
      const ofBatch = lines.filter(({ request_id: id }) => id === answer.body.request_id).length;
      const ofItems = lines.filter(({ batch }) => batch === answer.body.request_id);
      assert.equal(ofItems.filter(({ status }) => status === 403).length, 1);
      assert.equal(ofItems.filter(({ status }) => status === 200).length, ofBatch * 2);
      logged.push(ofBatch);
    }
    const count = logged.reduce((sum, each) => sum + each, 0);
    assert.ok(count > 0 && count < 60, `${count} batches of 60`);
  });
});

test("the line of a call that got 503 names what failed", () => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line) => void lines.push(line) });
  const cause = Object.assign(new Error("canceling statement due to statement timeout"), { code: "57014" });
  const failure = new ApiError("ServiceUnavailable", undefined, {
    cause: new ApiError("ServiceUnavailable", undefined, { cause }),
  });
  const call = { requestId: "r", method: "GET", path: "/x", operation: "x", address: "::1", ms: 1, caller: undefined };
  logLine(log, { ...call, status: 503, failure }, 1);
  assert.equal(JSON.parse(lines.join(""))["cause"], "57014: canceling statement due to statement timeout");
});
