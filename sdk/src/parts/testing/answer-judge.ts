import { compileSchema, type JsonSchema, type Judge } from "./answer-schema.ts";

/** The parts of the OpenAPI document of a service that say how it answers. */
export interface AnswerDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
  readonly "x-caller-errors": Readonly<Record<string, readonly string[]>>;
  readonly "x-error-catalogue": readonly {
    readonly condition: string;
    readonly name: string;
    readonly status: number;
  }[];
}

interface DescribedOperation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>> }>
  >;
  readonly "x-batchable"?: boolean;
  readonly "x-caller": string;
  readonly "x-errors": readonly string[];
  readonly "x-excluded-errors"?: readonly string[];
}

/** @returns the violation in a response to an operation; undefined if it is valid, or not written by the service */
export type AnswerJudge = (operation: string, status: number, text: string) => string | undefined;

/** Compares answers with an OpenAPI document: results, errors, and which errors an operation declares. */
export function createAnswerJudge(document: AnswerDocument): AnswerJudge {
  const all = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const operations = new Map(all.map((operation) => [operation.operationId, operation]));
  const { schemas } = document.components;
  const compiled = new Map<string, Judge>();

  function judgeOf(schema: JsonSchema): Judge {
    const name = JSON.stringify(schema);
    const judge = compiled.get(name) ?? compileSchema(schema, schemas);
    compiled.set(name, judge);
    return judge;
  }

  function judgeSuccess({ responses }: DescribedOperation, status: number, envelope: unknown): string | undefined {
    const schema = responses[status]?.content?.["application/json"]?.schema;
    return schema === undefined
      ? `a success with status ${status} is not declared`
      : judgeOf(schema)(envelope, "answer");
  }

  function judgeFailure(operation: DescribedOperation, envelope: Envelope): string | undefined {
    const { "x-caller": caller, "x-errors": own, "x-excluded-errors": excluded = [] } = operation;
    const ofCaller = document["x-caller-errors"][caller] ?? [];
    const possible = [...own, ...ofCaller.filter((condition) => !excluded.includes(condition))];
    const { error, status } = envelope;
    const isDeclared = document["x-error-catalogue"].some(
      (row) => row.name === error && row.status === status && possible.includes(row.condition),
    );
    if (!isDeclared) return `the error ${error} with status ${status} is not declared`;
    return judgeOf({ $ref: "#/components/schemas/ApiError" })(envelope, "answer");
  }

  return (id, status, text) => {
    const envelope = readEnvelope(text);
    if (envelope === undefined) return undefined;
    const operation = operations.get(id);
    if (operation === undefined) return "the document has no such operation";
    return envelope.success ? judgeSuccess(operation, status, envelope) : judgeFailure(operation, envelope);
  };
}

interface Envelope {
  readonly success: boolean;
  readonly status?: unknown;
  readonly error?: unknown;
}

/** Returns undefined for a response that the service has not written. */
function readEnvelope(text: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isEnvelope = typeof value === "object" && value !== null && "success" in value && "request_id" in value;
    return isEnvelope ? (value as Envelope) : undefined; // as the client recognizes it
  } catch {
    return undefined;
  }
}
