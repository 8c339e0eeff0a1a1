import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClock } from "../lib/clock.ts";
import { createLog } from "../log.ts";
import { createDispatcher } from "./dispatch.ts";
import type { Reply } from "./envelope.ts";
import { createOperation, type Trail } from "./operations.ts";
import { createRateLimits } from "./rate-limits.ts";
import { route } from "./route.ts";
import { Type } from "./schema.ts";

const noTrail: Trail = { record: (_action, _given, work) => work(), noteRefusal: async () => {} };

describe("Dispatcher", () => {
  it("a fault of ours while the caller is looked up is InternalError, and logged under the call's own request id", async () => {
    const lines: string[] = [];
    const log = createLog("error", { write: (line) => void lines.push(line) });
    const dispatcher = createDispatcher({
      beginTurn() {},
      authenticate() {
        throw new Error("the fault");
      },
      headerBytesMax: 1_000,
      log,
    });
    const declared = route({
      method: "GET",
      path: "/things",
      operation: "listThings",
      summary: "",
      tag: "",
      caller: "device",
      status: 200,
      result: Type.Literal(true),
      errors: [],
      handle: async () => true as const,
    });
    const services = {
      runOnce: (_caller: unknown, _key: string, _fingerprint: string, work: () => Promise<Reply>) => work(),
      trail: noTrail,
      rateLimits: createRateLimits(undefined, createClock()),
      log,
    };
    dispatcher.add([createOperation(declared, services)]);
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
