import type { ErrorCondition } from "../errors.ts";
import { type DateRange, formatDate, parseDate, parseDateRange } from "../lib/dates.ts";
import { type IdKind, idPatternOf, kindOfId } from "../lib/ids.ts";
import { parseJson, writeJson } from "../lib/json.ts";
import { type Location, type LocationRange, parseLocation, parseLocationRange } from "../lib/locations.ts";
import { parseLooseJson } from "../lib/loose-json.ts";
import { type Parsed, refuseFormat, refuseRange } from "../lib/parsed.ts";
import { type Schema, type Static, Type } from "./schema.ts";

/**
 * The wire formats of surface.md section 1. Each is a schema (what OpenAPI shows), a static type (what handlers get) and,
 * for requests, a reader that turns what clients send into that type. The schema names its reader in `x-wire`.
 */

interface TextOptions {
  /** In characters (code points), as are all text lengths. */
  readonly minLength?: number;
  /** Without one, the size of the request is the bound. */
  readonly maxLength?: number;
  /** The empty text is a value to be judged, not an absent parameter. */
  readonly keepsEmpty?: boolean;
  readonly description?: string;
  /** Another name that clients send it under. */
  readonly alias?: string;
  /** What a text that cannot be stored is refused as: of credentials it is a wrong one, as any that nobody has. */
  readonly refusedAs?: ErrorCondition;
}

/** A text: any Unicode except NUL and lone surrogates. A number is taken as its decimal text. */
export function Text(options: TextOptions): Schema<string> {
  const { keepsEmpty, alias, refusedAs, ...keywords } = options;
  return wire<string>("text", {
    type: "string",
    ...keywords,
    ...(keepsEmpty && { "x-keeps-empty": true }),
    ...(alias !== undefined && { "x-alias": alias }),
    ...(refusedAs !== undefined && { "x-refused-as": refusedAs }),
  });
}

/** A text that PATCH clears with the empty text. */
export function ClearableText(options: Omit<TextOptions, "minLength" | "keepsEmpty">): Schema<string> {
  return Text({ ...options, keepsEmpty: true });
}

/** What a {@link ClearableText} makes of the text that was there. */
export function changedText(current: string | null, given: string | undefined): string | null {
  return given === undefined ? current : given === "" ? null : given;
}

/**
 * One of some words, in any case.
 *
 * @param options with `numbered`, the word's index is taken too, bare or as text
 */
export function Choice<const Word extends string>(
  words: readonly Word[],
  options: { numbered?: boolean; description?: string } = {},
): Schema<Word> {
  const { numbered, ...keywords } = options;
  return wire<Word>("choice", { type: "string", enum: words, ...keywords, ...(numbered && { "x-numbered": true }) });
}

/** An integer, bare or as text. */
export function Integer(options: { minimum?: number; maximum?: number; description?: string }): Schema<number> {
  return wire<number>("integer", { type: "integer", ...options });
}

/** A finite number, bare or as text. */
export function Decimal(options: { minimum?: number; maximum?: number; description?: string }): Schema<number> {
  return wire<number>("decimal", { type: "number", ...options });
}

/** `true`, `false` (any case), 0 or 1, bare or as text. */
export function Flag(options: { description?: string } = {}): Schema<boolean> {
  return wire<boolean>("flag", { type: "boolean", ...options });
}

/** A date in any of the forms of surface.md section 1 "Dates", as milliseconds since 1970-01-01 UTC. */
export function DateInput(options: { description?: string } = {}): Schema<number> {
  return wire<number>("date", { type: "string", examples: ["1981-07-09"], ...options });
}

/** `<start>-<end>`, both inclusive, either end open. */
export function DateRangeInput(options: { description?: string } = {}): Schema<DateRange> {
  return wire<DateRange>("dateRange", { type: "string", examples: ["2026-01-01-2026-01-31T23:59:59Z"], ...options });
}

/** `<lat>,<lng>` in WGS 84 degrees; an object with lat and lng is accepted too. */
export function LocationInput(options: { description?: string } = {}): Schema<Location> {
  return wire<Location>("location", { type: "string", examples: ["48.2082,16.3738"], ...options });
}

