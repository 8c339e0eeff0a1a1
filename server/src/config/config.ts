import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isPostgresUrl } from "./database-url.ts";
import { findMisspeltSettings } from "./misspelt.ts";
import { isLoopback } from "./networks.ts";
import { BrokenRule } from "./reader.ts";
import { keyedRegions, mainRegion } from "./regions.ts";
import { rows, type Settings, settings } from "./settings.ts";

/** A setting that is valid, but not in combination with other settings. */
interface Conflict {
  readonly name: string;
  /** The text after the setting's name: "must be …". */
  readonly rule: string;
}

/** One caller may hold a third of the bytes in flight, and the buffer of a body doubles while it arrives. */
const bodiesInFlightMin = 8;

/** @param values the valid settings */
function findConflicts(values: Partial<Settings>): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  function require(isRight: boolean, name: string, rule: string): void {
    if (!isRight) conflicts.push({ name, rule });
  }

  const { tlsCertFile, tlsKeyFile, requireHttps, publicUrl } = values;
  require(tlsCertFile !== undefined || tlsKeyFile === undefined, "TLS_CERT_FILE", "must be set when TLS_KEY_FILE is");
  require(tlsKeyFile !== undefined || tlsCertFile === undefined, "TLS_KEY_FILE", "must be set when TLS_CERT_FILE is");
  require(!(
    requireHttps && publicUrl?.startsWith("http:")
  ), "PUBLIC_URL", "must be an https:// URL when REQUIRE_HTTPS is true");

  const { secrets = [], databaseUrl = "" } = values;
  require(secrets.length > 0 ||
    !isPostgresUrl(databaseUrl), "ROLLCALL_SECRET", "must be set when DATABASE_URL names PostgreSQL");

  const { filesUrl, filesDownload } = values;
  const isBucket = filesUrl?.startsWith("s3:") ?? false;
  require(filesDownload !== "redirect" ||
    isBucket, "FILES_DOWNLOAD", "must be stream when FILES_URL names no s3:// bucket");
  const keyRule = "must be set when FILES_URL names an s3:// bucket";
  require(!isBucket || values.awsAccessKeyId !== undefined, "AWS_ACCESS_KEY_ID", keyRule);
  require(!isBucket || values.awsSecretAccessKey !== undefined, "AWS_SECRET_ACCESS_KEY", keyRule);

  const { rateLimits = true, host = "" } = values;
  require(rateLimits || isLoopback(host), "RATE_LIMITS", "can be off only where HOST is 127.0.0.1, ::1 or localhost");

  const { inFlightBytesMax, bodyBytesMax = 0 } = values;
  require(inFlightBytesMax === undefined ||
    inFlightBytesMax >=
      bodiesInFlightMin *
        bodyBytesMax, "IN_FLIGHT_BYTES_MAX", `must be at least ${bodiesInFlightMin} times BODY_BYTES_MAX`);

  const { pageItemsDefault = 0, pageItemsMax = pageItemsDefault } = values;
  require(pageItemsDefault <= pageItemsMax, "PAGE_ITEMS_DEFAULT", "must not be above PAGE_ITEMS_MAX");

  return [...conflicts, ...findRegionConflicts(values)];
}

function findRegionConflicts({ region = mainRegion, regions, regionSecrets }: Partial<Settings>): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  if (regions === undefined) return conflicts;
  if (regions.size > 0 && !(regions.has(mainRegion) && regions.has(region))) {
    conflicts.push({ name: "REGIONS", rule: `must name ${mainRegion} and what REGION says` });
  }
  if (regionSecrets === undefined) return conflicts;
  const refuse = (rule: string) => void conflicts.push({ name: "REGION_SECRET", rule });
  if (regions.size > 0 && regionSecrets.length === 0) refuse("must be set when REGIONS is");
  const keyed = keyedRegions(regionSecrets);
  if (keyed.some((name) => name === undefined || name === region || !regions.has(name))) {
    refuse("must have keys as `rollcall regions key` prints them, each of another region of REGIONS");
  }
  const isShared = regionSecrets.length > keyed.length;
  const others = [...regions.keys()].filter((name) => name !== region);
  if (regionSecrets.length > 0 && !isShared && others.some((name) => !keyed.includes(name))) {
    refuse("must have a shared secret, or a key of each other region of REGIONS");
  }
  return conflicts;
}

/** A setting that differs from its default. */
interface ChangedSetting {
  readonly name: string;
  /** `set` for a secret. */
  readonly value: string;
  readonly about: string;
}

/** Matches user information in a URL, plain or percent-encoded. */
const credentials = /\/\/.*@|%40/;

function listChangedSettings(environment: Readonly<Record<string, string | undefined>>): ChangedSetting[] {
  return settings.flatMap(({ name, default: usual, about, isSecret = false }) => {
    const value = environment[name]?.trim() || usual;
    if (value === usual) return [];
    return [{ name, value: isSecret || credentials.test(value) ? "set" : value, about }];
  });
}

