import { type HasInside, inside } from "../../identity/inside.ts";
import type { InterceptedRequest, Interceptor } from "../../transport/interceptors.ts";
import type { Transport } from "../../transport/transport.ts";
import type { Operation } from "../../wire/call.ts";
import { ConfigurationError, UnexpectedAnswer } from "../../wire/errors.ts";
import { type AnswerDocument, type AnswerJudge, createAnswerJudge } from "./answer-judge.ts";
import { type BatchJudge, createBatchJudge, type SentItem } from "./batch-judge.ts";

export interface CheckAnswersOptions {
  /** The OpenAPI document; that of the service by default. */
  readonly document?: AnswerDocument;
}

/** Stops the check. */
export interface AnswerCheck {
  (): void;
  /** The violations so far, including those in responses to background calls, whose errors no caller sees. */
  readonly problems: readonly string[];
}

/**
 * Compares each answer to a client with the OpenAPI document of the service. A call whose answer has an undeclared member, a value of
 * another type, a date that is none or an error that its operation does not declare rejects with UnexpectedAnswer. The answer to
 * each item of a batch is compared with its own operation.
 */
export function checkAnswers(
  client: HasInside & { intercept(interceptor: Interceptor): () => void },
  { document }: CheckAnswersOptions = {},
): AnswerCheck {
  const problems: string[] = [];
  const { transport } = client[inside];
  const { send } = transport;
  /** The items of each batch, by the operation of its call, which is the part of a call that interceptors see. */
  const sentItems = new WeakMap<Operation, readonly SentItem[]>();
  let judges: Promise<Judges> | undefined;

  const sendNoted: Transport["send"] = (call, principal, options) => {
    if (call.operation.id !== "runBatch") return send(call, principal, options);
    const operation = Object.freeze({ ...call.operation });
    // The type of a batch's description is that of the generated code.
    sentItems.set(operation, call.parameters?.["requests"] as readonly SentItem[]);
    return send({ ...call, operation }, principal, options);
  };

  async function fetchJudges(): Promise<Judges> {
    if (document !== undefined) return createJudges(document);
    const { url } = client[inside].client;
    try {
      const response = await fetch(`${url}/_/openapi.json`);
      if (response.ok) return createJudges(await response.json());
      throw new Error(`status ${response.status}`);
    } catch (cause) {
      judges = undefined;
      throw new ConfigurationError(`checkAnswers: ${url} has no OpenAPI document.`, { cause });
    }
  }

  async function attempt(request: InterceptedRequest, next: () => Promise<Response>): Promise<Response> {
    const response = await next();
    const { operation, method, path } = request;
    if (!/^application\/json\b/.test(response.headers.get("Content-Type") ?? "")) return response;
    judges ??= fetchJudges();
    const { judge, judgeBatch } = await judges;
    const text = await response.clone().text();
    // A call in place of a method that the network does not let through is a batch of one.
    const items = sentItems.get(operation) ?? (method !== operation.method && [{ method: operation.method, path }]);
    const problem = items ? judgeBatch(response.status, text, items) : judge(operation.id, response.status, text);
    if (problem === undefined) return response;
    problems.push(`${operation.id}: ${problem}`);
    const call = { operation: operation.id, method, path };
    throw new UnexpectedAnswer(`the OpenAPI document does not allow it: ${problem}`, {
      ...{ call, status: response.status, snippet: text.slice(0, 200) },
      attempts: request.attempt ?? 1,
      outcome: operation.method === "GET" ? "none" : "unknown",
    });
  }

  transport.send = sendNoted;
  const removeInterceptor = client.intercept({ attempt });
  const end = () => {
    removeInterceptor();
    if (transport.send === sendNoted) transport.send = send;
  };
  return Object.assign(end, { problems });
}

interface Judges {
  readonly judge: AnswerJudge;
  readonly judgeBatch: BatchJudge;
}

function createJudges(document: AnswerDocument): Judges {
  const judge = createAnswerJudge(document);
  return { judge, judgeBatch: createBatchJudge(document, judge) };
}
