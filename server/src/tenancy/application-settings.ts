import {
  type EmailSettings,
  type PasswordSettings,
  parseOperationPattern,
  type SignInSettings,
} from "../contract/policy.ts";
import type { Queries } from "../db/database.ts";
import { fieldsOf } from "../lib/fields.ts";
import { isPlainAddress } from "../lib/mail-addresses.ts";
import { originProblem } from "../lib/origins.ts";
import type { GuardedProvider, OidcProvider } from "./identity-provider.ts";
import { type MailSettings, mailMembers, readMailSettings } from "./mail-settings.ts";
import { jwksUrlSetting, type PublicOnly, parsePublicOnly } from "./public-only.ts";
import { newRevision } from "./revision.ts";

/** The settings of one application, which operators make. */
export interface ApplicationSettings {
  /** OpenID Connect providers by identityProviderName. */
  readonly oidc: Readonly<Record<string, OidcProvider>>;
  /** As set by the operator; {@link retentionOf} returns the effective values. */
  readonly retention?: Partial<Retention>;
  /** Storage limits; unlimited where absent. */
  readonly quotas?: Partial<Quotas>;
  /** Overrides the deployment's. */
  readonly tokenLifetimes?: {
    readonly deviceMs?: number;
    readonly userMs?: number;
    readonly sessionMs?: number;
    /** Whether the reuse of a superseded user token revokes its session; false if absent. */
    readonly endOnReuse?: boolean;
  };
  /** Disabled operations, such as `POST /users`. */
  readonly disabledOperations?: readonly string[];
  /** The origins of web pages and app shells that may call, also of all subdomains; any if absent. */
  readonly origins?: readonly string[];
  /** The treatment of unsigned requests when there is a shared secret; `optional` if absent. */
  readonly signedRequests?: "optional" | "required";
  /** Overrides the deployment's. */
  readonly limits?: Partial<ApplicationLimits>;
  /** Overrides the deployment's. */
  readonly mail?: MailSettings;
  /**
   * The version of videos and blobs that other users get from users with locationFuzzing; `strip` if absent
   * (`files.without-location.ts`).
   */
  readonly locationData?: (typeof locationDataWords)[number];
  readonly email?: EmailSettings;
  readonly signIn?: SignInSettings;
  readonly passwords?: PasswordSettings;
  /** The events that the event log records (spec/events#recording). */
  readonly events?: EventSettings;
  /** Whether clients may request failures (spec/rehearsal): for tests; `off` if absent. */
  readonly rehearsal?: (typeof rehearsalWords)[number];
  readonly webhooks?: WebhookSettings;
  /** Refusals reveal more to clients than the specification allows: for development only. */
  readonly debug?: boolean;
}

export interface EventSettings {
  /** `wanted` if absent: while there are readers. */
  readonly record?: (typeof eventRecordingWords)[number];
  readonly retentionDays?: number;
  /** Patterns of types that are recorded; all if absent. */
  readonly types?: readonly string[];
}

export interface WebhookSettings {
  /** The address to which mails about disabled webhooks are sent. */
  readonly mail?: string;
}

export const eventRecordingWords = ["wanted", "always", "never"] as const;
export const eventRetentionDaysMax = 30;
export const rehearsalWords = ["off", "on"] as const;
export const locationDataWords = ["strip", "refuse", "keep"] as const;

export const passwordLength = { min: 4, max: 64 } as const;

/** Rate limits of requests (see `api/rate-limits.ts`). */
export interface ApplicationLimits {
  /** For all callers together. */
  readonly application: GivenLimit;
  /** For each device. */
  readonly caller: GivenLimit;
  /** Streams of events that one process has open for it. */
  readonly streams: number;
  /** For one operation, such as `POST /checkins`: per device, or per address for sign-ups, logins and the like. */
  readonly operations: Readonly<Record<string, GivenLimit>>;
}

export interface GivenLimit {
  readonly perSecond: number;
  readonly burst?: number;
}

