import type { ChangedSettings, Settings } from "../api/settings.ts";
import type { Field } from "./settings.parts.ts";

/** The texts of the fields of a part, by path. */
export type Draft = Readonly<Record<string, string>>;

/** A text that cannot be parsed; its message is shown at the field. */
export class UnreadableField extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

export function draftOf(fields: readonly Field[], settings: Settings): Draft {
  return Object.fromEntries(fields.map((field) => [field.path, show(field, valueAt(settings, field.path))]));
}

/** The two numbers of a rate, as one text. */
export function joinRate(perSecond: string, burst: string): string {
  return perSecond === "" && burst === "" ? "" : `${perSecond}\n${burst}`;
}

export function splitRate(rate: string): readonly [perSecond: string, burst: string] {
  const [perSecond = "", burst = ""] = rate.split("\n");
  return [perSecond, burst];
}

function text(value: unknown): string {
  return value === undefined ? "" : String(value);
}

export function valueAt(settings: Settings, path: string): unknown {
  let value: unknown = settings;
  for (const name of path.split(".")) value = isObject(value) ? value[name] : undefined;
  return value;
}

function show({ kind }: Field, value: unknown): string {
  if (typeof kind !== "string" && value === undefined) return kind[0]?.value ?? "";
  if (value === undefined) return kind === "providers" ? "[]" : "";
  if (kind === "json") return JSON.stringify(value, undefined, 2);
  if (kind === "providers") return isObject(value) ? JSON.stringify(rowsOfProviders(value)) : "[]";
  if (kind === "rate") return isObject(value) ? joinRate(text(value["perSecond"]), text(value["burst"])) : "";
  return Array.isArray(value) ? value.join("\n") : String(value);
}

/**
 * The members that the fields are part of, each as a whole.
 *
 * @throws UnreadableField
 */
export function changeOf(fields: readonly Field[], draft: Draft, settings: Settings): ChangedSettings {
  const members: Record<string, unknown> = {};
  for (const field of fields) {
    const [name = "", inner] = field.path.split(".");
    const value = read(field, draft[field.path] ?? "");
    if (inner === undefined) members[name] = value ?? null;
    else {
      const before = members[name] ?? settings[name as keyof Settings];
      const { [inner]: _, ...others } = isObject(before) ? before : {};
      members[name] = value === undefined ? others : { ...others, [inner]: value };
    }
  }
  const isEmpty = (value: unknown) => isObject(value) && Object.keys(value).length === 0;
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, isEmpty(value) ? null : value]));
}

/** The change that restores the same members. */
export function undoOf(change: ChangedSettings, settings: Settings): ChangedSettings {
  return Object.fromEntries(Object.keys(change).map((name) => [name, settings[name as keyof Settings] ?? null]));
}

/** The settings as they would be after a change. */
export function settingsAfter(change: ChangedSettings, settings: Settings): Settings {
  return Object.fromEntries(Object.entries({ ...settings, ...change }).filter(([, value]) => value !== null));
}

function read({ kind, path }: Field, text: string): unknown {
  const given = text.trim();
  if (kind === "flag") return given === "true" ? true : undefined;
  if (given === "" || (typeof kind !== "string" && given === kind[0]?.value)) return undefined;
  if (kind === "list" || kind === "operations") return given.split(/\s*\n\s*/);
  if (kind === "json") return parse(path, given);
  if (kind === "providers") return readProviders(path, given);
  if (kind === "rate") return readRate(path, text);
  if (kind === "number" || kind === "ms" || kind === "bytes") {
    if (!/^\d+$/.test(given)) throw new UnreadableField(path, "A whole number, without separators.");
    return Number(given);
  }
  return given;
}

/** A provider in the form of its input fields. */
export interface ProviderRow {
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string;
}

function rowsOfProviders(providers: Record<string, unknown>): ProviderRow[] {
  return Object.entries(providers).map(([name, provider]) => {
    const { issuer, audience, jwksUrl } = isObject(provider) ? provider : {};
    return { name, issuer: text(issuer), audience: text(audience), jwksUrl: text(jwksUrl) };
  });
}

function readProviders(path: string, given: string): object | undefined {
  const rows: readonly ProviderRow[] = JSON.parse(given);
  const names = rows.map(({ name }) => name.trim());
  if (names.includes("")) throw new UnreadableField(path, "Each provider needs a name.");
  if (new Set(names).size < names.length) throw new UnreadableField(path, "Two providers have the same name.");
  const providers = rows.map(({ name, ...provider }) => [name.trim(), provider] as const);
  return rows.length === 0 ? undefined : Object.fromEntries(providers);
}

function readRate(path: string, text: string): object {
  const [perSecond, burst] = splitRate(text).map((part) => part.trim());
  const isNumber = (part: string | undefined) => /^\d+(\.\d+)?$/.test(part ?? "");
  if (!isNumber(perSecond) || (burst !== "" && !isNumber(burst))) {
    throw new UnreadableField(path, "Calls a second, as a number such as 20 or 0.5; the burst may be empty.");
  }
  return { perSecond: Number(perSecond), ...(burst !== "" && { burst: Number(burst) }) };
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnreadableField(path, `This is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
