import type { IncomingHttpHeaders } from "node:http";

/** The head of a request of the fast path. */
export interface FastHead {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The length of the head in bytes, with the empty line at its end. */
  readonly headBytes: number;
  /** The length of the body in bytes, as announced. */
  readonly bodyBytes: number;
}

/**
 * What the fast path reads: less than HTTP allows, so that there is one way to read it. A target is a path without a
 * fragment, names have no punctuation but hyphens, lines are not folded, and every byte is printable ASCII.
 */
const grammar = /^(?:GET|POST|PUT|PATCH|DELETE) \/[!"$-~]* HTTP\/1\.1\r\n(?:[A-Za-z0-9-]+:[ -~]*\r\n){1,64}\r\n$/;

/** Headers that change how a request ends, or what the connection is used for afterwards. */
const framingHeaders: ReadonlySet<string> = new Set([
  ...["transfer-encoding", "te", "trailer", "expect", "upgrade", "proxy-connection", "http2-settings"],
  "rollcall-rehearse", // some rehearsed failures cut or delay what node:http writes
]);

/** V8 keeps a whole text in memory for each part of it that is longer than this. */
const copiedLengthMax = 12;

/**
 * Reads a head.
 *
 * @param bytes begins with the head
 * @param text the head as Latin-1, with the empty line at its end
 * @returns undefined if the request is not for the fast path, in which case node:http decides what it is
 */
export function readFastHead(bytes: Buffer, text: string): FastHead | undefined {
  if (!grammar.test(text)) return undefined;
  const methodEnd = text.indexOf(" ");
  const lineEnd = text.indexOf("\r\n");
  const headers: Record<string, string | undefined> = {};
  for (let begin = lineEnd + 2; begin < text.length - 2; ) {
    const colon = text.indexOf(":", begin);
    const end = text.indexOf("\r\n", colon);
    const name = text.slice(begin, colon).toLowerCase();
    if (headers[name] !== undefined || framingHeaders.has(name)) return undefined; // also names that every object has
    headers[name] = readValue(bytes, text, colon + 1, end);
    begin = end + 2;
  }
  const { host, connection, "content-length": length } = headers;
  if (host === undefined || !isKeptAlive(connection)) return undefined;
  const method = text.slice(0, methodEnd);
  const bodyBytes = length === undefined ? 0 : readLength(length);
  if (bodyBytes === undefined || (method === "GET" && bodyBytes > 0)) return undefined;
  const url = bytes.toString("latin1", methodEnd + 1, lineEnd - " HTTP/1.1".length);
  return { method, url, headers, headBytes: text.length, bodyBytes };
}

function isKeptAlive(connection: string | undefined): boolean {
  return connection === undefined || connection.toLowerCase() === "keep-alive";
}

function readLength(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** A text of its own, because a log, a cache or a list may keep it for longer than the request. */
function readValue(bytes: Buffer, text: string, begin: number, end: number): string {
  let from = begin;
  let to = end;
  while (from < to && text.charCodeAt(from) === space) from += 1;
  while (to > from && text.charCodeAt(to - 1) === space) to -= 1;
  return to - from > copiedLengthMax ? bytes.toString("latin1", from, to) : text.slice(from, to);
}

const space = 0x20;