/** Storage limits of files: their number, and their bytes in total. */
export interface Quotas {
  readonly bytesPerApplication: number;
  readonly filesPerApplication: number;
  readonly bytesPerUser: number;
  readonly filesPerUser: number;
}

const quotaNames: readonly (keyof Quotas)[] = [
  "bytesPerApplication",
  "filesPerApplication",
  "bytesPerUser",
  "filesPerUser",
];

/** The number of days for which the data of an application is stored. */
export interface Retention {
  readonly metricsDays: number;
  readonly crashReportsDays: number;
}

const defaultRetention: Retention = { metricsDays: 90, crashReportsDays: 90 };
export const retentionDaysMax = 3_650;
export const tokenLifetimeMsMin = 1_000;
export const sessionMsMin = 60_000;
export const sessionMsDefault = 31_536_000_000; // one year
export const tokenLifetimeMsMax = 315_360_000_000; // ten years
export const textsMax = 100;

/** Limits the size of the error: input with this many problems is probably something else. */
const problemsMax = 50;

/** The string is not valid settings; `problems` has a line per wrong member, at most the first fifty. */
export class ApplicationSettingsError extends Error {
  readonly problems: readonly string[];

  constructor(all: readonly string[]) {
    const more = all.length - problemsMax;
    const problems = more > 0 ? [...all.slice(0, problemsMax), `and ${more} more problems`] : all;
    super(`Wrong application settings:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.name = "ApplicationSettingsError";
    this.problems = problems;
  }
}

/** Parses settings from their JSON. @throws ApplicationSettingsError naming each wrong member and its rule */
export function parseApplicationSettings(text: string): ApplicationSettings {
  const problems: string[] = [];
  return readMembers("the file", parseJson(text, problems), problems);
}

/** Validates settings that have been parsed already. @throws ApplicationSettingsError */
export function readApplicationSettings(value: object): ApplicationSettings {
  return readMembers("the body", value, originProblems(value));
}

function readMembers(what: string, value: unknown, problems: string[]): ApplicationSettings {
  const members = readObject(what, value, Object.keys(readers), problems);
  const read = [...(members ?? [])]
    .filter(([name]) => Object.hasOwn(readers, name)) // readObject has reported the others
    // Only such names are left.
    .map(([name, given]) => [name, readers[name as keyof typeof readers](given, problems)]);
  if (problems.length > 0) throw new ApplicationSettingsError(problems);
  return { oidc: {}, ...Object.fromEntries(read) }; // each validated by its reader
}

type Reader = (value: unknown, problems: string[]) => unknown;

const readers = {
  oidc: readProviders,
  retention: integers("retention", Object.keys(defaultRetention), 1, retentionDaysMax),
  quotas: integers("quotas", quotaNames, 0, Number.MAX_SAFE_INTEGER),
  tokenLifetimes: readTokenLifetimes,
  disabledOperations: texts(
    "disabledOperations",
    "such as POST /users",
    (text) => parseOperationPattern(text) !== undefined,
  ),
  origins: texts("origins", "such as https://app.example.com", () => true),
  signedRequests: readSignedRequests,
  limits: readLimits,
  mail: (value, problems) => readMailSettings(readObject("mail", value, mailMembers, problems) ?? new Map(), problems),
  locationData: readLocationData,
  debug: readFlag("debug"),
  email: flags("email", ["requirePassword", "changeByCode"]),
  signIn: flags("signIn", ["byEmail"]),
  passwords: readPasswords,
  events: readEvents,
  rehearsal: readRehearsal,
  webhooks: readWebhooks,
} as const satisfies Record<keyof ApplicationSettings, Reader>;

/** The current settings of an application, with their secrets sealed; empty when it has none. */
export async function loadApplicationSettings(applicationId: string, queries: Queries): Promise<ApplicationSettings> {
  return (await loadGuardedSettings(applicationId, queries)).settings;
}

/** Stored settings: secrets are only in `sealed`. */
export interface SealedSettings {
  readonly settings: ApplicationSettings;
  /** JSON object of sealed values by the name of the setting; null when the settings hold no secret. */
  readonly sealed: string | null;
}

/** Stored settings, and those whose URL may only lead to public addresses. */
export interface GuardedSettings extends SealedSettings {
  readonly publicOnly: PublicOnly;
}

export async function loadGuardedSettings(applicationId: string, queries: Queries): Promise<GuardedSettings> {
  const row = await queries
    .selectFrom("applications")
    .select(["settings", "public_only", "sealed_settings"])
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  const publicOnly = parsePublicOnly(row?.public_only ?? null);
  if (publicOnly === undefined) throw new Error(`public_only of ${applicationId} is no list of settings`);
  const settings = parseApplicationSettings(row?.settings ?? "{}");
  return { settings, publicOnly, sealed: row?.sealed_settings ?? null };
}

/** The effective retention in days, with defaults where the settings have none. */
export function retentionOf({ retention }: ApplicationSettings): Retention {
  return { ...defaultRetention, ...retention };
}

/** The application's provider of exactly this name. */
export async function loadOidcProvider(
  applicationId: string,
  name: string,
  queries: Queries,
): Promise<GuardedProvider | undefined> {
  const { settings, publicOnly } = await loadGuardedSettings(applicationId, queries);
  const provider = Object.hasOwn(settings.oidc, name) ? settings.oidc[name] : undefined;
  return provider && { ...provider, isPublicOnly: publicOnly.has(jwksUrlSetting(name)) };
}

/**
 * @param settings without secrets
 * @param columns.publicOnly the settings whose URL may only lead to public addresses
 * @param columns.sealed the secrets of the settings
 * @returns false when the application does not exist
 */
export async function updateApplicationSettings(
  applicationId: string,
  settings: ApplicationSettings,
  queries: Queries,
  { publicOnly = new Set(), sealed = null }: Partial<Pick<GuardedSettings, "publicOnly" | "sealed">> = {},
): Promise<boolean> {
  const updated = await queries
    .updateTable("applications")
    .set({
      settings: JSON.stringify(settings),
      public_only: publicOnly.size === 0 ? null : JSON.stringify([...publicOnly]),
      sealed_settings: sealed,
      revision: newRevision(),
    })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return updated.numUpdatedRows === 1n;
}

const providerNameCharactersMax = 256; // the maximum of an identityProviderName

function readProviders(value: unknown, problems: string[]): Readonly<Record<string, OidcProvider>> {
  const providers = readObject("oidc", value, undefined, problems);
  const read = [...(providers ?? [])].map(([name, given]) => [name, readProvider(name, given, problems)] as const);
  return Object.fromEntries(read); // safe for any name, also __proto__
}

function readProvider(name: string, value: unknown, problems: string[]): OidcProvider {
  const path = `oidc.${name}`;
  if (name.trim() === "" || [...name].length > providerNameCharactersMax || !isUnicode(name)) {
    problems.push(`the name ${JSON.stringify(name)} in oidc must have 1 to ${providerNameCharactersMax} characters`);
  }
  const members = readObject(path, value, ["issuer", "audience", "jwksUrl"], problems);

  function readText(member: string): string {
    const text = members?.get(member);
    if (typeof text === "string" && text.trim() !== "" && isUnicode(text)) return text;
    if (members !== undefined) problems.push(`${path}.${member} must be a text that is not empty`);
    return "";
  }
  const provider = { issuer: readText("issuer"), audience: readText("audience"), jwksUrl: readText("jwksUrl") };
  if (provider.jwksUrl !== "" && !isSafeUrl(provider.jwksUrl)) {
    problems.push(`${path}.jwksUrl must be an https:// URL without a password (http:// on this machine only)`);
  }
  return provider;
}

/** @param orZero further names, with their own minimum, that may also be 0 */
function integers(
  path: string,
  names: readonly string[],
  minimum: number,
  maximum: number,
  orZero: Readonly<Record<string, number>> = {},
): Reader {
  const minimumOf = new Map([...names.map((name) => [name, minimum] as const), ...Object.entries(orZero)]);
  return (value, problems) => {
    const members = readObject(path, value, [...minimumOf.keys()], problems);
    const read: [name: string, value: number][] = [];
    for (const [name, given] of members ?? []) {
      const least = minimumOf.get(name);
      if (least === undefined) continue; // readObject has reported it
      const isOff = name in orZero && given === 0;
      if (isOff || (Number.isSafeInteger(given) && Number(given) >= least && Number(given) <= maximum)) {
        read.push([name, Number(given)]);
      } else
        problems.push(`${path}.${name} must be ${name in orZero ? "0 or " : ""}an integer from ${least} to ${maximum}`);
    }
    return Object.fromEntries(read);
  };
}

const readLifetimes = integers("tokenLifetimes", ["deviceMs", "userMs"], tokenLifetimeMsMin, tokenLifetimeMsMax, {
  sessionMs: sessionMsMin,
});

function readTokenLifetimes(value: unknown, problems: string[]): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return readLifetimes(value, problems);
  const { endOnReuse, ...lifetimes } = fieldsOf(value);
  const read = Object(readLifetimes(lifetimes, problems));
  return endOnReuse === undefined
    ? read
    : { ...read, endOnReuse: readFlag("tokenLifetimes.endOnReuse")(endOnReuse, problems) };
}

