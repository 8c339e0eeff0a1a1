/** A refusal of the server, or a call that did not reach it. */
export class CallError extends Error {
  /** 0 if there was no answer. */
  readonly status: number;
  /** The name of the condition, such as ItemDoesNotExist. */
  readonly condition: string;
  readonly number: number | undefined;
  /** The invalid parameter, if there is exactly one. */
  readonly parameter: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string | undefined;
  /** The response body, for errors with more details. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, details: Readonly<Record<string, unknown>>) {
    const condition = textOf(details["error"]) ?? "Unreachable";
    super(textOf(details["message"]) ?? condition);
    this.status = status;
    this.condition = condition;
    this.number = numberOf(details["errorNumber"]);
    this.parameter = textOf(details["parameter"]);
    this.retryAfterSeconds = numberOf(details["retryAfterSeconds"]);
    this.requestId = textOf(details["request_id"]);
    this.details = details;
  }
}

/** The problem of one of several settings. */
export interface Problem {
  readonly path?: string;
  readonly message: string;
}

/** The messages of a refusal by field, for `Form`; empty where the refusal names no field. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof CallError)) return {};
  const problems = problemsOf(error).flatMap(({ path, message }) => (path === undefined ? [] : [[path, message]]));
  if (problems.length > 0) return Object.fromEntries(problems);
  return error.parameter === undefined ? {} : { [error.parameter]: error.message };
}

/** The problems that a refusal of settings lists. */
export function problemsOf({ details }: CallError): readonly Problem[] {
  const problems: unknown = details["problems"];
  return Array.isArray(problems) ? problems : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