/** A circle `<lat>,<lng>,<meters>` or a box `<lat>,<lng>-<lat>,<lng>`. */
export function LocationRangeInput(options: { description?: string } = {}): Schema<LocationRange> {
  return wire<LocationRange>("locationRange", { type: "string", examples: ["48.2082,16.3738,1000"], ...options });
}

/** Any value, as it was sent. */
export function Raw({
  keepsEmpty,
  ...keywords
}: Pick<TextOptions, "keepsEmpty" | "description"> = {}): Schema<unknown> {
  return wire<unknown>("raw", { ...keywords, ...(keepsEmpty && { "x-keeps-empty": true }) });
}

/** An array of anything, or a text that holds one, with double or single quotes. */
export function List(options: { description?: string } = {}): Schema<readonly unknown[]> {
  return wire<readonly unknown[]>("list", { type: "array", items: {}, ...options });
}

/** A text, a number or a truth value, as it is: a text that looks like a number stays a text. */
export function Scalar(options: { maxLength: number; description?: string }): Schema<string | number | boolean> {
  return wire<string | number | boolean>("scalar", { type: ["string", "number", "boolean"], ...options });
}

/** An object with members of any kind, or a text that holds one, with double or single quotes. */
export function Members(options: { description?: string } = {}): Schema<Readonly<Record<string, unknown>>> {
  return wire<Readonly<Record<string, unknown>>>("members", { type: "object", ...options });
}

/** The id of an object of one kind. */
export function IdInput(kind: IdKind): Schema<string> {
  return wire<string>("id", { type: "string", pattern: idPatternOf(kind), "x-kind": kind });
}

/**
 * The id of the application that a device registers with: whatever else comes is malformed (service.md "Errors"). Of a text
 * its reader tells, once nothing that is required is missing.
 */
export function AppIdInput(options: { description: string }): Schema<string> {
  const refused = { "x-kind": "App", "x-refused-as": "ApplicationIdMalformed" };
  return wire<string>("text", { type: "string", pattern: idPatternOf("App"), ...refused, ...options });
}

/** The id of a user, or `me` for the calling one: see {@link resolveUserId}. */
export function UserIdInput(options: { description?: string } = {}): Schema<string> {
  const pattern = `${idPatternOf("User")}|^me$`;
  return wire<string>("id", { type: "string", pattern, "x-kind": "User", "x-word": "me", ...options });
}

/** The id that a {@link UserIdInput} means. */
export function resolveUserId(given: string, callerId: string): string {
  return given === "me" ? callerId : given;
}

/**
 * The id of an object of one of some kinds, or a word that stands for one, in any case. What a word means is the
 * handler's to say.
 */
export function ObjectIdInput(
  kinds: readonly IdKind[],
  words: readonly string[],
  options: { description?: string } = {},
): Schema<string> {
  const pattern = [...kinds.map(idPatternOf), ...words.map((word) => `^${word}$`)].join("|");
  return wire<string>("objectId", { type: "string", pattern, "x-kinds": kinds, "x-words": words, ...options });
}

/** Any JSON, as its text, with all the digits of integers; what a form or a query holds is a text. */
export function Json(options: { description?: string } = {}): Schema<string> {
  return wire<string>("json", { "x-keeps-empty": true, ...options });
}

/** The members of an object, each with the text of its JSON. The object may also come as a text that holds it. */
export function JsonMembers(options: { description?: string } = {}): Schema<readonly JsonMember[]> {
  return wire<readonly JsonMember[]>("jsonMembers", { type: "object", ...options });
}

export type JsonMember = readonly [name: string, json: string];

/** JSON in responses. The value is its text, and goes into the answer as it is. */
export function RawJson(options: { readonly [keyword: string]: unknown } = {}): Schema<string> {
  return Type.Unsafe<string>({ ...options, "x-raw": true });
}

/** Times in responses: exactly `/Date(<ms>)/`. */
export const WireDate = Type.Unsafe<string>({
  type: "string",
  pattern: "^/Date\\(-?[0-9]+\\)/$",
  examples: [formatDate(1_436_400_441_000)],
});

/** Locations in responses. */
export const WireLocation = Type.Object({ lat: Type.Number(), lng: Type.Number() });
export type WireLocation = Static<typeof WireLocation>;

