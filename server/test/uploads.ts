import assert from "node:assert/strict";
import { dataPart, type FormPart, formHeaders, formOf } from "../../testkit/forms.ts";
import type { Answer, CallOptions, TestApp } from "./harness.ts";

export { dataPart, type FormPart, formHeaders, formOf };

/** Uploads a form over HTTP. */
export function postForm(
  test: TestApp,
  path: string,
  parts: readonly FormPart[],
  { headers, ...options }: CallOptions = {},
): Promise<Answer> {
  return test.call(`POST ${path}`, { ...options, body: formOf(parts), headers: { ...formHeaders, ...headers } });
}

// biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape, and assert their content
type Result = any;

/** The result of an upload that succeeds. */
export async function upload(
  test: TestApp,
  token: string,
  path: string,
  data: FormPart,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Result> {
  const body = { name: "body", value: JSON.stringify(fields), fileName: "body.json", contentType: "application/json" };
  const answer = await postForm(test, path, [body, data], { token });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.result;
}

export interface Download {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Reads bytes without decoding them. */
export async function download(
  test: TestApp,
  path: string,
  { token, headers, method = "GET" }: { token?: string; headers?: Record<string, string>; method?: string } = {},
): Promise<Download> {
  const url = path.startsWith("http") ? path : `${test.url}${path}`;
  const authorization = token === undefined ? {} : { authorization: `Service ${token}` };
  const answer = await fetch(url, { method, headers: { ...authorization, ...headers } });
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
}

/** A PNG of one colour, from its bytes. */
export async function png(width: number, height: number, background = "#123456"): Promise<Buffer> {
  const { default: sharp } = await import("sharp");
  return sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
}
