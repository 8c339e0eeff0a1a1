import type { OidcProvider } from "../auth/oidc.ts";
import type { Queries } from "../db/database.ts";

/** What an operator sets for one application with `rollcall apps configure` (surface.md section 5). */
export interface ApplicationSettings {
  /** OpenID Connect providers by identityProviderName. */
  readonly oidc: Readonly<Record<string, OidcProvider>>;
  /** What the operator says of it; see {@link retentionOf} for what is in force. */
  readonly retention?: Partial<Retention>;
  /** How much may be stored; no bound where it does not say. */
  readonly quotas?: Partial<Quotas>;
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

/** The text does not make settings; `problems` has a line per wrong member, all of them at once. */
export class ApplicationSettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
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
  const members = readObject("the file", parseJson(text, problems), ["oidc", "retention", "quotas"], problems);
  const providers = members?.has("oidc") ? readObject("oidc", members.get("oidc"), undefined, problems) : undefined;
  const read = [...(providers ?? [])].map(([name, value]) => [name, readProvider(name, value, problems)] as const);
  const retention = members?.has("retention")
    ? readIntegers("retention", members.get("retention"), Object.keys(defaultRetention), 1, retentionDaysMax, problems)
    : undefined;
  const quotas = members?.has("quotas")
    ? readIntegers("quotas", members.get("quotas"), quotaNames, 0, Number.MAX_SAFE_INTEGER, problems)
    : undefined;
  if (problems.length > 0) throw new ApplicationSettingsError(problems);
  return {
    oidc: Object.fromEntries(read), // which makes a member of any name, also of __proto__
    ...(retention !== undefined && { retention }),
    ...(quotas !== undefined && { quotas }),
  };
}

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

function readIntegers(
  path: string,
  value: unknown,
  names: readonly string[],
  minimum: number,
  maximum: number,
  problems: string[],
): Readonly<Record<string, number>> {
  const members = readObject(path, value, names, problems);
  const read: [name: string, value: number][] = [];
  for (const [name, given] of members ?? []) {
    if (!names.includes(name)) continue; // readObject has said so
    if (Number.isSafeInteger(given) && Number(given) >= minimum && Number(given) <= maximum)
      read.push([name, Number(given)]);
    else problems.push(`${path}.${name} must be an integer from ${minimum} to ${maximum}`);
  }
  return Object.fromEntries(read);
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
