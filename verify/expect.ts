import { inspect, isDeepStrictEqual } from "node:util";
import type { Answer } from "./client.ts";
import type { ErrorRow } from "./errors.ts";
import { Failure } from "./failure.ts";
import { hideSecrets, shorten } from "./shown-text.ts";

/** @throws Failure unless `isKept` */
export function expectThat(answer: Answer, isKept: boolean, expected: string): void {
  if (!isKept) throw new Failure(answer, expected, describe(answer));
}

/** Expects deep equality of a part of the answer. @throws Failure */
export function expectEqual(answer: Answer, what: string, received: unknown, expected: unknown): void {
  if (isDeepStrictEqual(received, expected)) return;
  throw new Failure(answer, `${what}: ${show(expected)}`, `${show(received)}\nin ${describe(answer)}`);
}

/** Expects success in the envelope (spec/transport#envelope), and returns its result. @throws Failure */
export function expectResult(answer: Answer, status: 200 | 201 = 200): Answer["body"] {
  const expected = `status ${status} with a result`;
  const { body } = answer;
  expectThat(answer, answer.status === status && isObject(body) && body["status"] === status, expected);
  expectThat(answer, body.result !== undefined && body.result !== null, expected);
  expectThat(answer, body.success === undefined || body.success === true, `${expected}, success true or absent`);
  const others = fieldsBeside(body, ["status", "result", "request_id", "success"]);
  expectThat(answer, others.length === 0, `${expected} and no ${others.join(", ")}`);
  return body.result;
}

/** Expects success with exactly this result. @throws Failure */
export function expectExactly(answer: Answer, result: unknown, status?: 200 | 201): void {
  expectEqual(answer, "result", expectResult(answer, status), result);
}

/** Expects exactly this failure in the envelope (spec/errors#error-shape). @throws Failure */
export function expectError(answer: Answer, ...rows: readonly [ErrorRow, ...ErrorRow[]]): void {
  const { body } = answer;
  const row = rows.find(({ error, status }) => body?.error === error && answer.status === status) ?? rows[0];
  const expected = rows.map(describeRow).join(" or ");
  expectThat(answer, answer.status === row.status && isObject(body) && body["status"] === row.status, expected);
  expectThat(answer, body.error === row.error && body.errorNumber === row.errorNumber, expected);
  expectThat(answer, body.success === false, `${expected}, success false`);
  const { request_id, message } = body;
  expectThat(answer, typeof request_id === "string" && request_id !== "", `${expected}, a request_id`);
  expectThat(answer, matchesMessage(message, row.message), expected);
  expectDetails(answer, expected);
  const known = [
    ...["status", "error", "errorNumber", "message", "parameter", "retryAfterSeconds", "request_id", "success"],
  ];
  const others = fieldsBeside(body, known);
  expectThat(answer, others.length === 0, `${expected} and no ${others.join(", ")}`);
}

/** The members of an error besides its name (spec/errors#error-details). */
function expectDetails(answer: Answer, expected: string): void {
  const { error, parameter, retryAfterSeconds } = answer.body;
  const namesParameter = /^Parameter/.test(error) || error === "ItemAlreadyExists" || error === "RequestTooLarge";
  const isNamed = namesParameter && typeof parameter === "string" && parameter.length <= 300;
  expectThat(answer, parameter === undefined || isNamed, `${expected}, parameter a text or absent`);
  const header = answer.headers["retry-after"];
  const seconds = header === undefined ? undefined : Number(header);
  expectThat(answer, retryAfterSeconds === seconds, `${expected}, retryAfterSeconds as Retry-After`);
}

/** Expects identical bytes except for the request ids. @throws Failure */
export function expectSameAnswer(answer: Answer, other: Answer): void {
  const [text, otherText] = [answer, other].map((each) => each.text.replace(String(each.body?.request_id), "<id>"));
  expectThat(answer, answer.status === other.status && text === otherText, `the same bytes as ${describe(other)}`);
}

/** Expects any 4xx error in the envelope. @throws Failure */
export function expectRefused(answer: Answer): void {
  const { status, body, headers } = answer;
  const isEnvelope =
    headers["content-type"] === "application/json" &&
    isObject(body) &&
    typeof body["error"] === "string" &&
    typeof body["errorNumber"] === "number";
  expectThat(answer, status >= 400 && status < 500 && isEnvelope, "a 4xx error in the envelope");
}

/** Expects any success or refusal in the envelope, but no server fault. @throws Failure */
export function expectNoFault(answer: Answer): void {
  if (answer.status < 400) expectThat(answer, isObject(answer.body), "an envelope");
  else expectRefused(answer);
}

/** Returns the milliseconds of `/Date(<ms>)/`. @throws Failure */
export function expectDate(answer: Answer, what: string, text: unknown): number {
  const ms = typeof text === "string" ? /^\/Date\((-?\d+)\)\/$/.exec(text)?.[1] : undefined;
  if (ms === undefined) throw new Failure(answer, `${what}: /Date(<milliseconds>)/`, show(text));
  return Number(ms);
}

/** An answer as a report shows it. */
function describe(answer: Answer): string {
  const type = answer.headers["content-type"] ?? "no content type";
  const label = type === "application/json" ? "" : ` (${type})`;
  return `status ${answer.status}${label} ${shorten(hideSecrets(answer.text, [])) || "(empty body)"}`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return shorten(inspect(value, { depth: 6, breakLength: 120 }));
}

function fieldsBeside(body: object, known: readonly string[]): string[] {
  return Object.keys(body).filter((field) => !known.includes(field));
}

function matchesMessage(message: unknown, rule: ErrorRow["message"]): boolean {
  if (rule === "none") return message === undefined;
  if (rule === "any") return message === undefined || typeof message === "string";
  return typeof message === "string" && (typeof rule === "string" ? message === rule : rule.test(message));
}

function describeRow({ status, error, errorNumber, message }: ErrorRow): string {
  const rules: Record<string, string> = { none: ", no message", any: "" };
  const rule = rules[String(message)] ?? `, message ${message}`;
  return `status ${status}, ${error} ${errorNumber}${rule}`;
}
