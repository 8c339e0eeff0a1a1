import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { createCheckin, getCheckin, getDevice, putMetadata } from "../src/generated/calls.ts";
import { createAnswerJudge } from "../src/parts/testing/answer-judge.ts";
import { checkAnswers } from "../src/parts/testing/check-answers.ts";
import { UnexpectedAnswer } from "../src/wire/errors.ts";
import { answerDocument } from "./checked-fetch.ts";
import { testClient } from "./clients.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

type Envelope = Record<string, unknown> & { result?: Record<string, unknown> };

/** A signed-in client with checked answers, of which a test alters those to reads of check-ins. */
async function checkedClient(methods: "all" | "get-post" = "all") {
  const network = { alter: (_: Envelope) => {} };
  const client = testClient(test, {
    methods,
    retry: false,
    async fetch(input, init) {
      const response = await fetch(input, init);
      if (init?.method !== "GET" && !`${input}`.endsWith("/batch")) return response;
      if (init?.method === "GET" && !`${input}`.includes("/checkins/")) return response;
      const envelope: Envelope = await response.json();
      network.alter(envelope);
      return Response.json(envelope, { status: response.status });
    },
  });
  const end = checkAnswers(client);
  await client.signUp({ userName: `u-${crypto.randomUUID()}`, password: "correct horse" });
  const { id } = await client.checkins.create({ location: { lat: 48.2, lng: 16.37 } });
  return { client, end, network, id, read: () => client.checkins.get(id) };
}

/** Each deviation of an answer, and what its error says. */
const deviations: readonly [string, (envelope: Envelope) => void, RegExp][] = [
  ["an undeclared member", ({ result }) => Object.assign(result ?? {}, { mood: "good" }), /undeclared member mood/],
  [
    "a value of another type",
    ({ result }) => Object.assign(result ?? {}, { comment: 7 }),
    /comment is of type integer/,
  ],
  [
    "a date that is none",
    ({ result }) => Object.assign(result ?? {}, { created: "yesterday" }),
    /created does not match/,
  ],
  ["a member that is missing", ({ result }) => void delete result?.["userID"], /has no userID/],
  [
    "a result of another operation",
    (envelope) => Object.assign(envelope, { result: true }),
    /result is of type boolean/,
  ],
  [
    "an error that the operation does not declare",
    (envelope) => Object.assign(envelope, { success: false, status: 400, error: "ItemAlreadyExists" }),
    /error ItemAlreadyExists with status 400 is not declared/,
  ],
];

describe("checkAnswers", () => {
  for (const [what, alter, message] of deviations) {
    it(`rejects a call that is answered with ${what}`, async () => {
      const { client, end, network, read } = await checkedClient();
      await read();
      assert.deepEqual(end.problems, []);
      network.alter = alter;
      await assert.rejects(read(), (error) => {
        assert.ok(error instanceof UnexpectedAnswer);
        assert.match(error.message, message);
        assert.equal(error.call?.operation, "getCheckin");
        return true;
      });
      assert.match(`${end.problems}`, message);
      end();
      await read().catch((error: unknown) => assert.ok(!(error instanceof UnexpectedAnswer)));
      await client.close();
    });
  }

  for (const methods of ["all", "get-post"] as const) {
    it(`rejects a batch with a wrong answer to one of its items, also if it stands for another method (${methods})`, async () => {
      const { client, end, network, id } = await checkedClient(methods);
      network.alter = ({ result }) => {
        const [first] = (result?.["responses"] ?? []) as Envelope[];
        Object.assign(first?.result ?? {}, { mood: "good" });
      };
      const batch = client.batch();
      batch.add(getCheckin(id));
      const changed = () => client.checkins.change(id, { comment: "again" });
      await assert.rejects(methods === "all" ? batch.send() : changed(), (error) => {
        assert.ok(error instanceof UnexpectedAnswer);
        assert.match(error.message, /(get|change)Checkin as item 0: .*undeclared member mood/);
        return true;
      });
      end();
      await batch.send();
      assert.equal(end.problems.length, 1);
      await client.close();
    });
  }

  it("lets the answers of the service pass: results, pages, errors, batches and files", async () => {
    const { client, end } = await checkedClient();
    await client.checkins.search({ pageSize: 1 });
    await assert.rejects(client.users.get("me!"), { name: "ParameterIncorrectFormat" });
    await client.metadata.ofMe().put("mood", { any: "thing" });
    const blob = await client.blobs.create(new Blob(["hello"]));
    assert.equal(await (await client.blobs.download(blob.id)).text(), "hello");
    const batch = client.batch({ mode: "sequential" });
    const place = batch.add(createCheckin({ location: { lat: 48.2, lng: 16.37 } }));
    batch.add(putMetadata(place.ref.id, "mood", { value: "good" }));
    batch.add(getCheckin("chk_00000000000000000000"));
    batch.add(getDevice());
    const results = await batch.send();
    assert.ok(results.outcome(place).ok);
    await client.session?.signOut();
    assert.deepEqual(end.problems, []);
    await client.close();
  });

  it("knows an operation by its id, and says when the document has none of it", () => {
    const judge = createAnswerJudge(answerDocument);
    const text = JSON.stringify({ status: 200, result: "Pong", request_id: "r", success: true });
    assert.equal(judge("ping", 200, text), undefined);
    assert.equal(judge("pong", 200, text), "the document has no such operation");
    assert.equal(judge("ping", 202, text), "a success with status 202 is not declared");
    assert.equal(judge("ping", 200, "<html>Sign in to this network</html>"), undefined);
  });
});
