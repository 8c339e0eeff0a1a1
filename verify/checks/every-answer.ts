import { createAnswerJudge } from "../../sdk/src/parts/testing/answer-judge.ts";
import { createBatchJudge, type SentItem } from "../../sdk/src/parts/testing/batch-judge.ts";
import { createOperationFinder } from "../../sdk/src/parts/testing/find-operation.ts";
import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { expectEqual, expectThat, isObject } from "../expect.ts";
import { openapi, openapiOfOperators } from "../openapi.ts";

/**
 * Pages under /_/, files, tus, preflights and HEAD follow other protocols; raw requests check their answers themselves.
 */
function isEnvelope({ method, path, status }: Answer): boolean {
  const isPage = /^\/_\/(?!health\/)/.test(path) && status < 400;
  const isFile = /^\/(pictures|videos|blobs)\/[^/]+\/file(\?|$)/.test(path) && status < 400;
  const isTus = /^\/files\/uploads(\/|$)/.test(path) && status < 400;
  return !isPage && !isFile && !isTus && !["OPTIONS", "HEAD", ""].includes(method);
}

/** The items of a batch that say their operation, as the check that sent them wrote them. */
function itemsOf({ sent }: Answer): SentItem[] {
  const { requests } = Object(sent);
  const isItem = (item: unknown): item is SentItem => {
    const { key = "", method, path } = Object(item);
    return [key, method, path].every((member) => typeof member === "string");
  };
  return Array.isArray(requests) && requests.every(isItem) ? requests : [];
}

/** Guarantees for every answer, checked on all answers of the run. */
export const everyAnswer = group("every-answer", (it) => {
  /** Checks each answer on its own. */
  const test = (title: string, expect: (answer: Answer) => void) =>
    it(title, async ({ answers }) => {
      for (const answer of answers.filter(isEnvelope)) expect(answer);
    });
  test("spec/transport#envelope · Response envelope: every response body is a JSON object", (answer) =>
    expectThat(answer, isObject(answer.body), "a JSON object"));
  test("spec/transport#envelope · Response envelope: status is the status code of the outcome, as an integer", (answer) =>
    expectEqual(answer, "body.status", answer.body?.status, answer.status));
  test("spec/transport#envelope · Response envelope: result on success, error and errorNumber on failure only", (answer) => {
    const { body, status } = answer;
    const isSuccess = status < 400;
    expectThat(answer, isObject(body) && "result" in body === isSuccess, "a result on success only");
    const { error, errorNumber } = body;
    expectEqual(answer, "type of error", typeof error, isSuccess ? "undefined" : "string");
    expectEqual(answer, "type of errorNumber", typeof errorNumber, isSuccess ? "undefined" : "number");
    if (isSuccess) expectThat(answer, !("message" in body), "no message on success");
  });
  test("spec/transport#envelope · Response envelope: success is true or absent on success, false on failure", (answer) =>
    expectThat(answer, (answer.body?.success ?? answer.status < 400) === answer.status < 400, "success as the status"));
  it("spec/transport#envelope · Response envelope: request_id is present and unique", async ({ answers }) => {
    const seen = new Set<unknown>();
    for (const answer of answers.filter(isEnvelope)) {
      const id = answer.body?.request_id;
      expectThat(answer, typeof id === "string" && id !== "", "a request_id");
      expectThat(answer, !seen.has(id), `another request_id than ${id}, which an earlier answer had`);
      seen.add(id);
    }
  });
  it("spec/transport#openapi · every answer to an operation, or to an item of a batch, is one that the document describes", async (world) => {
    for (const { body: document } of [await openapi(world), await openapiOfOperators(world)]) {
      const [judge, find] = [createAnswerJudge(document), createOperationFinder(document)];
      const judgeBatch = createBatchJudge(document, judge);
      for (const answer of world.answers.filter(isEnvelope)) {
        const operation = find(answer.method, answer.path.split("?", 1)[0] ?? "");
        const text = JSON.stringify(answer.body);
        const sent = operation === "runBatch" && answer.status < 400 ? itemsOf(answer) : [];
        const problem =
          sent.length > 0 ? judgeBatch(answer.status, text, sent) : operation && judge(operation, answer.status, text);
        expectThat(answer, problem === undefined, `an answer that the document describes: ${problem}`);
      }
    }
  });
  test("spec/transport#content-type · Content-Type of every envelope is exactly application/json", (answer) =>
    expectEqual(answer, "Content-Type", answer.headers["content-type"], "application/json"));
  test("spec/transport#success · Success is 200 or 201, and no request failed with a 5xx", (answer) =>
    expectThat(
      answer,
      [200, 201].includes(answer.status) || (answer.status >= 400 && answer.status < 500),
      "2xx or 4xx",
    ));
  test("spec/transport#envelope · result is an object, a string, a number or true: never null, never a bare array", (answer) => {
    if (answer.status >= 400) return;
    const { result } = answer.body ?? {};
    const isFine = isObject(result) || typeof result === "string" || typeof result === "number" || result === true;
    expectThat(answer, isFine, "an object, a string, a number or true as result");
  });
  test("spec/transport#dates · Timestamp format: created, lastModified, lastLogin and accessTokenExpires are /Date(<milliseconds>)/", (answer) => {
    const times = answer.text.matchAll(/"(?:created|lastModified|lastLogin|accessTokenExpires)":("[^"]*"|[^,}]*)/g);
    if (answer.status >= 400) return;
    for (const [, time = ""] of times) {
      expectThat(answer, /^"\/Date\(-?\d+\)\/"$/.test(time), `/Date(<milliseconds>)/, not ${time}`);
    }
  });
});
