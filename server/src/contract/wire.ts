import { type DateRange, parseDate, parseDateRange } from "../lib/dates.ts";
import type { ErrorCondition } from "../lib/errors.ts";
import { idPatternOf, kindOfId } from "../lib/ids.ts";
import { parseJson, writeJson } from "../lib/json.ts";
import type { IdKind } from "../lib/kinds.ts";
import {
  type Location,
  type LocationRange,
  parseLocation,
  parseLocationRange,
  type SentLocation,
} from "../lib/locations.ts";
import { trimAddress } from "../lib/mail-addresses.ts";
import { type Parsed, refuseFormat, refuseRange } from "../lib/parsed.ts";
import { parseLenientJson } from "./lenient-json.ts";
import { type Enumeration, named, type Schema, type Static, Type } from "./schema.ts";
import { LocationReference } from "./sent-locations.ts";

/**
 * The wire formats of spec/transport#values. Each is a schema (for OpenAPI), a static type (for handlers) and, for
 * requests, a reader that converts input to this type. The schema names its reader in `x-wire`.
 */

interface TextOptions {
  /** In characters (code points), as all lengths of strings. */
  readonly minLength?: number;
  /** Without it, only the size of the request is limited. */
  readonly maxLength?: number;
  /** Whether the empty string is a value instead of an absent parameter. */
  readonly keepsEmpty?: boolean;
  readonly description?: string;
  /** An alternative parameter name. */
  readonly alias?: string;
  /** The condition for a string that cannot be stored: in credentials, it counts as wrong credentials. */
  readonly refusedAs?: ErrorCondition;
}

/** A string: any Unicode except NUL and lone surrogates. A number is converted to a decimal string. */
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

/** A string that PATCH clears with the empty string. */
export function ClearableText(options: Omit<TextOptions, "minLength" | "keepsEmpty">): Schema<string> {
  return Text({ ...options, keepsEmpty: true });
}

/** Returns the new value of a {@link ClearableText}. */
export function changedText(current: string | null, given: string | undefined): string | null {
  return given === undefined ? current : given === "" ? null : given;
}

/** An e-mail address, which is trimmed of blanks and invisible characters. Any other string is accepted. */
export function Email(options: Pick<TextOptions, "maxLength" | "keepsEmpty" | "description">): Schema<string> {
  return { ...Text(options), "x-wire": "email" };
}

/** An absolute http or https URL, unchanged. */
export function Url(options: Pick<TextOptions, "maxLength" | "keepsEmpty">): Schema<string> {
  return { ...Text(options), "x-wire": "url" };
}

/**
 * One of the given words, in any case.
 *
 * @param options `numbered` also accepts the index of a word, as a number or a string
 */
export function Choice<const Word extends string>(
  words: Enumeration<Word>,
  options: { numbered?: boolean; description?: string; default?: NoInfer<Word> } = {},
): Schema<Word> {
  const { numbered, ...keywords } = options;
  return wire<Word>("choice", { ...words, ...keywords, ...(numbered && { "x-numbered": true }) });
}

interface NumberOptions {
  readonly minimum?: number;
  readonly maximum?: number;
  /** The value of an absent parameter. */
  readonly default?: number;
  readonly description?: string;
}

/** An integer, as a number or a string. */
export function Integer(options: NumberOptions): Schema<number> {
  return wire<number>("integer", { type: "integer", ...options });
}

/** A finite number, as a number or a string. */
export function Decimal(options: NumberOptions): Schema<number> {
  return wire<number>("decimal", { type: "number", ...options });
}

/** `true`, `false` (any case), 0 or 1, as a JSON value or a string. */
export function Flag(options: { description?: string; default?: boolean } = {}): Schema<boolean> {
  return wire<boolean>("flag", { type: "boolean", ...options });
}

/** A date in any form of spec/transport#dates, as milliseconds since 1970-01-01 UTC. */
export function DateInput(options: { description?: string } = {}): Schema<number> {
  return wire<number>("date", { type: "string", format: "wire-date", ...options });
}

