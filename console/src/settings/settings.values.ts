import type { ApplicationSettings } from "../api/admin.ts";
import type { Field } from "./settings.parts.ts";

/** The members to replace; null unsets a member. */
export type ChangedSettings = {
  readonly [Member in keyof ApplicationSettings]?: ApplicationSettings[Member] | null;
};

/** The field values of a part as strings, by path. */
export type Draft = Readonly<Record<string, string>>;

/** Thrown for input that cannot be parsed; the field shows the message. */
export class UnreadableField extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

export function draftOf(fields: readonly Field[], settings: ApplicationSettings): Draft {
  return Object.fromEntries(fields.map((field) => [field.path, show(field, valueAt(settings, field.path))]));
}

/** The two numbers of a rate, as one string. */
export function joinRate(perSecond: string, burst: string): string {
  return perSecond === "" && burst === "" ? "" : `${perSecond}\n${burst}`;
}

export function splitRate(rate: string): readonly [perSecond: string, burst: string] {
  const [perSecond = "", burst = ""] = rate.split("\n");
  return [perSecond, burst];
}

/** The non-empty lines of a string. */
export function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function text(value: unknown): string {
  return value === undefined ? "" : String(value);
}

export function valueAt(settings: ApplicationSettings, path: string): unknown {
  let value: unknown = settings;
  for (const name of path.split(".")) value = isObject(value) ? value[name] : undefined;
  return value;
}

function show({ kind }: Field, value: unknown): string {
  if (typeof kind !== "string" && value === undefined) return kind[0]?.value ?? "";
  if (kind === "providers") return JSON.stringify(rowsOfProviders(membersOf(value)));
  if (kind === "operationLimits") return JSON.stringify(rowsOfLimits(membersOf(value)));
  if (kind === "mailTexts") return JSON.stringify(rowsOfMailTexts(membersOf(value)));
  if (kind === "rate") return rateOf(value);
  if (kind === "json" && value !== undefined) return JSON.stringify(value, null, 2);
  if (value === undefined) return "";
  return Array.isArray(value) ? value.join("\n") : String(value);
}

/**
 * The members that the fields are part of, each as a whole.
 *
 * @throws UnreadableField
 */
export function changeOf(fields: readonly Field[], draft: Draft, settings: ApplicationSettings): ChangedSettings {
  const members: Record<string, unknown> = {};
  for (const field of fields) {
    const [name = "", inner] = field.path.split(".");
    const value = read(field, draft[field.path] ?? "");
    if (inner === undefined) members[name] = value ?? null;
    else {
      const before = members[name] ?? settings[name as keyof ApplicationSettings];
      const { [inner]: _, ...others } = isObject(before) ? before : {};
      members[name] = value === undefined ? others : { ...others, [inner]: value };
    }
  }
  const isEmpty = (value: unknown) => isObject(value) && Object.keys(value).length === 0;
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, isEmpty(value) ? null : value]));
}

/** The change that restores the same members. */
export function undoOf(change: ChangedSettings, settings: ApplicationSettings): ChangedSettings {
  return Object.fromEntries(
    Object.keys(change).map((name) => [name, settings[name as keyof ApplicationSettings] ?? null]),
  );
}

/** The settings as they would be after a change. */
export function settingsAfter(change: ChangedSettings, settings: ApplicationSettings): ApplicationSettings {
  return Object.fromEntries(Object.entries({ ...settings, ...change }).filter(([, value]) => value !== null));
}

function read({ kind, path }: Field, text: string): unknown {
  const given = text.trim();
  if (kind === "flag") return given === "true" ? true : undefined;
  if (given === "" || (typeof kind !== "string" && given === kind[0]?.value)) return undefined;
  if (kind === "list" || kind === "operations" || kind === "eventTypes") return linesOf(given);
  if (kind === "providers") return readProviders(path, given);
  if (kind === "operationLimits") return readLimits(path, given);
  if (kind === "mailTexts") return readMailTexts(path, given);
  if (kind === "rate") return readRate(path, text);
  if (kind === "json") return readJson(path, given);
  if (kind === "number" || kind === "ms" || kind === "bytes") {
    if (!/^\d+$/.test(given)) throw new UnreadableField(path, "A whole number, without separators.");
    return Number(given);
  }
  return given;
}

function readJson(path: string, given: string): object {
  const problem = "A JSON object in braces.";
  try {
    const value: unknown = JSON.parse(given);
    if (isObject(value)) return value;
  } catch {}
  throw new UnreadableField(path, problem);
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
    const { issuer, audience, jwksUrl } = membersOf(provider);
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

/** The limit of one operation. */
export interface LimitRow {
  readonly operation: string;
  /** As `joinRate` joins it. */
  readonly rate: string;
}

function rowsOfLimits(limits: Record<string, unknown>): LimitRow[] {
  return Object.entries(limits).map(([operation, limit]) => ({ operation, rate: rateOf(limit) }));
}

function readLimits(path: string, given: string): object | undefined {
  const rows: readonly LimitRow[] = JSON.parse(given);
  const limits = rows.map(({ operation, rate }) => [operation, readRate(path, rate, `${operation}: `)] as const);
  return rows.length === 0 ? undefined : Object.fromEntries(limits);
}

/** The mail templates that an application can override. */
export const mailTexts = {
  resetCode: { title: "Mail with a reset code", placeholder: "@ResetCode", meaning: "the code" },
  verifyCode: { title: "Mail with a code for an address", placeholder: "@VerifyCode", meaning: "the code" },
  notice: { title: "Notice about the account", placeholder: "@Notice", meaning: "what has changed" },
} as const satisfies Record<keyof NonNullable<NonNullable<ApplicationSettings["mail"]>["texts"]>, object>;

const mailTextKinds = ["resetCode", "verifyCode", "notice"] as const satisfies readonly (keyof typeof mailTexts)[];

/** A mail template in the format of its input fields. */
export interface MailTextRow {
  readonly kind: keyof typeof mailTexts;
  readonly subject: string;
  readonly body: string;
}

function rowsOfMailTexts(texts: Record<string, unknown>): MailTextRow[] {
  return mailTextKinds.map((kind) => {
    const { subject, body } = membersOf(texts[kind]);
    return { kind, subject: text(subject), body: text(body) };
  });
}

function readMailTexts(path: string, given: string): object | undefined {
  const rows: readonly MailTextRow[] = JSON.parse(given);
  const set = rows.filter(({ subject, body }) => subject.trim() !== "" || body.trim() !== "");
  const half = set.find(({ subject, body }) => subject.trim() === "" || body.trim() === "");
  if (half !== undefined)
    throw new UnreadableField(path, `${mailTexts[half.kind].title}: it needs a subject and a text, or neither.`);
  return set.length === 0 ? undefined : Object.fromEntries(set.map(({ kind, ...rest }) => [kind, rest]));
}

/** A limit as the string of its two fields. */
function rateOf(limit: unknown): string {
  const { perSecond, burst } = membersOf(limit);
  return joinRate(text(perSecond), text(burst));
}

/** @param subject begins the message of a refusal */
function readRate(path: string, text: string, subject = ""): object {
  const [perSecond, burst] = splitRate(text).map((part) => part.trim());
  const isNumber = (part: string | undefined) => /^\d+(\.\d+)?$/.test(part ?? "");
  if (!isNumber(perSecond) || (burst !== "" && !isNumber(burst))) {
    throw new UnreadableField(path, `${subject}Calls a second, as a number such as 20 or 0.5; the burst may be empty.`);
  }
  return { perSecond: Number(perSecond), ...(burst !== "" && { burst: Number(burst) }) };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function membersOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
