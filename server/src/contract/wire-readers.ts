import { parseDate, parseDateRange } from "../lib/dates.ts";
import type { ErrorCondition } from "../lib/errors.ts";
import { kindOfId } from "../lib/ids.ts";
import { parseJson, writeJson } from "../lib/json.ts";
import type { IdKind } from "../lib/kinds.ts";
import { type Location, parseLocation, parseLocationRange } from "../lib/locations.ts";
import { trimAddress } from "../lib/mail-addresses.ts";
import { type Parsed, refuseFormat, refuseRange } from "../lib/parsed.ts";
import { parseLenientJson } from "./lenient-json.ts";
import type { Schema } from "./schema.ts";
import { LocationReference } from "./sent-locations.ts";

export type JsonMember = readonly [name: string, json: string];

/** What a schema of a wire format declares, and its reader reads. */
export interface Keywords {
  readonly "x-wire": keyof typeof readers;
  readonly "x-kind"?: IdKind;
  readonly "x-unbuilt"?: readonly string[];
  readonly "x-word"?: string;
  readonly "x-kinds"?: readonly IdKind[];
  readonly "x-words"?: readonly string[];
  readonly "x-numbered"?: boolean;
  readonly "x-refused-as"?: ErrorCondition;
  readonly enum?: readonly string[];
  readonly oneOf?: readonly [TextBounds, ...Schema[]];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

type TextBounds = Pick<Keywords, "minLength" | "maxLength">;

/** The readers of the wire formats. They do not throw, but return a problem. */
export const readers = {
  text: readText,
  integer: (value: unknown, keywords: Keywords) => readNumber(value, keywords, true),
  decimal: (value: unknown, keywords: Keywords) => readNumber(value, keywords, false),
  flag: readFlag,
  choice: readChoice,
  date: (value: unknown) => parseDate(plain(value)),
  dateRange: (value: unknown) => parseDateRange(plain(value)),
  location: readLocation,
  locationRange: (value: unknown) => parseLocationRange(value),
  scalar: readScalar,
  scalarOrMembers: readScalarOrObject,
  id: readId,
  url: readUrl,
  email: readEmail,
  raw: (value: unknown) => ({ value }),
  list: readList,
  members: readMembers,
  objectId: readObjectId,
  json: writeJson,
  jsonMembers: readJsonMembers,
};

/** Converts bigint, which the JSON parser returns so that string parameters retain all digits of a long integer. */
function plain(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

function readText(value: unknown, { minLength = 0, maxLength = Number.MAX_SAFE_INTEGER }: TextBounds): Parsed<string> {
  const text = typeof value === "number" || typeof value === "bigint" ? decimalText(value) : value;
  if (typeof text !== "string") return refuseFormat("must be a text");
  if (!text.isWellFormed() || text.includes("\0")) return refuseFormat("must be Unicode text without NUL");
  if (text.length < minLength * 2 && charactersIn(text) < minLength) {
    return refuseRange(`must have at least ${minLength} characters`);
  }
  if (text.length > maxLength && charactersIn(text) > maxLength) {
    return refuseRange(`must have at most ${maxLength} characters`);
  }
  return { value: text };
}

function readEmail(value: unknown, keywords: Keywords): Parsed<string> {
  const text = readText(value, {});
  return "problem" in text ? text : readText(trimAddress(text.value), keywords);
}

function readUrl(value: unknown, keywords: Keywords): Parsed<string> {
  const text = readText(value, keywords);
  if ("problem" in text || text.value === "") return text;
  const protocol = URL.parse(text.value)?.protocol;
  return protocol === "http:" || protocol === "https:" ? text : refuseFormat("must be an http or https URL");
}

function readScalar(value: unknown, keywords: Keywords): Parsed<string | number | boolean> {
  const plainValue = plain(value);
  if (typeof plainValue === "boolean") return { value: plainValue };
  if (typeof plainValue === "string") return readText(plainValue, keywords.oneOf?.[0] ?? {});
  if (typeof plainValue === "number" && Number.isFinite(plainValue)) return { value: plainValue + 0 }; // -0 becomes 0
  return refuseFormat("must be a text, a number or a truth value");
}

function readScalarOrObject(value: unknown, keywords: Keywords): Parsed<unknown> {
  if (Array.isArray(value)) return refuseFormat("must be a text, a number, a truth value or an object of those");
  return isObject(value) ? { value } : readScalar(value, keywords);
}

function decimalText(value: number | bigint): string | undefined {
  if (typeof value === "bigint") return String(value);
  if (!Number.isFinite(value)) return undefined;
  const text = String(value);
  const [, sign = "", whole = "", fraction = "", exponent] = exponentPattern.exec(text) ?? [];
  if (exponent === undefined) return text;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent); // the number of digits before the point
  return point > 0 ? `${sign}${digits.padEnd(point, "0")}` : `${sign}0.${"0".repeat(-point)}${digits}`;
}

/**
 * The notation of JavaScript for numbers from 1e21 and below 1e-6. The point is never within the digits after
 * conversion.
 */
const exponentPattern = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/;

function charactersIn(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

const numberPattern = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function readNumber(value: unknown, { minimum, maximum }: Keywords, mustBeInteger: boolean): Parsed<number> {
  const what = mustBeInteger ? "must be an integer" : "must be a number";
  let number: number;
  if (typeof value === "number" || typeof value === "bigint") number = Number(value);
  else if (typeof value === "string" && numberPattern.test(value.trim())) number = Number(value);
  else return refuseFormat(what);
  if (Number.isNaN(number)) return refuseFormat(what);
  if (!Number.isFinite(number)) return refuseRange("must be a finite number");
  if (mustBeInteger && !Number.isInteger(number)) return refuseFormat(what);
  if (minimum !== undefined && number < minimum) return refuseRange(`must be at least ${minimum}`);
  if (maximum !== undefined && number > maximum) return refuseRange(`must be at most ${maximum}`);
  return { value: number + 0 }; // -0 becomes 0
}

function readFlag(value: unknown): Parsed<boolean> {
  const word = typeof value === "string" ? value.trim().toLowerCase() : plain(value);
  if (word === true || word === "true" || word === 1 || word === "1") return { value: true };
  if (word === false || word === "false" || word === 0 || word === "0") return { value: false };
  return refuseFormat("must be true or false");
}

function readChoice(value: unknown, { enum: words = [], "x-numbered": isNumbered }: Keywords): Parsed<string> {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text === "string") {
    const given = text.trim().toLowerCase();
    const found = words.find((word, index) => word.toLowerCase() === given || (isNumbered && String(index) === given));
    if (found !== undefined) return { value: found };
  }
  return refuseFormat(`must be one of ${words.join(", ")}`);
}

function readList(value: unknown): Parsed<readonly unknown[]> {
  const list = parsedText(value);
  return Array.isArray(list) ? { value: list } : refuseFormat("must be an array");
}

function readMembers(value: unknown): Parsed<Readonly<Record<string, unknown>>> {
  const object = parsedText(value);
  return isObject(object) ? { value: object } : refuseFormat("must be an object");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses a string; returns other values unchanged. */
function parsedText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseLenientJson(value);
  } catch {
    return undefined;
  }
}

