// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLog } from "../config/log.ts";
import { route } from "../contract/route.ts";
import { Type } from "../contract/schema.ts";
import { createRouteTable } from "../http/route-table.ts";
import { createDispatcher } from "./dispatch.ts";
import type { Reply } from "./envelope.ts";
import { type ActionLog, bindOperation } from "./perform.ts";
import { unlimited } from "./rate-limits.ts";

const noActionLog: ActionLog = { record: (_action, _given, work) => work(), noteRefusal: async () => {} };

describe("Dispatcher", () => {
  it("answers a failed lookup of the caller with InternalError, and logs it with the request id of the call", async () => {
    const lines: string[] = [];
    const log = createLog("error", { write: (line) => void lines.push(line) });
    const routeTable = createRouteTable(1_000);
    const dispatcher = createDispatcher({
      findOperation: routeTable.findOperation,
      verbsOf: routeTable.verbsOf,
      beginTick() {},
      authenticate() {
        throw new Error("the fault");
      },
      mayOperate: () => true,
      headerBytesMax: 1_000,
      log,
    });
    const declared = route({
      method: "GET",
      path: "/things",
      operation: "listThings",
      description: "Test.",
      summary: "",
      tag: "Service",
      caller: "device",
      status: 200,
      result: Type.Literal(true),
      errors: [],
      handle: async () => true as const,
    });
    const services = {
      runOnce: (_caller: unknown, _key: string, _fingerprint: string, work: () => Promise<Reply>) => work(),
      findLocation: () => Promise.reject(new Error("no parameter is a location")),
      actionLog: noActionLog,
      rateLimits: unlimited,
      log,
    };
    routeTable.add(["GET"], "/things", { operation: bindOperation(declared, services), answer() {} });
    const inner = { method: "GET", path: "/things", parameters: [], idempotencyKey: undefined };
    const { requestId, run } = dispatcher.dispatch(inner, {
      authorization: "x",
      address: "y",
      idempotencyKey: undefined,
    });
    assert.equal((await run()).reply.failure?.condition, "InternalError");
    assert.equal(lines.length, 1);
    const { request_id, err } = JSON.parse(lines[0] ?? "");
    assert.deepEqual([request_id, err.message], [requestId, "the fault"]);
  });
});
