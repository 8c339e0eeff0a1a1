import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { ApiError } from "../errors.ts";
import { parseJson } from "../lib/json.ts";
import type { RawParameters } from "./call.ts";

// How much of a body that is too large is still taken in, and for how long, so that its sender comes to read the answer.
const discardedBytesMax = 67_108_864;
const discardingMsMax = 5_000;

/**
 * Reads a whole body into memory. Resolves with RequestTooLarge as soon as it is known to be longer than `bytesMax`;
 * what is left of it is then discarded as it comes, because closing on a client that still sends takes the answer from
 * it.
 *
 * @throws ApiError ParameterIncorrectFormat when the body breaks off
 */
export function readBody(stream: IncomingMessage, bytesMax: number): Promise<Buffer | ApiError> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let tooLarge: ApiError | undefined;

    function refuse(): void {
      if (tooLarge !== undefined) return;
      const refusal = new ApiError("RequestTooLarge", `The body is larger than ${bytesMax} bytes.`);
      tooLarge = refusal;
      chunks.length = 0;
      const cut = setTimeout(() => {
        resolve(refusal);
        stream.destroy();
      }, discardingMsMax).unref();
      stream.on("close", () => clearTimeout(cut));
      // Node closes with the end of the answer where the client asked for it: there the rest of the body has to come first.
      if (stream.headers.connection?.toLowerCase() !== "close") resolve(refusal);
    }

    if (Number(stream.headers["content-length"]) > bytesMax) refuse();
    stream.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > bytesMax) refuse();
      if (tooLarge === undefined) chunks.push(chunk);
      else if (length > bytesMax + discardedBytesMax) stream.destroy();
    });
    stream.on("end", () => resolve(tooLarge ?? Buffer.concat(chunks)));
    stream.on("error", (cause) => reject(new ApiError("ParameterIncorrectFormat", "The body broke off.", { cause })));
  });
}

/**
 * Lets what is left of a refused body pass by, as `readBody` does. Resolves when the answer can be sent.
 */
export function discardRest(stream: IncomingMessage): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let length = 0;
    const cut = setTimeout(() => {
      resolve();
      stream.destroy();
    }, discardingMsMax).unref();
    stream.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > discardedBytesMax) stream.destroy();
    });
    stream.on("error", () => resolve());
    stream.on("close", () => {
      clearTimeout(cut);
      resolve();
    });
    stream.on("end", () => resolve());
    stream.resume();
    if (stream.headers.connection?.toLowerCase() !== "close") resolve();
  });
}

/**
 * The parameters of a JSON or form body (surface.md section 1). An empty body has none, whatever its label; one that
 * begins with `{` is JSON, whatever its label.
 *
 * @throws ApiError ParameterIncorrectFormat
 */
export function parseBody(body: Buffer, contentType: string | undefined): RawParameters {
  if (body.length === 0) return [];
  const text = decode(body, contentType);
  const begin = /[^\s\uFEFF]/.exec(text)?.index; // \s covers the blanks of JSON
  if (begin === undefined) return [];
  const isForm = contentType !== undefined && /^\s*application\/x-www-form-urlencoded\b/i.test(contentType);
  if (!isForm || text[begin] === "{") return parseMembers(text);
  return isLatin1(contentType) ? parsePairs(text, unescapeLatin1) : parseQuery(text);
}

/** Stands for a value whose escapes are not UTF-8: no wire format takes it, and an unknown parameter may hold it. */
const undecodable = Symbol("undecodable");

/** The parameters of a query string or form. */
export function parseQuery(text: string): RawParameters {
  return parsePairs(text, unescapeUtf8);
}

function parsePairs(text: string, unescapeText: (text: string) => string | symbol): RawParameters {
  if (text === "") return [];
  const parameters: [string, unknown][] = [];
  for (const pair of text.split("&")) {
    const equals = pair.indexOf("=");
    const name = unescapeText(equals === -1 ? pair : pair.slice(0, equals));
    if (typeof name === "string") parameters.push([name, equals === -1 ? "" : unescapeText(pair.slice(equals + 1))]);
  }
  return parameters;
}

function unescapeLatin1(text: string): string {
  return text.replaceAll("+", " ").replaceAll(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number(`0x${hex}`)));
}

function unescapeUtf8(text: string): string | symbol {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undecodable;
  }
}

function charsetOf(contentType: string | undefined): string | undefined {
  return /;\s*charset\s*=\s*["']?([^\s;"']+)/i.exec(contentType ?? "")?.[1]?.toLowerCase();
}

function isLatin1(contentType: string | undefined): boolean {
  const charset = charsetOf(contentType);
  return charset === "iso-8859-1" || charset === "latin1";
}

/** @throws ApiError ParameterIncorrectFormat for a charset that we do not know, and for bytes that are not of it */
export function decode(body: Buffer, contentType: string | undefined, what = "The body"): string {
  if (isLatin1(contentType)) return body.toString("latin1");
  const charset = charsetOf(contentType) ?? "utf-8";
  if (charset !== "utf-8" && charset !== "utf8" && charset !== "us-ascii") {
    throw new ApiError("ParameterIncorrectFormat", "The charset must be utf-8 or iso-8859-1.");
  }
  if (!isUtf8(body)) throw new ApiError("ParameterIncorrectFormat", `${what} is not valid UTF-8.`);
  return body.toString("utf8");
}

function parseMembers(text: string): RawParameters {
  let value: unknown;
  try {
    value = parseJson(text.startsWith("\uFEFF") ? text.slice(1) : text);
  } catch (cause) {
    const problem = cause instanceof RangeError ? "is nested too deep" : "is not valid JSON";
    throw new ApiError("ParameterIncorrectFormat", `The body ${problem}.`, { cause });
  }
  if (value === null) return [];
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new ApiError("ParameterIncorrectFormat", "The body must be a JSON object.");
  }
  return Object.entries(value);
}
