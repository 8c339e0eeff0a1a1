import { readFileSync } from "node:fs";
import path from "node:path";
import { type AnswerDocument, createAnswerJudge } from "../src/parts/testing/answer-judge.ts";
import { createBatchJudge } from "../src/parts/testing/batch-judge.ts";
import { createOperationFinder } from "../src/parts/testing/find-operation.ts";
import { networkOfNode } from "./network-of-node.ts";

/** The document of this version of the service for clients. */
export const answerDocument = readDocument("openapi.json");
const judges = [answerDocument, readDocument("openapi.operators.json")].map((document) => {
  const judge = createAnswerJudge(document);
  return { judge, judgeBatch: createBatchJudge(document, judge), findOperation: createOperationFinder(document) };
});

function readDocument(name: string): AnswerDocument {
  return JSON.parse(readFileSync(path.resolve(import.meta.dirname, "../../docs", name), "utf8"));
}

/**
 * Compares each answer of the service with its OpenAPI document, those to the items of a batch too. A test in which one differs fails,
 * also if the call was made in the background. Answers that a test has made up have no address, and are not compared.
 */
export function checkedFetch(network: typeof fetch = networkOfNode): typeof fetch {
  return async (input, init) => {
    const response = await network(input, init);
    if (response.url === "" || !/^application\/json\b/.test(response.headers.get("content-type") ?? ""))
      return response;
    const text = await response
      .clone()
      .text()
      .catch(() => ""); // the answer is cut, or its call has been aborted
    const problem = findProblem(
      init?.method ?? "GET",
      new URL(response.url).pathname,
      response.status,
      text,
      init?.body,
    );
    if (problem !== undefined) setImmediate(() => reportProblem(problem));
    return response;
  };
}

/** The runner fails the test that runs when an error is caught nowhere. */
function reportProblem(problem: string): never {
  throw new Error(`${problem}: no document in docs/ describes this answer`);
}

function findProblem(
  method: string,
  pathname: string,
  status: number,
  text: string,
  body: unknown,
): string | undefined {
  for (const { judge, judgeBatch, findOperation } of judges) {
    const operation = findOperation(method, pathname);
    if (operation === undefined) continue;
    const problem =
      operation === "runBatch" && typeof body === "string"
        ? judgeBatch(status, text, JSON.parse(body).requests)
        : judge(operation, status, text);
    return problem && `${operation}: ${problem}`;
  }
  return undefined;
}
