import { type ExplorerOperation, type FieldValues, hasBody, jsonOf, readValue } from "./explorer.operations.ts";

interface Filled {
  readonly values: FieldValues;
  /** The body as JSON, in place of the fields of the body. */
  readonly json: string | undefined;
}

/** Calls that return a session have separate methods in the client. */
const signIns: Readonly<Record<string, string>> = {
  createUser: "signUp",
  loginUser: "signIn",
  loginSocialUser: "signInSocial",
};

/** The call with the client library, in its types: dates are a `Date`, points have `lat` and `lng`. */
export function sdkOf(operation: ExplorerOperation, filled: Filled): string {
  const { id, path, file } = operation;
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([hole, name = ""]) => JSON.stringify(filled.values[name] || hole));
  const fields = { ...fieldsOf(operation, filled), ...(file !== undefined && { [file]: uploaded }) };
  const args = [...ids, ...(Object.keys(fields).length === 0 ? [] : [write(fields, operation.formats, "")])].join(", ");
  const key = filled.values["Idempotency-Key"];
  const options = key ? `, { idempotencyKey: ${JSON.stringify(key)} }` : "";
  const method = signIns[id];
  if (method !== undefined) return `await rollcall.${method}(${args}${options});`;
  return `import { ${id} } from "@rollcall/sdk/calls";\n\nawait rollcall.send(${id}(${args})${options});`;
}

/** Stands for the bytes, which a snippet cannot show. */
const uploaded = Symbol("file");

function fieldsOf(operation: ExplorerOperation, { values, json }: Filled): Readonly<Record<string, unknown>> {
  const given = operation.fields.filter((field) => field.in === "query" && values[field.name]);
  const query = given.map((field) => [field.name, readValue(field, values[field.name] ?? "")]);
  return { ...Object.fromEntries(query), ...(hasBody(operation) && bodyOf(json ?? jsonOf(operation, values))) };
}

function bodyOf(json: string): object {
  try {
    const body: unknown = JSON.parse(json);
    return typeof body === "object" && body !== null ? body : {};
  } catch {
    return {}; // while an operator types
  }
}

/** Undefined within values of the app and the calls of a batch, which are passed unchanged. */
type Formats = ExplorerOperation["formats"] | undefined;

function write(value: unknown, formats: Formats, indent: string): string {
  if (value === uploaded) return "file /* such as the File of an input */";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const deeper = `${indent}  `;
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((each) => write(each, formats, deeper))
    : Object.entries(value).map(([name, each]) => writeMember(name, each, formats, deeper));
  const [open, close, space] = isList ? ["[", "]", ""] : ["{", "}", " "];
  if (parts.length === 0) return open + close;
  const line = open + space + parts.join(", ") + space + close;
  if (line.length <= lineCharactersMax && !line.includes("\n")) return line;
  return `${open}\n${parts.map((part) => `${deeper}${part},\n`).join("")}${indent}${close}`;
}

const lineCharactersMax = 50;

const freeForm: readonly string[] = ["value", "values", "parameters"];

function writeMember(name: string, value: unknown, formats: Formats, indent: string): string {
  const format = formats?.[name];
  const member = (shown: string, text: string) =>
    `${/^[a-z]\w*$/i.test(shown) ? shown : JSON.stringify(shown)}: ${text}`;
  if (formats === undefined || freeForm.includes(name)) return member(name, write(value, undefined, indent));
  if (format === "wire-area" && typeof value === "string") {
    const area = areaOf(value);
    if (area !== undefined) return area;
  }
  const text = format === undefined ? undefined : inTypes[format]?.(String(value));
  return member(name === "username" ? "userName" : name, text ?? write(value, formats, indent));
}

/** Returns undefined for an invalid value: the snippet then contains the input, which the compiler rejects. */
const inTypes: Readonly<Record<string, (text: string) => string | undefined>> = {
  "wire-date": (text) => dateOf(text),
  "wire-range": rangeOf,
  "wire-location": (text) => placeOf(text.split(",")),
};

/** All forms without a zone are in UTC. */
function dateOf(text: string): string | undefined {
  const given = text.trim();
  const [, ms] = /^(?:\/Date\()?(-?\d+)(?:\)\/)?$/.exec(given) ?? [];
  const isLocal = /^\d{4}-\d\d-\d\dT[\d:.]+$/.test(given);
  const isZoned = /^\d{4}-/.test(given);
  const date = new Date(ms === undefined ? given + (isLocal ? "Z" : isZoned ? "" : " UTC") : Number(ms));
  if (Number.isNaN(date.getTime())) return undefined;
  return `new Date("${date.toISOString().replace("T00:00:00.000Z", "")}")`;
}

/** Dates also contain dashes, so the separator is the first dash between two valid bounds. */
function rangeOf(text: string): string | undefined {
  for (let dash = text.indexOf("-"); dash !== -1; dash = text.indexOf("-", dash + 1)) {
    const ends = Object.entries({ from: text.slice(0, dash), to: text.slice(dash + 1) }).filter(([, end]) =>
      end.trim(),
    );
    const dates = ends.map(([name, end]) => [name, dateOf(end)]);
    if (dates.length > 0 && dates.every(([, date]) => date !== undefined))
      return `{ ${dates.map((date) => date.join(": ")).join(", ")} }`;
  }
  return undefined;
}

function placeOf(texts: readonly string[], names: readonly string[] = ["lat", "lng"]): string | undefined {
  if (texts.length !== names.length) return undefined;
  const numbers = texts.map((text) => (text.trim() === "" ? Number.NaN : Number(text)));
  if (numbers.some(Number.isNaN)) return undefined;
  return `{ ${names.map((name, index) => `${name}: ${numbers[index]}`).join(", ")} }`;
}

/** A circle or a box, which are members of their own. */
function areaOf(text: string): string | undefined {
  const circle = placeOf(text.split(","), ["lat", "lng", "meters"]);
  if (circle !== undefined) return `near: ${circle}`;
  const [, southWest = "", northEast = ""] = /^(.+?,.+?\d\s*)-(.+)$/.exec(text) ?? [];
  const [from, to] = [placeOf(southWest.split(",")), placeOf(northEast.split(","))];
  return from && to && `box: { southWest: ${from}, northEast: ${to} }`;
}
