/** Encodes requests, byte by byte. */

export type HeaderLine = readonly [name: string, value: string];

export interface Request {
  readonly method: string;
  /** Path and query, as they are sent. */
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer;
}

/** Content-Length is added if there is a body and the headers declare no length. */
export function writeRequest({ method, target, headers, body }: Request): Buffer {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...(names.has("host") ? [] : ["Host: fuzz"]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(body.length === 0 || names.has("content-length") || names.has("transfer-encoding")
      ? []
      : [`Content-Length: ${body.length}`]),
  ];
  // Text beyond Latin-1 is sent as UTF-8, as simple clients do.
  const head = Buffer.concat(lines.map((line) => Buffer.from(`${line}\r\n`, isLatin1(line) ? "latin1" : "utf8")));
  return Buffer.concat([head, Buffer.from("\r\n"), body]);
}

function isLatin1(text: string): boolean {
  return !/[^\0-\xff]/.test(text);
}

/** A shell command that sends the same bytes to a server at $PORT. */
export function describeRequest(bytes: Buffer): string {
  const text = bytes.toString("latin1").replaceAll(/[^\x20-\x7e]|['\\%]/g, escapeByte);
  return `printf '${text}' | nc -q 2 127.0.0.1 $PORT`;
}

function escapeByte(character: string): string {
  if (character === "\r") return "\\r";
  if (character === "\n") return "\\n";
  if (character === "%") return "%%";
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
