import { type AnswerDocument, type AnswerJudge, createAnswerJudge } from "./answer-judge.ts";
import { createOperationFinder } from "./find-operation.ts";

/** An item as the request of a batch holds it; its key is by default its position. */
export interface SentItem {
  readonly key?: string;
  readonly method: string;
  readonly path: string;
}

/** @returns the violation in the response to a batch or one of its items; undefined if it is valid */
export type BatchJudge = (status: number, text: string, items: readonly SentItem[]) => string | undefined;

/** Compares the answers to batches, and those to their items, with an OpenAPI document. */
export function createBatchJudge(
  document: AnswerDocument,
  judge: AnswerJudge = createAnswerJudge(document),
): BatchJudge {
  const findOperation = createOperationFinder(document);
  const all = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const refused = new Set(
    all.flatMap((operation) => (operation["x-batchable"] === false ? operation.operationId : [])),
  );

  function judgeItem(
    { method, path }: SentItem,
    { key, ...answer }: ItemAnswer,
    request_id: string,
  ): string | undefined {
    const operation = findOperation(method, path.split("?", 1)[0] ?? "");
    // No operation declares that a batch may not contain it.
    if (operation && refused.has(operation) && answer.error === "OperationNotFound") return undefined;
    const problem = operation && judge(operation, answer.status, JSON.stringify({ request_id, ...answer }));
    return problem && `${operation} as item ${key}: ${problem}`;
  }

  return (status, text, items) => {
    const problem = judge("runBatch", status, text);
    if (problem !== undefined) return problem;
    const { result, request_id } = JSON.parse(text);
    const answers: readonly ItemAnswer[] = result?.responses ?? [];
    for (const answer of answers) {
      if (answer.error === "BatchItemNotRun") continue; // of batches: no operation declares it
      const item = items.find(({ key }, index) => (key ?? `${index}`) === answer.key);
      const ofItem = item && judgeItem(item, answer, request_id);
      if (ofItem !== undefined) return ofItem;
    }
    return undefined;
  };
}

interface ItemAnswer {
  readonly key: string;
  readonly status: number;
  readonly error?: string;
}