/** Reads one value of a request. @throws never; a problem is returned, to be named after the parameter */
export function readWireValue(schema: Schema, value: unknown): Parsed<unknown> {
  const keywords = schema as Schema & Keywords; // the schema came from `wire` below
  return readers[keywords["x-wire"]](value, keywords);
}

/** What a value that does not read is refused as, where that is not for its format: a text among credentials, any id there. */
export function refusalOf(schema: Schema, value: unknown): ErrorCondition | undefined {
  const { "x-kind": kind, "x-refused-as": condition } = schema as Schema & Keywords; // as above
  return kind !== undefined || typeof value === "string" || typeof value === "symbol" ? condition : undefined;
}

/** Whether a value of this format can be told to others: none of them can hold a secret, or what somebody wrote. */
export function isTellable(schema: Schema): boolean {
  return ["integer", "decimal", "flag", "choice", "date", "id"].includes(`${schema["x-wire"]}`);
}

interface Keywords {
  readonly "x-wire": keyof typeof readers;
  readonly "x-kind"?: IdKind;
  readonly "x-word"?: string;
  readonly "x-kinds"?: readonly IdKind[];
  readonly "x-words"?: readonly string[];
  readonly "x-numbered"?: boolean;
  readonly "x-refused-as"?: ErrorCondition;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

function wire<T>(name: keyof typeof readers, keywords: Schema): Schema<T> {
  return Type.Unsafe<T>({ ...keywords, "x-wire": name });
}

const readers = {
  text: readText,
  integer: (value: unknown, keywords: Keywords) => readNumber(value, keywords, true),
  decimal: (value: unknown, keywords: Keywords) => readNumber(value, keywords, false),
  flag: readFlag,
  choice: readChoice,
  date: (value: unknown) => parseDate(plain(value)),
  dateRange: (value: unknown) => parseDateRange(plain(value)),
  location: (value: unknown) => parseLocation(value),
  locationRange: (value: unknown) => parseLocationRange(value),
  scalar: readScalar,
  id: readId,
  raw: (value: unknown) => ({ value }),
  list: readList,
  members: readMembers,
  objectId: readObjectId,
  json: writeJson,
  jsonMembers: readJsonMembers,
};

/** Integers too long for a double arrive as bigint, so that a text keeps all its digits. */
function plain(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

function readText(value: unknown, { minLength = 0, maxLength = Number.MAX_SAFE_INTEGER }: Keywords): Parsed<string> {
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

function readScalar(value: unknown, keywords: Keywords): Parsed<string | number | boolean> {
  const plainValue = plain(value);
  if (typeof plainValue === "boolean") return { value: plainValue };
  if (typeof plainValue === "string") return readText(plainValue, keywords);
  if (typeof plainValue === "number" && Number.isFinite(plainValue)) return { value: plainValue + 0 }; // -0 becomes 0
  return refuseFormat("must be a text, a number or a truth value");
}

function decimalText(value: number | bigint): string | undefined {
  if (typeof value === "bigint") return String(value);
  if (!Number.isFinite(value)) return undefined;
  const text = String(value);
  const [, sign = "", whole = "", fraction = "", exponent] = exponentPattern.exec(text) ?? [];
  if (exponent === undefined) return text;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent); // so many of the digits are before it
  return point > 0 ? `${sign}${digits.padEnd(point, "0")}` : `${sign}0.${"0".repeat(-point)}${digits}`;
}

/** How JavaScript writes numbers from 1e21 on and below 1e-6: never with all digits before the point and more behind it. */
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

/** What a text holds; anything else is itself. */
function parsedText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseLooseJson(value);
  } catch {
    return undefined;
  }
}

function readId(value: unknown, { "x-kind": kind, "x-word": word }: Keywords): Parsed<string> {
  if (word !== undefined && typeof value === "string" && value.toLowerCase() === word) return { value: word };
  const found = typeof value === "string" ? kindOfId(value) : undefined;
  if (found === undefined) return refuseFormat("must be an id");
  if (found !== kind) return { problem: "range", rule: "", message: `Incorrect id type, expected ${kind}.` };
  return { value: value as string }; // kindOfId took it
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