function texts(path: string, form: string, isRight: (text: string) => boolean): Reader {
  return (value, problems) => {
    if (
      Array.isArray(value) &&
      value.length <= textsMax &&
      value.every((each) => typeof each === "string" && isRight(each))
    ) {
      return value;
    }
    problems.push(`${path} must be a list of at most ${textsMax} texts ${form}`);
    return [];
  };
}

/** Stored origins are not checked again, because earlier versions accepted some that no page can have. */
function originProblems({ origins }: { readonly origins?: unknown }): string[] {
  if (!Array.isArray(origins)) return [];
  return origins.flatMap((origin) => {
    const problem = typeof origin === "string" ? originProblem(origin) : undefined;
    return problem === undefined ? [] : [`origins must not have ${JSON.stringify(origin.slice(0, 100))}: ${problem}`];
  });
}

function readSignedRequests(value: unknown, problems: string[]): unknown {
  if (value !== "optional" && value !== "required") problems.push("signedRequests must be optional or required");
  return value;
}

function readLocationData(value: unknown, problems: string[]): unknown {
  if (!locationDataWords.some((word) => word === value)) problems.push("locationData must be strip, refuse or keep");
  return value;
}

function readRehearsal(value: unknown, problems: string[]): unknown {
  if (!rehearsalWords.some((word) => word === value)) problems.push("rehearsal must be off or on");
  return value;
}

