// Runs on one engine: it tests HTTP, before any statement.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { pino } from "pino";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { createLog } from "../config/log.ts";
import { ApiError } from "../lib/errors.ts";
import { logLine, pathOf } from "./request-log.ts";

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

  test("logs about this share of the successful requests, with the share in each line", async () => {
    const asked = 400;
    for (let count = 0; count < asked; count += 1) await app.call("GET /service/ping");
    const lines = app.logLines.filter(({ operation }) => operation === "ping");
    assert.ok(lines.length > asked * share * 0.6 && lines.length < asked * share * 1.5, `${lines.length} of ${asked}`);
    for (const { sample } of lines) assert.equal(sample, share);
  });

  test("logs every failed request, without the share", async () => {
    const before = app.logLines.length;
    for (let count = 0; count < 20; count += 1) await app.call("GET /users/me");
    const lines = app.logLines.slice(before);
    assert.equal(lines.length, 20);
    for (const line of lines) assert.ok(line["status"] === 401 && !("sample" in line));
  });

  test("logs the calls of a batch if it logs the batch, and failed calls always", async () => {
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

test("the log line of a call that got 503 names the failed dependency", () => {
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => void lines.push(line) });
  const cause = Object.assign(new Error("canceling statement due to statement timeout"), { code: "57014" });
  const failure = new ApiError("ServiceUnavailable", undefined, {
    cause: new ApiError("ServiceUnavailable", undefined, { cause }),
  });
  const call = {
    requestId: "r",
    method: "GET",
    path: "/x",
    operation: "x",
    address: "::1",
    ms: 1,
    at: 0,
    caller: undefined,
  };
  logLine(log, { ...call, status: 503, failure }, 1);
  assert.equal(JSON.parse(lines.join(""))["cause"], "57014: canceling statement due to statement timeout");
});

test("a log line is identical to the output of the log's general serializer", () => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom('"', "\\", "\n", "\0", "é", "👋", "\u2028"), fc.string()) });
  const optional = fc.option(text, { nil: undefined });
  const client = fc.record({ applicationId: text, deviceId: text, userId: optional });
  const caller = fc.option(fc.oneof(client, fc.record({ operatorId: text })), { nil: undefined });
  const names = fc.record({ requestId: text, batch: optional, method: optional, path: optional, operation: optional });
  const others = fc.record({
    address: text,
    status: fc.integer({ min: 200, max: 599 }),
    ms: fc.double({ min: 0, max: 1e9, noNaN: true }),
  });
  fc.assert(
    fc.property(names, others, caller, fc.boolean(), (named, { address, status, ms }, by, fails) => {
      const failure = fails
        ? new ApiError("ServiceUnavailable", undefined, { cause: new Error('a "cause"') })
        : undefined;
      const operation = named.operation?.startsWith("(") ? undefined : named.operation; // not one of the API
      const path = named.path === undefined ? undefined : pathOf(named.path);
      const isClient = by !== undefined && "applicationId" in by;
      const [written, expected] = [linesOf(), linesOf()];
      const { batch, ...rest } = { ...named, path };
      const call = { ...rest, at: 0, ...(batch !== undefined && { batch }), address, status, ms, failure };
      logLine(createLog("info", written), { ...call, caller: by as never }, 1); // without the members that the log does not read
      pino({ level: "info", base: null }, expected).info({
        ...{ request_id: named.requestId, batch, method: named.method, path, operation, status },
        ...{ error: failure?.condition, cause: failure && 'a "cause"', ms: Math.round(ms * 1000) / 1000 },
        ...(isClient && { application: by.applicationId, device: by.deviceId, user: by.userId }),
        ...(by !== undefined && "operatorId" in by && { operator: by.operatorId }),
        address,
      });
      assert.equal(written.text(), expected.text());
    }),
  );
});

/** Collects lines without their time. */
function linesOf() {
  let text = "";
  return {
    write: (line: string) => {
      text += line.replace(/"time":\d+/, "");
    },
    text: () => text,
  };
}