/** `<start>-<end>`, both inclusive; each may be open. */
export function DateRangeInput(options: { description?: string } = {}): Schema<DateRange> {
  return wire<DateRange>("dateRange", { type: "string", format: "wire-range", ...options });
}

/**
 * `<lat>,<lng>` in WGS 84 degrees, or the id of a location, which is resolved before the handler runs; also accepts an
 * object with lat and lng.
 */
export function LocationInput(
  options: { description?: string } = { description: "A point, or the id of a location." },
): Schema<SentLocation> {
  return wire<SentLocation>("location", { type: "string", format: "wire-location", ...options });
}

/** A circle `<lat>,<lng>,<meters>` or a box `<lat>,<lng>-<lat>,<lng>`. */
export function LocationRangeInput(options: { description?: string } = {}): Schema<LocationRange> {
  return wire<LocationRange>("locationRange", { type: "string", format: "wire-area", ...options });
}

/** Any value, unchanged; `type` and lengths only describe what the handler accepts. */
export function Raw({
  keepsEmpty,
  ...keywords
}: Omit<TextOptions, "alias" | "refusedAs"> & { readonly type: "string" | "integer" }): Schema<unknown> {
  return wire<unknown>("raw", { ...keywords, ...(keepsEmpty && { "x-keeps-empty": true }) });
}

/**
 * An array, or a string that contains one, with double or single quotes. Its items are not read, and its bounds only
 * describe what the handler accepts.
 */
export function List(
  items: Schema,
  options: { minItems?: number; maxItems?: number; description?: string } = {},
): Schema<readonly unknown[]> {
  return wire<readonly unknown[]>("list", { ...Type.Array(items), ...options });
}

/** A string, a number or a boolean, unchanged: a string that looks like a number is not converted. */
export function Scalar(maxLength: number): Schema<string | number | boolean> {
  const oneOf = [{ type: "string", maxLength }, { type: "number" }, { type: "boolean" }];
  return wire<string | number | boolean>("scalar", { oneOf });
}

/**
 * A {@link Scalar}, or an object with any members, which OpenAPI does not document. A string that looks like an object
 * is not converted.
 */
export function ScalarOrObject(
  scalar: Schema<string | number | boolean>,
  options: { description?: string },
): Schema<string | number | boolean | Readonly<Record<string, unknown>>> {
  return wire<string | number | boolean | Readonly<Record<string, unknown>>>("scalarOrMembers", {
    ...scalar,
    ...options,
  });
}

/** An object, or a string that contains one, with double or single quotes. Its members are not read. */
export function Members(
  shape: Schema<object> = Type.Record({}),
  options: { maxProperties?: number; description?: string } = {},
): Schema<Readonly<Record<string, unknown>>> {
  return wire<Readonly<Record<string, unknown>>>("members", { ...shape, ...options });
}

/** The id of an object of one kind. */
export function IdInput(kind: IdKind): Schema<string> {
  const description = `The id of ${kindInWords(kind)}.`;
  return wire<string>("id", { type: "string", pattern: idPatternOf(kind), "x-kind": kind, description });
}

