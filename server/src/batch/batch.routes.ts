import type { Call } from "../contract/call.ts";
import { RawResult } from "../contract/route.ts";
import { logLine, pathOf } from "../http/request-log.ts";
import { ApiError } from "../lib/errors.ts";
import { replyBody, shownReply } from "../operations/envelope.ts";
import { boundNames } from "../operations/ignored.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { BatchResult, RunBatch } from "./batch.contract.ts";
import { type ReadItem, readItem } from "./batch.items.ts";
import { type AnsweredItem, runBatch } from "./batch.run.ts";

function logItem({ item, requestId, reply, route, caller, ms }: AnsweredItem, outer: Call, services: Services): void {
  const { config, log, observer } = services;
  const { method, path } = "failure" in item ? { method: undefined, path: undefined } : item;
  const { status, failure, rehearsed } = shownReply(reply);
  if (failure?.condition === "InternalError" && route === undefined) {
    log.error({ request_id: requestId, err: failure.cause ?? failure }, "request failed"); // a call with a route logs its own failure
  }
  const asked = {
    requestId,
    at: Date.now(),
    method,
    path: path === undefined ? undefined : pathOf(path.slice(0, config.headerBytesMax)),
    address: outer.address,
    batch: outer.requestId,
  };
  const answered = {
    ...asked,
    operation: route?.operation,
    status,
    failure,
    refused: failure?.refused,
    ms,
    caller,
    rehearsed: rehearsed?.what,
  };
  observer.answeredItem(answered);
  logLine(log, answered, config.logSample);
}

const batch = operation({
  method: "POST",
  path: "/batch",
  operation: "runBatch",
  summary: "Run several calls, each exactly as if it were sent separately",
  description: "Each item has separate parameters and a separate response. All items use the token of the batch.",
  tag: "Batch",
  caller: "device",
  isBatchable: false,
  parameters: RunBatch,
  status: 200,
  result: BatchResult,
  errors: [],
  async handle({ parameters: { requests, mode = "independent", references = false }, caller, call }, services) {
    const { batchItemsMax } = services.config;
    if (requests.length === 0)
      throw new ApiError("ParameterOutOfRange", "requests must have at least 1 item.", { parameter: "requests" });
    if (requests.length > batchItemsMax) {
      throw new ApiError("RequestTooLarge", `requests must have at most ${batchItemsMax} items.`, {
        parameter: "requests",
      });
    }
    // With an idempotency key, the batch runs in a transaction, which must not wait.
    if (call.idempotencyKey === undefined) await call.reserve?.("batch", requests.length);
    const items = requests.map(readItem);
    requireRehearsable(call, items);
    const answered = await runBatch({ items, mode, hasReferences: references, outer: call }, services);
    for (const each of answered) logItem(each, call, services);
    const { isDebugged } = caller.policy;
    return new RawResult(`{"responses":[${answered.map((each) => present(each, isDebugged)).join(",")}]}`);
  },
});

/** @throws ApiError ParameterOutOfRange */
function requireRehearsable({ rehearsedItem, idempotencyKey }: Call, items: readonly ReadItem[]): void {
  if (rehearsedItem === undefined) return;
  if (idempotencyKey !== undefined) {
    throw new ApiError(
      "ParameterOutOfRange",
      "Rollcall-Rehearse: an item of a batch with an Idempotency-Key cannot be rehearsed.",
    );
  }
  if (items.some(({ key }) => key === rehearsedItem.key)) return;
  throw new ApiError("ParameterOutOfRange", "Rollcall-Rehearse: no item of the batch has this key.");
}

/** Presents the item's key and envelope; with debug, also the names of its unknown members. */
function present({ item, reply, requestId }: AnsweredItem, isDebugged: boolean): string {
  const shown = shownReply(reply);
  const ignored = isDebugged ? boundNames([...item.unread, ...(shown.ignored ?? [])]) : [];
  return `{"key":${JSON.stringify(item.key)},${replyBody({ ...shown, ignored }, requestId).slice(1)}`;
}

/** Several calls in one request (spec/batch#batch-items). */
export const batchOperations = [batch];
