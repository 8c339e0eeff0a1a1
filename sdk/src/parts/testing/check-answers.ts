import { type HasInside, inside } from "../../identity/inside.ts";
import type { InterceptedRequest, Interceptor } from "../../transport/interceptors.ts";
import { ConfigurationError, UnexpectedAnswer } from "../../wire/errors.ts";
import { type AnswerDocument, type AnswerJudge, createAnswerJudge } from "./answer-judge.ts";

export interface CheckAnswersOptions {
  /** The OpenAPI document; that of the service by default. */
  readonly document?: AnswerDocument;
}

/** Ends the check. */
export interface AnswerCheck {
  (): void;
  /** What was wrong so far, also with answers to calls in the background, which reject nowhere. */
  readonly problems: readonly string[];
}

/**
 * Compares each answer to a client with the OpenAPI document of the service. A call whose answer has an undeclared member, a value of
 * another type, a date that is none or an error that its operation does not declare rejects with UnexpectedAnswer. The results of
 * a batch's items, which the document does not describe, are not compared.
 */
export function checkAnswers(
  client: HasInside & { intercept(interceptor: Interceptor): () => void },
  { document }: CheckAnswersOptions = {},
): AnswerCheck {
  const problems: string[] = [];
  let judge: Promise<AnswerJudge> | undefined;

  async function fetchJudge(): Promise<AnswerJudge> {
    if (document !== undefined) return createAnswerJudge(document);
    const { url } = client[inside].client;
    try {
      const response = await fetch(`${url}/_/openapi.json`);
      if (response.ok) return createAnswerJudge(await response.json());
      throw new Error(`status ${response.status}`);
    } catch (cause) {
      judge = undefined;
      throw new ConfigurationError(`checkAnswers: ${url} has no OpenAPI document.`, { cause });
    }
  }

  async function attempt(request: InterceptedRequest, next: () => Promise<Response>): Promise<Response> {
    const response = await next();
    const { operation, method, path } = request;
    if (!/^application\/json\b/.test(response.headers.get("Content-Type") ?? "")) return response;
    judge ??= fetchJudge();
    const find = await judge;
    // A call in place of a method that the network does not let through is a batch of one.
    const id = method === operation.method ? operation.id : "runBatch";
    const text = await response.clone().text();
    const problem = find(id, response.status, text);
    if (problem === undefined) return response;
    problems.push(`${operation.id}: ${problem}`);
    const call = { operation: operation.id, method, path };
    throw new UnexpectedAnswer(`the OpenAPI document does not allow it: ${problem}`, {
      ...{ call, status: response.status, snippet: text.slice(0, 200) },
      attempts: request.attempt ?? 1,
      outcome: operation.method === "GET" ? "none" : "unknown",
    });
  }

  return Object.assign(client.intercept({ attempt }), { problems });
}