/** Returns a kind as a noun with its article: `an application key`. */
function kindInWords(kind: IdKind): string {
  const noun = kind === "App" ? "application" : kind.replaceAll(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
  return `${/^[aeio]/.test(noun) ? "an" : "a"} ${noun}`;
}

/**
 * The id of the application that a device registers with. Values that are not strings are malformed
 * (spec/devices#registration-errors). The handler checks the format of a string, after the check for missing
 * parameters.
 */
export function AppIdInput(options: { description: string }): Schema<string> {
  const refused = { "x-kind": "App", "x-refused-as": "ApplicationIdMalformed" };
  return wire<string>("text", { type: "string", pattern: idPatternOf("App"), ...refused, ...options });
}

/** The id of a user, or `me` for the caller: see {@link resolveUserId}. */
export function UserIdInput(options: { description?: string; unbuilt?: readonly string[] } = {}): Schema<string> {
  const { unbuilt, ...keywords } = options;
  const pattern = `${idPatternOf("User")}|^me$`;
  const words = unbuilt && { "x-unbuilt": unbuilt };
  return wire<string>("id", { type: "string", pattern, "x-kind": "User", "x-word": "me", ...keywords, ...words });
}

/** Adds an alternative name to a parameter. */
export function alsoAs<T>(alias: string, schema: Schema<T>): Schema<T> {
  return { ...schema, "x-alias": alias };
}

/** Resolves a {@link UserIdInput} to an id. */
export function resolveUserId(given: string, callerId: string): string {
  return given === "me" ? callerId : given;
}

/** The id of an object of one of several kinds, or a word in any case that the handler resolves to an id. */
export function ObjectIdInput(
  kinds: readonly IdKind[],
  words: readonly string[],
  options: { description?: string } = {},
): Schema<string> {
  const pattern = [...kinds.map(idPatternOf), ...words.map((word) => `^${word}$`)].join("|");
  return wire<string>("objectId", { type: "string", pattern, "x-kinds": kinds, "x-words": words, ...options });
}

/** Any JSON, as a string with all digits of integers; a value in a form or a query is a JSON string. */
export function Json(options: { description?: string } = {}): Schema<string> {
  return wire<string>("json", { "x-keeps-empty": true, ...options });
}

/** The members of an object, each as JSON. The object may also be sent as a string. */
export function JsonMembers(
  options: { maxProperties?: number; description?: string } = {},
): Schema<readonly JsonMember[]> {
  return wire<readonly JsonMember[]>("jsonMembers", { ...Type.Record({}), ...options });
}

export type JsonMember = readonly [name: string, json: string];

/** JSON in responses. The value is a string of JSON, which is inserted unchanged. */
export function RawJson(options: { readonly [keyword: string]: unknown } = {}): Schema<string> {
  return Type.Unsafe<string>({ ...options, "x-raw": true });
}

/** A result that is sent as bytes instead of an envelope. */
export function Bytes(mediaType: string): Schema<string> {
  return Type.String({ format: "binary", "x-media-type": mediaType });
}

/** Times in responses: exactly `/Date(<ms>)/`. */
export const WireDate = Type.Unsafe<string>({
  type: "string",
  format: "wire-date",
});

/** Locations in responses. */
export const WireLocation = named(
  "Coordinates",
  "A point in WGS 84.",
  Type.Object({
    lat: Type.Number({ minimum: -90, maximum: 90, description: "Degrees north." }),
    lng: Type.Number({ minimum: -180, maximum: 180, description: "Degrees east." }),
  }),
);
export type WireLocation = Static<typeof WireLocation>;

/**
 * Reads one value of a request. Does not throw, but returns a problem, which the caller prefixes with the parameter
 * name.
 */
export function readWireValue(schema: Schema, value: unknown): Parsed<unknown> {
  const keywords = schema as Schema & Keywords; // created by `wire` below
  return readers[keywords["x-wire"]](value, keywords);
}

/**
 * Returns the condition for an invalid string in credentials or an invalid id; undefined for an ordinary format error.
 */
export function refusalOf(schema: Schema, value: unknown): ErrorCondition | undefined {
  const { "x-kind": kind, "x-refused-as": condition, "x-unbuilt": words } = schema as Schema & Keywords; // created by `wire`
  if (words?.some((word) => word === `${String(value)}`.toLowerCase())) return "OperationNotFound";
  return kind !== undefined || typeof value === "string" || typeof value === "symbol" ? condition : undefined;
}

/** Whether the audit log may contain values of this format, which are neither secrets nor content of users. */
export function isAuditable(schema: Schema): boolean {
  return ["integer", "decimal", "flag", "choice", "date", "id"].includes(`${schema["x-wire"]}`);
}

interface Keywords {
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
