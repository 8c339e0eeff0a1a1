import type { IncomingHttpHeaders } from "node:http";

/** An answer by itself, whatever the request was. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies have every shape, and checks validate what they read
  readonly body: any;
}

/** The complete HTTP answers in the bytes of a connection, without interim ones (1xx). */
export function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const headEnd = rest.indexOf("\r\n\r\n");
    const [statusLine = "", ...lines] = rest.subarray(0, headEnd).toString("latin1").split("\r\n");
    const status = Number(/^HTTP\/1\.[01] (\d{3})\b/.exec(statusLine)?.[1]);
    if (headEnd === -1 || Number.isNaN(status)) break;
    const headers = parseHeaders(lines);
    const after = rest.subarray(headEnd + 4);
    const { body, length } = readBody(after, headers, status);
    rest = after.subarray(length);
    const text = body.toString("utf8");
    if (status >= 200) answers.push({ status, headers, text, body: parseJson(text) });
  }
  return answers;
}

function parseHeaders(lines: readonly string[]): IncomingHttpHeaders {
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
}

function readBody(bytes: Buffer, headers: IncomingHttpHeaders, status: number): { body: Buffer; length: number } {
  if (status < 200 || status === 204 || status === 304) return { body: Buffer.alloc(0), length: 0 };
  if (headers["transfer-encoding"]?.toLowerCase() === "chunked") return readChunks(bytes);
  const length = Math.min(Number(headers["content-length"] ?? bytes.length), bytes.length);
  return { body: bytes.subarray(0, length), length };
}

function readChunks(bytes: Buffer): { body: Buffer; length: number } {
  const chunks: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) break;
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString("latin1"), 16);
    if (Number.isNaN(size)) break;
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
    if (size === 0) break;
  }
  return { body: Buffer.concat(chunks), length: Math.min(at, bytes.length) };
}

/** The parsed JSON, or undefined when the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