function readFlag(path: string): Reader {
  return (value, problems) => {
    if (typeof value !== "boolean") problems.push(`${path} must be true or false`);
    return value;
  };
}

function readPasswords(value: unknown, problems: string[]): unknown {
  const { min, max } = passwordLength;
  const members = readObject("passwords", value, ["minLength", "refuseBreached"], problems);
  const length = members?.has("minLength") ? members.get("minLength") : min;
  if (!(Number.isSafeInteger(length) && Number(length) >= min && Number(length) <= max)) {
    problems.push(`passwords.minLength must be an integer from ${min} to ${max}`);
  }
  if (members?.has("refuseBreached")) readFlag("passwords.refuseBreached")(members.get("refuseBreached"), problems);
  return value;
}

function flags(path: string, names: readonly string[]): Reader {
  return (value, problems) => {
    const members = readObject(path, value, names, problems);
    for (const name of names) if (members?.has(name)) readFlag(`${path}.${name}`)(members.get(name), problems);
    return value;
  };
}

function readEvents(value: unknown, problems: string[]): unknown {
  const members = readObject("events", value, ["record", "retentionDays", "types"], problems);
  const [record, days] = [members?.get("record"), members?.get("retentionDays")];
  if (members?.has("record") && !eventRecordingWords.some((word) => word === record)) {
    problems.push("events.record must be wanted, always or never");
  }
  const isRight = Number.isSafeInteger(days) && Number(days) >= 1 && Number(days) <= eventRetentionDaysMax;
  if (members?.has("retentionDays") && !isRight) {
    problems.push(`events.retentionDays must be an integer from 1 to ${eventRetentionDaysMax}`);
  }
  if (members?.has("types")) readEventTypes(members.get("types"), problems);
  return value;
}

