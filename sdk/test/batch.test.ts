import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { BatchFailed } from "../src/batch/batch.ts";
import { createCheckin, deleteCheckin, getCheckin, putMetadata } from "../src/generated/calls.ts";
import { type Connection, connect } from "../src/nouns/connect.ts";
import { ServiceError } from "../src/wire/errors.ts";
import { readCall, refusal, success } from "./answers.ts";
import { checkedFetch } from "./checked-fetch.ts";

let test: TestApp;
let token: string;
let ada: Connection;
const location = { lat: 48.2, lng: 16.37 };

before(async () => {
  test = await startTestApp();
  ({ token } = await test.signUp("ada"));
  ada = connect({ url: test.url, token, fetch: checkedFetch() });
});
after(() => test.close());

/** A client whose answers a test may replace; `requests` are the bodies that it has sent. */
function connectThrough(replace: (count: number, answer: () => Promise<Response>) => Promise<Response>) {
  const requests: { mode: string; references?: boolean; requests: { key: string; path: string }[] }[] = [];
  const connection = connect({
    url: test.url,
    token,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    clock: { now: Date.now, random: () => 0, after: (ms, run) => cancelOf(setTimeout(run, ms)) },
    fetch: (url, init) => {
      requests.push(JSON.parse(String(init?.body)));
      return replace(requests.length, () => fetch(url, init));
    },
  });
  return { connection, requests };
}

function cancelOf(timer: NodeJS.Timeout): () => void {
  return () => clearTimeout(timer);
}