function readId(value: unknown, { "x-kind": kind, "x-word": word }: Keywords): Parsed<string> {
  if (word !== undefined && typeof value === "string" && value.toLowerCase() === word) return { value: word };
  const found = typeof value === "string" ? kindOfId(value) : undefined;
  if (found === undefined) return refuseFormat("must be an id");
  if (found !== kind) return { problem: "range", rule: "", message: `Incorrect id type, expected ${kind}.` };
  return { value: value as string }; // checked by kindOfId
}

function readLocation(value: unknown): Parsed<Location | LocationReference> {
  if (typeof value !== "string" || kindOfId(value) === undefined) return parseLocation(value);
  const id = readId(value, { "x-wire": "id", "x-kind": "Location" });
  return "problem" in id ? id : { value: new LocationReference(id.value) };
}

function readObjectId(value: unknown, { "x-kinds": kinds = [], "x-words": words = [] }: Keywords): Parsed<string> {
  if (typeof value !== "string") return refuseFormat("must be an id");
  const word = value.toLowerCase();
  if (words.includes(word)) return { value: word };
  const found = kindOfId(value);
  if (found === undefined) return refuseFormat("must be an id");
  if (kinds.includes(found)) return { value };
  const expected = `${kinds.slice(0, -1).join(", ")} or ${kinds.at(-1)}`;
  return { problem: "range", rule: "", message: `Incorrect id type, expected ${expected}.` };
}

function readJsonMembers(value: unknown): Parsed<readonly JsonMember[]> {
  const given = typeof value === "string" ? parsedOrUndefined(value) : value;
  if (typeof given !== "object" || given === null || Array.isArray(given)) return refuseFormat("must be an object");
  const members: JsonMember[] = [];
  for (const [name, member] of Object.entries(given)) {
    const json = writeJson(member);
    if ("problem" in json) return json;
    members.push([name, json.value]);
  }
  return { value: members };
}

function parsedOrUndefined(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
