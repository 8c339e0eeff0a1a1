import assert from "node:assert/strict";
import { metadataOf } from "../../testkit/forms.ts";
import type { Answer, TestApp } from "./harness.ts";

export const tusHeaders = { "tus-resumable": "1.0.0" };
export const bytesHeaders = { ...tusHeaders, "content-type": "application/offset+octet-stream" };

export { metadataOf };

type App = Pick<TestApp, "call">;

export function createUpload(
  test: App,
  token: string | undefined,
  length: number | string,
  values: Readonly<Record<string, string>> = { kind: "blob" },
  { headers, body }: { headers?: Record<string, string>; body?: Buffer | string } = {},
): Promise<Answer> {
  return test.call("POST /files/uploads", {
    ...(token !== undefined && { token }),
    headers: { ...tusHeaders, "upload-length": `${length}`, "upload-metadata": metadataOf(values), ...headers },
    ...(body !== undefined && { body }),
  });
}

/** Starts an upload that must be accepted. @returns its path */
export async function begin(
  test: App,
  token: string,
  length: number,
  values?: Readonly<Record<string, string>>,
): Promise<string> {
  const answer = await createUpload(test, token, length, values);
  assert.equal(answer.status, 201, answer.text);
  return pathOf(answer);
}

export function pathOf({ headers }: Answer): string {
  return new URL(`${headers["location"]}`).pathname;
}

export function sendBytes(
  test: App,
  token: string,
  path: string,
  offset: number,
  body: Buffer | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const all = { ...bytesHeaders, "upload-offset": `${offset}`, ...headers };
  return test.call(`PATCH ${path}`, { token, body, headers: all });
}

export function findUpload(test: App, token: string, path: string): Promise<Answer> {
  return test.call(`HEAD ${path}`, { token, headers: tusHeaders });
}

export async function offsetOf(test: App, token: string, path: string): Promise<number> {
  const { status, headers } = await findUpload(test, token, path);
  assert.equal(status, 200);
  return Number(headers["upload-offset"]);
}