/** All settings, read once at start-up. The rows of `settings` document them. */
export interface Config
  extends Omit<
    Settings,
    | "databaseUrl"
    | "eventsPollMs"
    | "filesUrl"
    | "inFlightBytesMax"
    | "passwordHashThreads"
    | "tlsCertFile"
    | "tlsKeyFile"
    | "tracesEndpoint"
    | "tracesHeaders"
    | "tracesServiceName"
    | "tracesSampler"
    | "tracesRatio"
  > {
  readonly databaseUrl: string;
  readonly eventsPollMs: number;
  readonly filesUrl: string;
  readonly inFlightBytesMax: number;
  readonly passwordHashThreads: number;
  /** The certificate and its key; undefined for http. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** The destination of traces; undefined to turn tracing off. */
  readonly traces: TracesConfig | undefined;
  /** The settings that differ from their defaults, for operators, without secrets. */
  readonly changedSettings: readonly ChangedSetting[];
}

export interface TracesConfig {
  /** The OTLP/HTTP base URL, without the path of a signal and without a trailing slash. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** An OpenTelemetry sampler name. */
  readonly sampler: string;
  /** The share of traces to record, for samplers with a ratio. */
  readonly ratio: number;
}

/** The settings are invalid; `problems` has a line for each invalid setting. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Wrong settings:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. Pure: the result depends only on the arguments.
 *
 * @param fromFile the names of the variables from `.env`, a file that only this server reads
 * @throws ConfigError with all problems, not only the first
 */
export function loadConfig(environment: Environment, fromFile: ReadonlySet<string> = new Set()): Config {
  const names = settings.map(({ name }) => name);
  const misspelt = findMisspeltSettings(environment, names, fromFile).map(
    ({ name, meant }) => `${name}${fromFile.has(name) ? " (in .env)" : ""} is not a setting. Did you mean ${meant}?`,
  );
  const { values, problems } = readSettings(environment);
  const unread = new Set(problems.keys());
  const conflicts = findConflicts(values).filter(({ name }) => !unread.has(name));
  const lines = [...problems, ...conflicts.map(({ name, rule }) => [name, rule] as const)].map((each) =>
    each.join(" "),
  );
  if (misspelt.length + lines.length > 0) throw new ConfigError([...misspelt, ...lines]);
  // Without problems, every reader has returned a value.
  return { ...completed(values as Settings), changedSettings: listChangedSettings(environment) };
}

function readSettings(environment: Environment): {
  readonly values: Partial<Settings>;
  readonly problems: ReadonlyMap<string, string>;
} {
  const values: Record<string, unknown> = {};
  const problems = new Map<string, string>();
  for (const [key, { name, default: usual, read }] of Object.entries(rows)) {
    try {
      values[key] = read(environment[name]?.trim() || usual);
    } catch (error) {
      if (!(error instanceof BrokenRule)) throw error;
      problems.set(name, error.message);
    }
  }
  return { values, problems }; // each value comes from the reader of its row
}

/** Fills in the defaults that depend on other settings. */
function completed(values: Settings): Omit<Config, "changedSettings"> {
  const {
    tlsCertFile,
    tlsKeyFile,
    tracesEndpoint,
    tracesHeaders,
    tracesServiceName,
    tracesSampler,
    tracesRatio,
    ...others
  } = values;
  const { dataDir, workers, bodyBytesMax } = values;
  const filesUrl = values.filesUrl ?? pathToFileURL(join(dataDir, "files")).href;
  const inFlightBytes = filesUrl.startsWith("s3:") ? inFlightBytesWithS3 : inFlightBytesDefault;
  return {
    ...others,
    databaseUrl: values.databaseUrl ?? pathToFileURL(join(dataDir, "rollcall.db")).href,
    eventsPollMs: values.eventsPollMs ?? (values.databasePooled ? eventsPollMsPooled : eventsPollMsDefault),
    filesUrl,
    inFlightBytesMax: values.inFlightBytesMax ?? Math.max(inFlightBytes, bodiesInFlightMin * bodyBytesMax),
    passwordHashThreads: values.passwordHashThreads ?? defaultHashThreads(workers),
    tls:
      tlsCertFile === undefined || tlsKeyFile === undefined
        ? undefined
        : { certFile: tlsCertFile, keyFile: tlsKeyFile },
    traces:
      tracesEndpoint === undefined
        ? undefined
        : {
            endpoint: tracesEndpoint,
            headers: tracesHeaders,
            serviceName: tracesServiceName,
            sampler: tracesSampler,
            ratio: tracesRatio,
          },
  };
}

/** One per core, but at most three of libuv's four pool threads, because file access needs one. */
function defaultHashThreads(workers: number): number {
  return Math.min(Math.ceil(availableParallelism() / workers), 3);
}

const eventsPollMsDefault = 250;
/** Behind a pooler, connections receive no notifications. */
const eventsPollMsPooled = 50;
const inFlightBytesDefault = 67_108_864;
/** An upload to a bucket buffers up to 8 MiB. */
const inFlightBytesWithS3 = 268_435_456;
