import type { IncomingHttpHeaders } from "node:http";
import { type Answer, contentOf } from "./http.ts";

/** The state of a connection whose bytes are parsed. */
export interface Received {
  /** Whether the request was HEAD, whose response has no body. */
  readonly isHead?: boolean;
  /** Whether no more bytes follow, which ends a body without a length. */
  readonly isOver?: boolean;
}

/** A response, and the number of its bytes with the interim ones (1xx) before it. */
export interface ParsedAnswer extends Answer {
  readonly length: number;
}

/** Parses the first HTTP response strictly. @returns undefined while it is incomplete; status 0 for anything else */
export function parseAnswer(bytes: Buffer, state: Received = {}): ParsedAnswer | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})\b/.exec(statusLine)?.[1] ?? 0);
  const rest = bytes.subarray(headEnd + 4);
  if (status >= 100 && status < 200) {
    const final = parseAnswer(rest, state);
    return final && { ...final, length: headEnd + 4 + final.length };
  }
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const isEmpty = state.isHead === true || status === 204 || status === 304;
  const found = isEmpty ? { body: Buffer.alloc(0), length: 0 } : findBody(rest, headers, state.isOver === true);
  return found && { status, headers, ...contentOf(found.body, headers), length: headEnd + 4 + found.length };
}

function findBody(
  rest: Buffer,
  headers: IncomingHttpHeaders,
  isOver: boolean,
): { readonly body: Buffer; readonly length: number } | undefined {
  const declared = headers["content-length"];
  if (declared === undefined && headers["transfer-encoding"]?.toLowerCase() === "chunked") return findChunks(rest);
  const length = declared === undefined ? rest.length : Number(declared);
  const isComplete = declared === undefined ? isOver : rest.length >= length;
  return isComplete ? { body: rest.subarray(0, length), length } : undefined;
}

function findChunks(rest: Buffer): { readonly body: Buffer; readonly length: number } | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf("\r\n", at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(rest.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (Number.isNaN(size) || rest.length < end + 2) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks), length: end + 2 };
    chunks.push(rest.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}