describe("a batch", () => {
  it("lets later items use the results of earlier items, as ids and within strings", async () => {
    const batch = ada.batch({ mode: "atomic" });
    const checkin = batch.add(createCheckin({ location, comment: "literally {{0.result.id}} and \\{{" }));
    const put = batch.add(putMetadata(checkin.ref.id, "note", { value: `of ${checkin.ref.id}: {{braces}}` }));
    const whole = batch.add(putMetadata(checkin.ref.id, "place", { value: checkin.ref.location }));
    const results = await batch.send();
    const created = results.get(checkin);
    assert.ok(created.created instanceof Date);
    assert.equal(created.comment, "literally {{0.result.id}} and \\{{");
    assert.deepEqual(results.outcome(put), { ok: true, value: undefined });
    assert.equal(results.get(whole), undefined);
    assert.equal(await ada.metadata.of(created).get("note"), `of ${created.id}: {{braces}}`);
    assert.deepEqual(await ada.metadata.of(created).get("place"), location);
  });

  it("leaves braces unchanged where no reference is used", async () => {
    const { connection, requests } = connectThrough((_, answer) => answer());
    const batch = connection.batch();
    const checkin = batch.add(createCheckin({ location, comment: "{{a}} \\{{" }));
    assert.equal((await batch.send()).get(checkin).comment, "{{a}} \\{{");
    assert.deepEqual([requests.length, requests[0]?.references], [1, undefined]);
  });

  it("reports each item separately, unless the batch is atomic", async () => {
    const missing = "chk_00000000000000000000000000";
    for (const mode of ["independent", "sequential"] as const) {
      const batch = ada.batch({ mode });
      const read = batch.add(getCheckin(missing));
      const create = batch.add(createCheckin({ location }));
      const results = await batch.send();
      assert.throws(() => results.get(read), { name: "ItemDoesNotExist", status: 404 });
      assert.equal(results.outcome(create).ok, mode === "independent");
    }
    const batch = ada.batch({ mode: "atomic" });
    const create = batch.add(createCheckin({ location, tag: "atomic" }));
    const remove = batch.add(deleteCheckin(missing));
    const error = await batch.send().catch((error: unknown) => error);
    assert.ok(error instanceof BatchFailed);
    assert.throws(() => error.results.get(create), { name: "BatchItemNotRun" });
    assert.throws(() => error.results.get(remove), { name: "ItemDoesNotExist" });
    assert.deepEqual((await ada.checkins.search({ tag: "atomic" })).items, []);
  });

  it("is retried after a lost response, and the service applies it once", async () => {
    const { connection, requests } = connectThrough(async (count, answer) => {
      const response = await answer();
      if (count > 1) return response;
      await response.arrayBuffer();
      throw new TypeError("the answer is lost");
    });
    const batch = connection.batch();
    const items = [1, 2].map(() => batch.add(createCheckin({ location, tag: "lost answer" })));
    const results = await batch.send();
    assert.equal(requests.length, 2);
    assert.deepEqual(requests[0], requests[1]);
    const found = await ada.checkins.search({ tag: "lost answer", sortOrder: "created" });
    assert.deepEqual(found.items.map(({ id }) => id).sort(), items.map((item) => results.get(item).id).sort());
  });

  it("can be sent again by the app after a lost response, with the same idempotency keys", async () => {
    const { connection } = connectThrough(async (count, answer) => {
      const response = await answer();
      if (count > 1) return response;
      await response.arrayBuffer();
      throw new TypeError("the answer is lost");
    });
    const batch = connection.batch();
    const item = batch.add(createCheckin({ location, tag: "sent again" }));
    await assert.rejects(batch.send({ retry: false }), { name: "ConnectionError", outcome: "unknown" });
    const { id } = (await batch.send()).get(item);
    const found = await ada.checkins.search({ tag: "sent again" });
    assert.deepEqual(
      found.items.map((checkin) => checkin.id),
      [id],
    );
  });

  it("retries items that failed temporarily, with the items that depend on them", async () => {
    const { connection, requests } = connectThrough(async (count, answer) => {
      const response = await answer();
      if (count > 1) return response;
      const envelope = await response.json();
      const [first, second, third] = envelope.result.responses;
      const busy = await refusal(503, "ServiceUnavailable").json();
      const unmet = await refusal(424, "BatchItemNotRun").json();
      envelope.result.responses = [{ ...busy, key: first.key }, { ...unmet, key: second.key }, third];
      return Response.json(envelope);
    });
    const batch = connection.batch();
    const busy = batch.add(createCheckin({ location, tag: "busy" }));
    const needing = batch.add(putMetadata(busy.ref.id, "a", { value: busy.ref.tag }));
    const done = batch.add(createCheckin({ location, tag: "done" }));
    const results = await batch.send();
    assert.deepEqual(
      requests.map(({ requests }) => requests.map(({ key }) => key)),
      [
        ["0", "1", "2"],
        ["0", "1"],
      ],
    );
    assert.deepEqual([results.get(busy).tag, results.get(done).tag], ["busy", "done"]);
    assert.equal(results.outcome(needing).ok, true);
    assert.equal((await ada.checkins.search({ tag: "busy" })).items.length, 1);
  });

  it("reports the outcome of each item when a retry is refused, and then stops retrying", async () => {
    const { connection, requests } = connectThrough(async (count, answer) => {
      if (count > 1) return refusal(403, "AuthUserAccountDisabled");
      const envelope = await (await answer()).json();
      const [first, second] = envelope.result.responses;
      const busy = await refusal(503, "ServiceUnavailable").json();
      envelope.result.responses = [first, { ...busy, key: second.key }];
      return Response.json(envelope);
    });
    const batch = connection.batch({ mode: "sequential" });
    const done = batch.add(createCheckin({ location, tag: "kept" }));
    const lost = batch.add(createCheckin({ location, tag: "perhaps" }));
    const results = await batch.send();
    assert.equal(results.get(done).tag, "kept");
    const outcome = results.outcome(lost);
    assert.ok(!outcome.ok);
    const { error } = outcome;
    assert.ok(error instanceof ServiceError);
    assert.ok(error.is("AuthUserAccountDisabled"));
    assert.equal(requests.length, 2);
    const { outcome: known, call, idempotencyKey } = error;
    assert.deepEqual([known, call?.operation], ["unknown", "createCheckin"]);
    const { id } = await ada.send(createCheckin({ location, tag: "perhaps" }), { idempotencyKey });
    const found = await ada.checkins.search({ tag: "perhaps" });
    assert.deepEqual(
      found.items.map((checkin) => checkin.id),
      [id],
    );
  });

  it("is retried as often as a single call when its retries get no response", async () => {
    const { connection, requests } = connectThrough(async (count) => {
      if (count > 1) throw new TypeError("there is no connection");
      const busy = await refusal(503, "ServiceUnavailable").json();
      return success({ responses: [{ ...busy, key: "0" }] });
    });
    const batch = connection.batch({ mode: "atomic" });
    const lost = batch.add(createCheckin({ location }));
    const error = await batch.send().catch((error: unknown) => error);
    assert.ok(error instanceof BatchFailed && error.outcome === "unknown" && error.isRetryable);
    assert.throws(() => error.results.get(lost), { name: "ConnectionError" });
    assert.equal(requests.length, 1 + 4);
  });

  it("is sent in several requests when it is large, and is refused when its mode does not allow that", async () => {
    const { connection, requests } = connectThrough((_, answer) => answer());
    const batch = connection.batch();
    const first = batch.add(createCheckin({ location, tag: "large" }));
    for (let count = 0; count < 199; count += 1) batch.add(getCheckin(first.ref.id));
    const late = batch.add(putMetadata(first.ref.id, "late", { value: `{{${first.ref.tag}}}` }));
    const results = await batch.send();
    assert.deepEqual(
      requests.map(({ requests, references }) => [requests.length, references]),
      [
        [200, true],
        [1, undefined],
      ],
    );
    assert.equal(results.outcome(late).ok, true);
    assert.equal(requests[1]?.requests[0]?.path, `/metadata/${results.get(first).id}/late`);
    assert.equal(await ada.metadata.of(results.get(first)).get("late"), "{{large}}");
    const sequential = connection.batch({ mode: "sequential" });
    for (let count = 0; count < 201; count += 1) sequential.add(getCheckin("chk_1"));
    await assert.rejects(sequential.send(), { name: "ConfigurationError", outcome: "none" });
    assert.equal(requests.length, 2);
  });

  it("sends no request without items, and accepts no uploads", async () => {
    const { connection, requests } = connectThrough((_, answer) => answer());
    const batch = connection.batch();
    await batch.send();
    assert.equal(requests.length, 0);
    const lone = { ...readCall, operation: { ...readCall.operation, isBatchable: false } };
    // @ts-expect-error its type says that it cannot be in a batch
    assert.throws(() => batch.add(lone), { name: "ConfigurationError" });
    const rule = { name: "ConfigurationError", message: /^call must be the result of a function/ };
    for (const wrong of [undefined, createCheckin, {}]) assert.throws(() => batch.add(wrong as never), rule);
    assert.throws(() => batch.add(getCheckin("")), { name: "ConfigurationError", message: /ids and keys/ });
    const unwritable = putMetadata("me", "key", { value: 5n });
    assert.throws(() => batch.add(unwritable), { name: "ConfigurationError", message: /BigInt/ });
  });
});