function readWebhooks(value: unknown, problems: string[]): unknown {
  const members = readObject("webhooks", value, ["mail"], problems);
  const mail = members?.get("mail");
  if (members?.has("mail") && !(typeof mail === "string" && isPlainAddress(mail))) {
    problems.push("webhooks.mail must be a single e-mail address");
  }
  return value;
}

const readEventTypes = texts("events.types", "such as checkin.* or user.deleted", (text) =>
  /^(\*|[a-z_]+\.(\*|[a-z_]+))$/i.test(text),
);

export const perSecondMin = 0.001;
export const callsMax = 1_000_000;

function readLimits(value: unknown, problems: string[]): unknown {
  const members = readObject("limits", value, ["application", "caller", "streams", "operations"], problems);
  for (const name of ["application", "caller"]) {
    if (members?.has(name)) checkLimit(`limits.${name}`, members.get(name), problems);
  }
  const streams = members?.has("streams") ? members.get("streams") : 0;
  if (!(Number.isSafeInteger(streams) && Number(streams) >= 0 && Number(streams) <= callsMax)) {
    problems.push(`limits.streams must be an integer from 0 to ${callsMax}`);
  }
  if (members?.has("operations")) {
    const operations = readObject("limits.operations", members.get("operations"), undefined, problems);
    if (operations !== undefined && operations.size > textsMax) {
      problems.push(`limits.operations must have at most ${textsMax} members`);
    }
    for (const [name, limit] of operations ?? []) {
      if (parseOperationPattern(name) === undefined) {
        problems.push(`the name ${JSON.stringify(name)} in limits.operations must be such as POST /users`);
      }
      checkLimit(`limits.operations.${name}`, limit, problems);
    }
  }
  return value;
}

function checkLimit(path: string, value: unknown, problems: string[]): void {
  const members = readObject(path, value, ["perSecond", "burst"], problems);
  if (members === undefined) return;
  const perSecond = members.get("perSecond");
  if (!(typeof perSecond === "number" && perSecond >= perSecondMin && perSecond <= callsMax)) {
    problems.push(`${path}.perSecond must be a number from ${perSecondMin} to ${callsMax}`);
  }
  const burst = members.has("burst") ? members.get("burst") : 1;
  if (!(Number.isSafeInteger(burst) && Number(burst) >= 1 && Number(burst) <= callsMax)) {
    problems.push(`${path}.burst must be an integer from 1 to ${callsMax}`);
  }
}

function parseJson(text: string, problems: string[]): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    problems.push(`the file must be JSON: ${(error as Error).message}`); // JSON.parse throws a SyntaxError
    return {};
  }
}

/** Reads the members of an object. Reports other values and unknown members as problems. */
function readObject(
  path: string,
  value: unknown,
  allowed: readonly string[] | undefined,
  problems: string[],
): Map<string, unknown> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    problems.push(`${path} must be an object`);
    return undefined;
  }
  const members = new Map(Object.entries(value));
  for (const member of members.keys()) {
    if (allowed === undefined || allowed.includes(member)) continue;
    problems.push(`${path} has an unknown member ${JSON.stringify(member)}; it can have ${allowed.join(", ")}`);
  }
  return members;
}

/** Both engines can store it. */
function isUnicode(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
