import { isUtf8 } from "node:buffer";
import type { RawParameters } from "../contract/call.ts";
import { ApiError } from "../lib/errors.ts";
import { parseJson } from "../lib/json.ts";

/**
 * Parses the parameters of a JSON or form body (spec/transport#bodies). With any content type, an empty body has no
 * parameters, and a body that begins with `{` is JSON.
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
 * Replaces a value whose percent-escapes are not UTF-8. No wire format accepts it, but the value of an unknown
 * parameter is ignored.
 */
const undecodable = Symbol("undecodable");

/** Parses the parameters of a query string or form. */
export function parseQuery(text: string): RawParameters {
  return parsePairs(text, unescapeUtf8);
}

/** More than any operation has; even unknown parameters cost time. HEADER_BYTES_MAX bounds queries. */
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
    const problem = cause instanceof RangeError ? "is nested too deep." : `is not valid JSON${faultOf(text)}.`;
    throw new ApiError("ParameterIncorrectFormat", `The body ${problem}`, { cause });
  }
  if (value === null) return [];
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new ApiError("ParameterIncorrectFormat", "The body must be a JSON object.");
  }
  return Object.entries(value);
}

/** In longer bodies, errors are not located, because that takes several times as long as parsing. */
const searchedCharactersMax = 16_384;

/** Returns the line and the column of the first invalid character. */
function faultOf(json: string): string {
  if (json.length > searchedCharactersMax) return "";
  let [from, until] = [0, json.length];
  while (from < until) {
    const middle = (from + until) >> 1;
    if (mayContinue(json.slice(0, middle + 1))) from = middle + 1;
    else until = middle;
  }
  if (from === json.length) return ": it ends too early";
  const lines = json.slice(0, from).split("\n");
  return `: line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** Whether the string can be the beginning of JSON. */
function mayContinue(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    const position = /at position (\d+)/.exec(message)?.[1];
    return position === undefined ? message.startsWith("Unexpected end") : Number(position) >= text.length;
  }
}
