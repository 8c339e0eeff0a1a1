import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { conditionsOf } from "../../scripts/sdk-sources.ts";
import { startTestApp, type TestApp, type TestUser } from "../../server/test/harness.ts";
import * as calls from "../src/generated/calls.ts";
import * as errors from "../src/generated/errors.ts";
import { connect } from "../src/nouns/connect.ts";
import { createAdmin } from "../src/parts/admin/admin.ts";
import type { AnyCall } from "../src/wire/call.ts";
import { ServiceError } from "../src/wire/errors.ts";
import { checkedFetch } from "./checked-fetch.ts";
import { until } from "./clients.ts";
import { onePixel } from "./pictures.ts";

interface Row {
  readonly condition: string;
  readonly name: string;
  readonly status: number;
  readonly number: number;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly "x-caller": string;
  readonly "x-errors": readonly string[];
  readonly "x-excluded-errors"?: readonly string[];
}

const document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly "x-error-catalogue": readonly Row[];
  readonly "x-caller-errors": Readonly<Record<string, readonly string[]>>;
} = JSON.parse(readFileSync(path.resolve(import.meta.dirname, "../../docs/openapi.json"), "utf8"));
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const silent = { debug() {}, info() {}, warn() {}, error() {} };

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp({ RATE_LIMIT_CALLER_PER_SECOND: "10000" });
  const { token } = await test.createOperator();
  const settings = `/_/api/applications/${test.application.appid}/settings`;
  assert.equal((await test.call(`PATCH ${settings}`, { token, body: { rehearsal: "on" } })).status, 200);
  user = await test.signUp();
});
after(() => test.close());

/** The operations with a call that may be answered with a condition. */
function operationsWith(condition: string): string[] {
  const having = operations.filter((operation) => conditionsOf(operation, document).includes(condition));
  return having.map(({ operationId }) => operationId).filter((id) => id in calls && id !== "ping");
}

/** A call of an operation, with arguments that are validated after the rehearsal. */
function callOf(id: string): AnyCall {
  const create: unknown = Object.entries(calls).find(([name]) => name === id)?.[1];
  assert.ok(typeof create === "function", id);
  const ids = Array.from({ length: pathParametersOf(id) }, () => user.id);
  const call: AnyCall = Reflect.apply(create, undefined, [...ids, fieldsOf(id)]);
  return call;
}

/** Parameters without which the client cannot write the request, or the service would not get to the rehearsal. */
function fieldsOf(id: string): object {
  if (id === "registerDevice") return { ...test.application, platform: "test" };
  return id === "createPicture" ? { data: new Blob([onePixel]) } : {};
}

function pathParametersOf(id: string): number {
  const route = Object.keys(document.paths).find((path) => {
    return Object.values(document.paths[path] ?? {}).some(({ operationId }) => operationId === id);
  });
  return route?.match(/\{/g)?.length ?? 0;
}

/** Makes a call that fails with a condition, and returns its error. */
async function rehearse(condition: string, call: AnyCall): Promise<unknown> {
  const token = call.operation.caller === "user" ? user.token : user.deviceToken;
  const client = connect({ url: test.url, token, retry: false, logger: silent, fetch: checkedFetch() });
  return client.send(call, { headers: { "Rollcall-Rehearse": condition } }).catch((error: unknown) => error);
}

function assertIsError(error: unknown, { condition, name, status, number }: Row): asserts error is ServiceError {
  const type = Object.entries(errors).find(([each]) => each === name)?.[1];
  assert.ok(type !== undefined && error instanceof type, `${condition} arrived as ${error}`);
  assert.ok(error instanceof ServiceError);
  assert.deepEqual([error.name, error.status, error.errorNumber], [name, status, number]);
}

describe("every error of the service arrives as its class, with its numbers, its call and its request", () => {
  for (const row of document["x-error-catalogue"]) {
    const having = operationsWith(row.condition);
    if (having.length === 0) continue;
    it(`${row.condition} arrives as its class from one of its ${having.length} operations`, async () => {
      const [id = ""] = having;
      const call = callOf(id);
      const error = await rehearse(row.condition, call);
      assertIsError(error, row);
      assert.deepEqual(error.call, { operation: id, method: call.operation.method, path: call.path });
      assert.equal(error.attempts, 1);
      const isThis = (line: Readonly<Record<string, unknown>>) => line["request_id"] === error.requestId;
      await until(() => test.logLines.some(isThis));
      assert.equal(test.logLines.find(isThis)?.["rehearsed"], row.condition);
    });
  }

  it("AuthFailed arrives as its class after an operator's wrong password", async () => {
    const admin = createAdmin({ url: test.url, logger: silent, fetch: checkedFetch() });
    const error = await admin.signIn({ name: "nobody", password: "wrong" }).catch((error: unknown) => error);
    const row = document["x-error-catalogue"].find(({ condition }) => condition === "AuthFailed");
    assert.ok(row);
    assertIsError(error, row);
    admin.close();
  });

  it("BatchItemNotRun arrives as its class for an item after a failed one", async () => {
    const batch = connect({ url: test.url, token: user.token, logger: silent, fetch: checkedFetch() }).batch({
      mode: "sequential",
    });
    batch.add(calls.getCheckin("chk_00000000000000000000000000"));
    const item = batch.add(calls.getOwnUser());
    const outcome = (await batch.send()).outcome(item);
    const row = document["x-error-catalogue"].find(({ condition }) => condition === "BatchItemNotRun");
    assert.ok(row && !outcome.ok);
    assertIsError(outcome.error, row);
  });

  it("no test is missing, except for conditions of resumable uploads and of operators", () => {
    const without = document["x-error-catalogue"].filter(({ condition }) => operationsWith(condition).length === 0);
    assert.deepEqual(without.map(({ condition }) => condition).sort(), [
      "AuthFailed",
      "AuthPasswordChangeRequired",
      "AuthReauthenticationRequired",
      "BatchItemNotRun",
      "ObjectChanged",
      "UploadChecksumMismatch",
      "UploadContentTypeWrong",
      "UploadOffsetConflict",
      "UploadVersionUnsupported",
    ]);
  });
});
