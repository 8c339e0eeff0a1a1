import type { DateRange } from "../lib/dates.ts";
import type { ErrorCondition } from "../lib/errors.ts";
import { idPatternOf } from "../lib/ids.ts";
import type { IdKind } from "../lib/kinds.ts";
import type { LocationRange, SentLocation } from "../lib/locations.ts";
import type { Parsed } from "../lib/parsed.ts";
import { type Enumeration, named, type Schema, type Static, Type } from "./schema.ts";
import { type JsonMember, type Keywords, readers } from "./wire-readers.ts";

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

function wire<T>(name: keyof typeof readers, keywords: Schema): Schema<T> {
  return Type.Unsafe<T>({ ...keywords, "x-wire": name });
}
