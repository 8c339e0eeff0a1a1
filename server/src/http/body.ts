import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { ApiError } from "../errors.ts";
import type { HeldBytes } from "../lib/byte-budget.ts";
import { parseJson } from "../lib/json.ts";
import { noteDiscarded } from "../lib/memory-relief.ts";
import type { RawParameters } from "./call.ts";
import { LargeBody } from "./large-body.ts";

// A rejected body is still received up to these bounds, so that the client gets to read the response.
const discardedBytesMax = 67_108_864;
const discardingMsMax = 5_000;

/** Smaller bodies are not counted: a connection's own buffers take as much. */
const uncountedBytesMax = 16_384;
/** A body whose bytes count against the in-flight budget of the process. */
export class HeldBody {
  /** Valid until `release`. */
  readonly bytes: Buffer;
  readonly release: () => void;

  constructor(bytes: Buffer, release: () => void) {
    this.bytes = bytes;
    this.release = release;
  }
}

/**
 * Reads a whole body into memory. Resolves with RequestTooLarge as soon as the body is known to exceed `bytesMax`, and
 * with ServiceUnavailable when too many bytes are in flight; the rest is then discarded as it arrives, because closing
 * the connection while the client sends would lose the response.
 *
 * @param hold counts the bytes in memory
 * @throws ApiError ParameterIncorrectFormat when the body ends prematurely
 */
export function readBody(
  stream: IncomingMessage,
  bytesMax: number,
  hold: () => HeldBytes,
): Promise<Buffer | HeldBody | ApiError> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const announced = Number(stream.headers["content-length"] ?? bytesMax);
    let length = 0;
    let large: LargeBody | undefined;
    let refusal: ApiError | undefined;

    function release(): void {
      chunks.length = 0;
      large?.release();
    }

    function refuse(reason: ApiError): void {
      if (refusal !== undefined) return;
      refusal = reason;
      release();
      const cut = setTimeout(() => {
        resolve(reason);
        stream.destroy();
      }, discardingMsMax).unref();
      stream.on("close", () => clearTimeout(cut));
      // With `Connection: close`, Node closes after the response, so the rest of the body has to be received first.
      if (stream.headers.connection?.toLowerCase() !== "close") resolve(reason);
    }

    /** @returns false when too many bytes are in flight */
    function keep(chunk: Buffer): boolean {
      if (announced <= uncountedBytesMax) {
        chunks.push(chunk);
        return true;
      }
      large ??= new LargeBody(Math.min(announced, bytesMax), hold());
      return large.add(chunk);
    }

    const tooLarge = () => new ApiError("RequestTooLarge", `The body is larger than ${bytesMax} bytes.`);
    if (announced > bytesMax) refuse(tooLarge());
    stream.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (announced > uncountedBytesMax) noteDiscarded(chunk.length); // copied below, or discarded
      if (length > bytesMax) refuse(tooLarge());
      if (refusal === undefined && !keep(chunk)) refuse(tooManyBytes());
      else if (length > bytesMax + discardedBytesMax) stream.destroy();
    });
    stream.on("end", () => {
      if (refusal !== undefined) resolve(refusal);
      else if (large === undefined) resolve(Buffer.concat(chunks));
      else resolve(new HeldBody(large.bytes, release));
    });
    stream.on("error", (cause) => {
      release();
      reject(new ApiError("ParameterIncorrectFormat", "The body broke off.", { cause }));
    });
  });
}

/** The error for a request when the in-flight budget is exhausted. */
export function tooManyBytes(): ApiError {
  return new ApiError("ServiceUnavailable", "Too many bytes of requests are in flight. Try again.");
}

/** Discards the rest of a refused body, as `readBody` does. Resolves when the response can be sent. */
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
      noteDiscarded(chunk.length);
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
 * Parses the parameters of a JSON or form body (spec/transport#bodies). Regardless of the content type, an empty body
 * has no parameters, and a body that begins with `{` is JSON.
 *
 * @throws ApiError ParameterIncorrectFormat, RequestTooLarge
 */
export function parseBody(body: Buffer, contentType: string | undefined): RawParameters {
  if (body.length === 0) return [];
  const text = decode(body, contentType);
  const begin = /[^\s\uFEFF]/.exec(text)?.index; // \s covers the white space of JSON
  if (begin === undefined) return [];
  const isForm = contentType !== undefined && /^\s*application\/x-www-form-urlencoded\b/i.test(contentType);
  if (!isForm || text[begin] === "{") return parseMembers(text);
  requireFewParameters(text);
  return isLatin1(contentType) ? parsePairs(text, unescapeLatin1) : parseQuery(text);
}

/**
 * Replaces a value whose percent-escapes are not UTF-8: no wire format accepts it, but an unknown parameter may have
 * it.
 */
const undecodable = Symbol("undecodable");

/** Parses the parameters of a query string or form. */
export function parseQuery(text: string): RawParameters {
  return parsePairs(text, unescapeUtf8);
}

/** More than any operation takes; each parameter costs time, even an unknown one. HEADER_BYTES_MAX bounds queries. */
const formParametersMax = 1_000;

/** @throws ApiError RequestTooLarge */
function requireFewParameters(form: string): void {
  if (form.split("&", formParametersMax + 1).length <= formParametersMax) return;
  throw new ApiError("RequestTooLarge", `A form may have at most ${formParametersMax} parameters.`);
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

/** @throws ApiError ParameterIncorrectFormat for an unknown charset, and for bytes that are invalid in it */
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
