import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type ChangedSetting, listChangedSettings } from "./changed-settings.ts";
import { bodiesInFlightMin, findConflicts } from "./conflicts.ts";
import { findMisspeltSettings } from "./misspelt.ts";
import { BrokenRule } from "./reader.ts";
import { rows, type Settings, settings } from "./settings.ts";

/** All settings, read once at start-up; the rows of `settings` document each of them. */
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
  /** The certificate and its key; undefined means "http". */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** The destination of traces; undefined turns tracing off. */
  readonly traces: TracesConfig | undefined;
  /** The settings that differ from their defaults, for operators: without secrets. */
  readonly changedSettings: readonly ChangedSetting[];
}

export interface TracesConfig {
  /** The OTLP/HTTP base URL, without a signal's path and without a trailing slash. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** An OpenTelemetry sampler name. */
  readonly sampler: string;
  /** The share of traces to record, for the samplers that use a ratio. */
  readonly ratio: number;
}

/** The settings are invalid; `problems` has one line for each invalid setting. */
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
 * @param fromFile the names of the variables that come from `.env`, a file that only this server reads
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
/** No connection receives notifications behind a pooler. */
const eventsPollMsPooled = 50;
const inFlightBytesDefault = 67_108_864;
/** Each upload to a bucket holds a part of up to 8 MiB. */
const inFlightBytesWithS3 = 268_435_456;
