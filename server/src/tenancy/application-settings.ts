import type { OidcProvider } from "../auth/oidc.ts";
import type { Queries } from "../db/database.ts";
import { parseOperationPattern } from "../http/policy.ts";
import { type MailSettings, mailMembers, readMailSettings } from "./mail-settings.ts";

/** What an operator sets for one application. */
export interface ApplicationSettings {
  /** OpenID Connect providers by identityProviderName. */
  readonly oidc: Readonly<Record<string, OidcProvider>>;
  /** What the operator says of it; see {@link retentionOf} for what is in force. */
  readonly retention?: Partial<Retention>;
  /** How much may be stored; no bound where it does not say. */
  readonly quotas?: Partial<Quotas>;
  /** In place of those of the deployment. */
  readonly tokenLifetimes?: { readonly deviceMs?: number; readonly userMs?: number };
  /** Operations that are switched off, as `POST /users`. */
  readonly disabledOperations?: readonly string[];
  /** The origins of the web pages that may call; any without it. */
  readonly origins?: readonly string[];
  /** What happens to unsigned requests when there is a shared secret; `optional` without it. */
  readonly signedRequests?: "optional" | "required";
  /** In place of those of the deployment. */
  readonly limits?: Partial<ApplicationLimits>;
  /** In place of what the deployment has set. */
  readonly mail?: MailSettings;
}

/** How many calls are taken (see `http/rate-limits.ts`). */
export interface ApplicationLimits {
  /** Of all callers together. */
  readonly application: GivenLimit;
  /** Of each device. */
  readonly caller: GivenLimit;
  /** Of one operation, as `POST /checkins`: of each device, and of sign-ups, logins and the like of each address. */
  readonly operations: Readonly<Record<string, GivenLimit>>;
}

export interface GivenLimit {
  readonly perSecond: number;
  readonly burst?: number;
}

/** Of files: how many, and how many bytes they have together. */
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

/** For how many days what an application gathers is kept. */
export interface Retention {
  readonly metricsDays: number;
  readonly crashReportsDays: number;
}

const defaultRetention: Retention = { metricsDays: 90, crashReportsDays: 90 };
const retentionDaysMax = 3_650;
const tokenLifetimeMsMax = 315_360_000_000; // ten years
const textsMax = 100;

/** Who has got so many wrong has sent something else: an answer is not to be many times as long as its question. */
const problemsMax = 50;

/** The text does not make settings; `problems` has a line per wrong member, the first fifty of them at once. */
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

/**
 * Reads settings from their JSON.
 *
 * @throws ApplicationSettingsError naming each wrong member and its rule
 */
export function parseApplicationSettings(text: string): ApplicationSettings {
  const problems: string[] = [];
  return readMembers("the file", parseJson(text, problems), problems);
}

/** The same of what has been parsed already. @throws ApplicationSettingsError */
export function readApplicationSettings(value: unknown): ApplicationSettings {
  return readMembers("the body", value, []);
}

function readMembers(what: string, value: unknown, problems: string[]): ApplicationSettings {
  const members = readObject(what, value, Object.keys(readers), problems);
  const read = [...(members ?? [])]
    .filter(([name]) => Object.hasOwn(readers, name)) // readObject has told of the others
    .map(([name, given]) => [name, readers[name as keyof typeof readers](given, problems)]);
  if (problems.length > 0) throw new ApplicationSettingsError(problems);
  return { oidc: {}, ...Object.fromEntries(read) }; // each as its reader has judged it
}

type Reader = (value: unknown, problems: string[]) => unknown;

const readers = {
  oidc: readProviders,
  retention: integers("retention", Object.keys(defaultRetention), 1, retentionDaysMax),
  quotas: integers("quotas", quotaNames, 0, Number.MAX_SAFE_INTEGER),
  tokenLifetimes: integers("tokenLifetimes", ["deviceMs", "userMs"], 1_000, tokenLifetimeMsMax),
  disabledOperations: texts(
    "disabledOperations",
    "such as POST /users",
    (text) => parseOperationPattern(text) !== undefined,
  ),
  origins: texts("origins", "such as https://app.example.com", isOrigin),
  signedRequests: readSignedRequests,
  limits: readLimits,
  mail: (value, problems) => readMailSettings(readObject("mail", value, mailMembers, problems) ?? new Map(), problems),
} as const satisfies Record<keyof ApplicationSettings, Reader>;

/** The settings of an application as they are now; none when it has none. */
export async function loadApplicationSettings(applicationId: string, queries: Queries): Promise<ApplicationSettings> {
  const row = await queries
    .selectFrom("applications")
    .select("settings")
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  return parseApplicationSettings(row?.settings ?? "{}");
}

/** For how many days the settings let things be kept, with the default where they do not say. */
export function retentionOf({ retention }: ApplicationSettings): Retention {
  return { ...defaultRetention, ...retention };
}

/** The provider that the application knows by this name, in exactly these letters. */
export async function loadOidcProvider(
  applicationId: string,
  name: string,
  queries: Queries,
): Promise<OidcProvider | undefined> {
  const { oidc } = await loadApplicationSettings(applicationId, queries);
  return Object.hasOwn(oidc, name) ? oidc[name] : undefined;
}

/** @returns false when there is no such application */
export async function updateApplicationSettings(
  applicationId: string,
  settings: ApplicationSettings,
  queries: Queries,
): Promise<boolean> {
  const updated = await queries
    .updateTable("applications")
    .set({ settings: JSON.stringify(settings) })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return updated.numUpdatedRows === 1n;
}

const providerNameCharactersMax = 256; // as long as an identityProviderName may be

function readProviders(value: unknown, problems: string[]): Readonly<Record<string, OidcProvider>> {
  const providers = readObject("oidc", value, undefined, problems);
  const read = [...(providers ?? [])].map(([name, given]) => [name, readProvider(name, given, problems)] as const);
  return Object.fromEntries(read); // which makes a member of any name, also of __proto__
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

function integers(path: string, names: readonly string[], minimum: number, maximum: number): Reader {
  return (value, problems) => {
    const members = readObject(path, value, names, problems);
    const read: [name: string, value: number][] = [];
    for (const [name, given] of members ?? []) {
      if (!names.includes(name)) continue; // readObject has said so
      if (Number.isSafeInteger(given) && Number(given) >= minimum && Number(given) <= maximum) {
        read.push([name, Number(given)]);
      } else problems.push(`${path}.${name} must be an integer from ${minimum} to ${maximum}`);
    }
    return Object.fromEntries(read);
  };
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

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

function readSignedRequests(value: unknown, problems: string[]): unknown {
  if (value !== "optional" && value !== "required") problems.push("signedRequests must be optional or required");
  return value;
}

const perSecondMin = 0.001;
const callsMax = 1_000_000;

function readLimits(value: unknown, problems: string[]): unknown {
  const members = readObject("limits", value, ["application", "caller", "operations"], problems);
  for (const name of ["application", "caller"]) {
    if (members?.has(name)) checkLimit(`limits.${name}`, members.get(name), problems);
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

/** The members of an object. What is no object, or a member that is not known, is a problem. */
function readObject(
  path: string,
  value: unknown,
  known: readonly string[] | undefined,
  problems: string[],
): Map<string, unknown> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    problems.push(`${path} must be an object`);
    return undefined;
  }
  const members = new Map(Object.entries(value));
  for (const member of members.keys()) {
    if (known === undefined || known.includes(member)) continue;
    problems.push(`${path} has an unknown member ${JSON.stringify(member)}; it can have ${known.join(", ")}`);
  }
  return members;
}

/** Both engines store it. */
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
