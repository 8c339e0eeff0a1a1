import { BlockList, isIP } from "node:net";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Everything that can be set, with units in the names. Read once at start-up; see `settings` for meanings. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** Processes that serve together on this machine; 1 is this one alone. */
  readonly workers: number;
  readonly dataDir: string;
  /** `file:…` for the embedded SQLite database, `postgres://…` for PostgreSQL. */
  readonly databaseUrl: string;
  /** Without a trailing slash; undefined means "the address the server listens on". */
  readonly publicUrl: string | undefined;
  /** Newest first; undefined means "made and kept in dataDir". */
  readonly secrets: readonly string[] | undefined;
  readonly region: string;
  /** Where clients reach each region, without a trailing slash, by the names of the regions; empty where there is but one. */
  readonly regions: ReadonlyMap<string, string>;
  /** Newest first; empty where there is but one region. */
  readonly regionSecrets: readonly string[];
  readonly regionTimeoutMs: number;
  readonly authSchemes: readonly string[];
  readonly deviceTokenLifetimeMs: number;
  readonly userTokenLifetimeMs: number;
  readonly operatorSessionMs: number;
  readonly operatorIdleMs: number;
  readonly auditDays: number;
  readonly tokenCacheItemsMax: number;
  readonly passwordHashMemoryKib: number;
  readonly passwordHashPasses: number;
  readonly passwordHashThreads: number;
  readonly passwordHashQueueMax: number;
  readonly bodyBytesMax: number;
  readonly headerBytesMax: number;
  readonly fileBytesMax: number;
  readonly uploadLifetimeMs: number;
  readonly signedUrlLifetimeMs: number;
  readonly pageItemsDefault: number;
  readonly pageItemsMax: number;
  readonly batchItemsMax: number;
  readonly batchReplyBytesMax: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly shutdownGraceMs: number;
  /** The certificate and its key; undefined means "http". */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Addresses, blocks as `10.0.0.0/8`, and `loopback`. */
  readonly trustedProxies: readonly string[];
  readonly requireHttps: boolean;
  readonly hstsMaxAgeSeconds: number;
  readonly databaseConnectionsMax: number;
  readonly databaseTimeoutMs: number;
  /** A pooler stands before PostgreSQL, and gives each transaction another session. */
  readonly databasePooled: boolean;
  /** Where mails go to be sent; undefined means "written into dataDir". */
  readonly smtpUrl: string | undefined;
  readonly mailFrom: { readonly name: string; readonly address: string };
  readonly resetCodeLifetimeMs: number;
  /** Where the bytes of files lie: a folder (`file:…`), or an S3-compatible store (`s3://bucket?…`). */
  readonly filesUrl: string;
  /** Whether clients read files from us, or are sent to the S3-compatible store. */
  readonly filesDownload: string;
  readonly awsAccessKeyId: string | undefined;
  readonly awsSecretAccessKey: string | undefined;
  readonly rateLimits: boolean;
  readonly rateLimitCallerPerSecond: number;
  readonly rateLimitApplicationPerSecond: number;
  readonly rateLimitRegistrationsPerSecond: number;
  readonly rateLimitSignInsPerSecond: number;
  readonly rateLimitPasswordResetsPerSecond: number;
  readonly rateLimitDownloadsPerSecond: number;
  readonly signInFailuresMax: number;
  readonly logLevel: string;
  /** What a scrape has to bring; undefined means "there is none on the port of the service". */
  readonly metricsToken: string | undefined;
  /** A port for scrapes alone; undefined means "none". */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  readonly metricsApplicationsMax: number;
  /** Statements that take as long are logged; 0 means "none". */
  readonly slowQueryMs: number;
  /** The share of requests that are logged of those that are nothing special. */
  readonly logSample: number;
  /** Where traces go; undefined means "there are none". */
  readonly traces: TracesConfig | undefined;
}

export interface TracesConfig {
  /** Of OTLP over HTTP, without the path of a signal, nor a slash at its end. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** One of OpenTelemetry's names. */
  readonly sampler: string;
  /** The share of traces that are recorded, where the sampler goes by one. */
  readonly ratio: number;
}

interface Setting {
  readonly name: string;
  /** As it would stand in the environment; empty when there is none. */
  readonly default: string;
  readonly about: string;
}

/** Every setting of the environment: `.env.example` is this list, checked by a test. */
export const settings = [
  { name: "HOST", default: "127.0.0.1", about: "Address to listen on." },
  { name: "PORT", default: "8080", about: "Port to listen on; 0 takes a free one." },
  { name: "WORKERS", default: "1", about: "Processes that serve on this machine; 0 for one per core." },
  { name: "DATA_DIR", default: "./data", about: "Folder of the embedded database and of the kept secret." },
  {
    name: "DATABASE_URL",
    default: "",
    about: "postgres://user:password@host:port/database, or empty for SQLite in DATA_DIR.",
  },
  {
    name: "PUBLIC_URL",
    default: "",
    about: "Address that clients reach the server at; empty for http://HOST:PORT, or https:// with TLS_CERT_FILE.",
  },
  {
    name: "TLS_CERT_FILE",
    default: "",
    about: "PEM file of the certificate and its chain, to serve https; read again when it changes.",
  },
  { name: "TLS_KEY_FILE", default: "", about: "PEM file of the key of TLS_CERT_FILE." },
  {
    name: "TRUST_PROXY",
    default: "",
    about:
      "Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed: addresses, blocks (10.0.0.0/8) and loopback, separated by commas.",
  },
  {
    name: "REQUIRE_HTTPS",
    default: "false",
    about: "true refuses what comes over http, to the server or to a trusted proxy, from other machines; health aside.",
  },
  {
    name: "HSTS_MAX_AGE_SECONDS",
    default: "31536000",
    about: "How long browsers insist on https, told with TLS_CERT_FILE or REQUIRE_HTTPS (1 year); 0 ends it.",
  },
  {
    name: "ROLLCALL_SECRET",
    default: "",
    about:
      "Seals tokens, at least 16 characters. To rotate: new,old. Empty: made and kept in DATA_DIR (SQLite only; PostgreSQL needs it set).",
  },
  { name: "REGION", default: "main", about: "Name of this deployment's region; tokens are bound to it." },
  {
    name: "REGIONS",
    default: "",
    about:
      "All regions and where clients reach them, the same in each: main=https://api.example.org,eu=https://eu.example.org; empty for one alone.",
  },
  {
    name: "REGION_SECRET",
    default: "",
    about:
      "Signs calls between regions, at least 16 characters, the same in each; needed with REGIONS. The first signs, all separated by commas are good.",
  },
  { name: "REGION_TIMEOUT_MS", default: "5000", about: "Longest wait for the answer of another region." },
  { name: "AUTH_SCHEMES", default: "Service,Bearer", about: "Words accepted before the token in Authorization." },
  { name: "DEVICE_TOKEN_LIFETIME_MS", default: "7776000000", about: "Lifetime of a device token (90 days)." },
  { name: "USER_TOKEN_LIFETIME_MS", default: "2592000000", about: "Lifetime of a user token (30 days)." },
  { name: "OPERATOR_SESSION_MS", default: "604800000", about: "Lifetime of an operator's session (7 days)." },
  { name: "OPERATOR_IDLE_MS", default: "43200000", about: "How long an operator's session may go unused (12 hours)." },
  { name: "AUDIT_DAYS", default: "365", about: "How long the audit log is kept." },
  { name: "TOKEN_CACHE_ITEMS_MAX", default: "50000", about: "Opened tokens kept in memory." },
  { name: "PASSWORD_HASH_MEMORY_KIB", default: "19456", about: "argon2id memory per hash." },
  { name: "PASSWORD_HASH_PASSES", default: "2", about: "argon2id passes per hash." },
  {
    name: "PASSWORD_HASH_THREADS",
    default: "",
    about: "Hashes at once in each process; empty for one per core, at most 3.",
  },
  {
    name: "PASSWORD_HASH_QUEUE_MAX",
    default: "256",
    about: "Hashes that may wait; past it logins are refused with 503.",
  },
  { name: "BODY_BYTES_MAX", default: "1048576", about: "Largest request body." },
  { name: "HEADER_BYTES_MAX", default: "16384", about: "Largest request head: path and headers together." },
  { name: "FILE_BYTES_MAX", default: "1073741824", about: "Largest file that can be uploaded (1 GiB)." },
  { name: "UPLOAD_LIFETIME_MS", default: "86400000", about: "Time for a resumable upload to become whole (1 day)." },
  { name: "SIGNED_URL_LIFETIME_MS", default: "3600000", about: "How long a signedUrl opens its file (1 hour)." },
  { name: "PAGE_ITEMS_DEFAULT", default: "100", about: "Items of a page when the request names no pageSize." },
  { name: "PAGE_ITEMS_MAX", default: "1000", about: "Largest pageSize." },
  { name: "BATCH_ITEMS_MAX", default: "200", about: "Calls of one batch." },
  {
    name: "BATCH_REPLY_BYTES_MAX",
    default: "8388608",
    about: "Answers of one batch together, beyond which its other items are refused (8 MiB).",
  },
  { name: "REQUEST_TIMEOUT_MS", default: "30000", about: "Time for a request to arrive whole." },
  { name: "KEEP_ALIVE_TIMEOUT_MS", default: "72000", about: "Time that an idle connection is kept." },
  { name: "SHUTDOWN_GRACE_MS", default: "10000", about: "Time for requests in flight to finish at SIGTERM." },
  { name: "DATABASE_CONNECTIONS_MAX", default: "10", about: "PostgreSQL connections of each process." },
  {
    name: "DATABASE_TIMEOUT_MS",
    default: "5000",
    about: "Longest wait for PostgreSQL, or for the write lock of SQLite.",
  },
  {
    name: "DATABASE_POOLER",
    default: "none",
    about: "transaction where DATABASE_URL leads to pgbouncer or another pooler in transaction mode; else none.",
  },
  {
    name: "SMTP_URL",
    default: "",
    about:
      "smtps://user:password@host or smtp://host:port to send mails through, or empty to write them to DATA_DIR/mail.",
  },
  {
    name: "MAIL_FROM",
    default: "Rollcall <no-reply@localhost>",
    about: "Sender of mails: an address, or Name <address>.",
  },
  {
    name: "RESET_CODE_LIFETIME_MS",
    default: "3600000",
    about: "How long a mailed password reset code is good (1 hour).",
  },
  {
    name: "FILES_URL",
    default: "",
    about:
      "Folder of uploaded files (file:///path), or s3://bucket?endpoint=https://host&region=name&prefix=folder, or empty for DATA_DIR/files.",
  },
  {
    name: "FILES_DOWNLOAD",
    default: "stream",
    about: "stream: the server sends files itself; redirect: it sends clients to the bucket of an s3:// FILES_URL.",
  },
  { name: "AWS_ACCESS_KEY_ID", default: "", about: "Key id for an s3:// FILES_URL." },
  { name: "AWS_SECRET_ACCESS_KEY", default: "", about: "Secret key for an s3:// FILES_URL." },
  {
    name: "RATE_LIMITS",
    default: "on",
    about: "on or off; off is for load tests, also ends lock-outs, and needs a HOST of this machine alone.",
  },
  {
    name: "RATE_LIMIT_CALLER_PER_SECOND",
    default: "200",
    about: "Calls of one device or operator, for ever; ten seconds' worth at once.",
  },
  {
    name: "RATE_LIMIT_APPLICATION_PER_SECOND",
    default: "10000",
    about: "Calls of all devices of one application; ten seconds' worth at once.",
  },
  {
    name: "RATE_LIMIT_REGISTRATIONS_PER_SECOND",
    default: "100",
    about: "Registrations from one address; twenty seconds' worth at once.",
  },
  {
    name: "RATE_LIMIT_SIGN_INS_PER_SECOND",
    default: "50",
    about: "Sign-ups and logins, each, from one address in one application; twenty seconds' worth at once.",
  },
  {
    name: "RATE_LIMIT_PASSWORD_RESETS_PER_SECOND",
    default: "20",
    about: "Password resets from one address in one application; twenty seconds' worth at once.",
  },
  {
    name: "RATE_LIMIT_DOWNLOADS_PER_SECOND",
    default: "500",
    about: "Downloads by signedUrl to one address; twenty seconds' worth at once.",
  },
  {
    name: "SIGN_IN_FAILURES_MAX",
    default: "10",
    about: "Wrong passwords in a row for one user name from one address before waiting times begin.",
  },
  { name: "LOG_LEVEL", default: "info", about: "fatal, error, warn, info, debug, trace or silent." },
  {
    name: "METRICS_TOKEN",
    default: "",
    about: "At least 16 characters that a scrape of /_/prometheus brings as Authorization: Bearer; empty: no scrapes.",
  },
  {
    name: "METRICS_PORT",
    default: "",
    about: "Port that serves /_/prometheus and nothing else, without METRICS_TOKEN to anybody; 0 takes a free one.",
  },
  { name: "METRICS_HOST", default: "127.0.0.1", about: "Address of METRICS_PORT." },
  {
    name: "METRICS_APPLICATIONS_MAX",
    default: "1000",
    about: "Applications with metrics of their own, the busiest; the rest are counted together.",
  },
  {
    name: "SLOW_QUERY_MS",
    default: "1000",
    about: "Statements that take this long are logged (1 second); 0 for none.",
  },
  {
    name: "LOG_SAMPLE",
    default: "1",
    about: "Share of requests that are logged, 0 to 1; refused, failed and slow ones always are.",
  },
  {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    default: "",
    about: "Collector of OpenTelemetry traces, OTLP over HTTP (http://host:4318); empty for no traces.",
  },
  {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    default: "",
    about: "Headers for the collector: name=value, separated by commas, values percent-encoded.",
  },
  { name: "OTEL_SERVICE_NAME", default: "rollcall", about: "Name of this service in traces." },
  {
    name: "OTEL_TRACES_SAMPLER",
    default: "parentbased_traceidratio",
    about:
      "Which traces are recorded: parentbased_traceidratio heeds the caller's decision, traceidratio does not; also always_on, always_off, parentbased_always_on, parentbased_always_off.",
  },
  { name: "OTEL_TRACES_SAMPLER_ARG", default: "1", about: "Share of traces that are recorded, 0 to 1." },
] as const satisfies readonly Setting[];

type SettingName = (typeof settings)[number]["name"];

/** The environment does not make a configuration; `problems` has a line per wrong setting, all of them at once. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Wrong settings:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/**
 * Reads the settings. Pure: the environment comes in, nothing else is looked at.
 *
 * @throws ConfigError with every problem, not only the first
 */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];

  function text(name: SettingName): string {
    const given = environment[name]?.trim();
    return given === undefined || given === "" ? (settings.find((s) => s.name === name)?.default ?? "") : given;
  }
  function check(name: SettingName, isRight: boolean, rule: string): void {
    if (!isRight) problems.push(`${name} ${rule}`);
  }
  function integer(name: SettingName, minimum: number, maximum: number): number {
    const value = Number(text(name));
    check(
      name,
      /^\d+$/.test(text(name)) && value >= minimum && value <= maximum,
      `must be an integer from ${minimum} to ${maximum}`,
    );
    return value;
  }
  function share(name: SettingName): number {
    check(name, /^(?:0|1|0?\.\d+|1\.0+|0\.\d+)$/.test(text(name)), "must be a number from 0 to 1");
    return Number(text(name));
  }
  function truth(name: SettingName): boolean {
    const word = text(name).toLowerCase();
    check(name, word === "true" || word === "false", "must be true or false");
    return word === "true";
  }
  function list(name: SettingName): string[] {
    return text(name)
      .split(",")
      .map((word) => word.trim())
      .filter((word) => word !== "");
  }

  const dataDir = resolve(text("DATA_DIR"));
  const databaseUrl = text("DATABASE_URL") || pathToFileURL(join(dataDir, "rollcall.db")).href;
  check(
    "DATABASE_URL",
    (/^postgres(?:ql)?:\/\//.test(databaseUrl) || absoluteFilePattern.test(databaseUrl)) && URL.canParse(databaseUrl),
    "must be a URL that begins with postgres:// or file:/// (a path from the root on)",
  );
  const onPostgres = /^postgres(ql)?:/.test(databaseUrl);

  const publicUrl = text("PUBLIC_URL").replace(/\/+$/, "");
  check("PUBLIC_URL", publicUrl === "" || isUrl(publicUrl, ["http:", "https:"]), "must be an http:// or https:// URL");

  const [certFile, keyFile] = [text("TLS_CERT_FILE"), text("TLS_KEY_FILE")];
  check("TLS_CERT_FILE", certFile !== "" || keyFile === "", "must be set when TLS_KEY_FILE is");
  check("TLS_KEY_FILE", keyFile !== "" || certFile === "", "must be set when TLS_CERT_FILE is");
  const trustedProxies = list("TRUST_PROXY");
  check(
    "TRUST_PROXY",
    trustedProxies.every((word) => word === "loopback" || isAddressBlock(word)),
    "must be IP addresses, blocks of them (10.0.0.0/8) and loopback, separated by commas; not everybody (/0)",
  );
  const requireHttps = truth("REQUIRE_HTTPS");
  check(
    "PUBLIC_URL",
    !requireHttps || !publicUrl.startsWith("http:"),
    "must be an https:// URL when REQUIRE_HTTPS is true",
  );

  const secrets = list("ROLLCALL_SECRET");
  check("ROLLCALL_SECRET", !onPostgres || secrets.length > 0, "must be set when DATABASE_URL names PostgreSQL");
  check(
    "ROLLCALL_SECRET",
    secrets.every((secret) => secret.length >= secretCharactersMin),
    `must have at least ${secretCharactersMin} characters (openssl rand -hex 32 makes a good one)`,
  );

  const region = text("REGION");
  check("REGION", isRegionName(region), "must be 1 to 32 of a-z, 0-9 and -");
  const regionList = list("REGIONS").map((entry) => readRegion(entry));
  const regions = new Map(regionList);
  const areRegions =
    regions.size === regionList.length && regionList.every(([name, root]) => isRegionName(name) && isRegionRoot(root));
  check(
    "REGIONS",
    areRegions,
    "must be name=root pairs separated by commas, each name once, each root an http(s) URL of a host and perhaps a path",
  );
  check(
    "REGIONS",
    !areRegions || regions.size === 0 || (regions.has(mainRegion) && regions.has(region)),
    `must name ${mainRegion} and what REGION says`,
  );
  const regionSecrets = list("REGION_SECRET");
  check("REGION_SECRET", regions.size === 0 || regionSecrets.length > 0, "must be set when REGIONS is");
  check(
    "REGION_SECRET",
    regionSecrets.every((secret) => secret.length >= secretCharactersMin),
    `must have at least ${secretCharactersMin} characters (openssl rand -hex 32 makes a good one)`,
  );
  const authSchemes = list("AUTH_SCHEMES").map((word) => word.toLowerCase());
  check(
    "AUTH_SCHEMES",
    authSchemes.length > 0 && authSchemes.every((word) => /^[a-z0-9-]+$/.test(word)),
    "must be words of letters, digits and -, separated by commas",
  );
  const smtpUrl = text("SMTP_URL");
  check(
    "SMTP_URL",
    smtpUrl === "" || (isUrl(smtpUrl, ["smtp:", "smtps:"]) && new URL(smtpUrl).hostname !== ""),
    "must be an smtp:// or smtps:// URL with a host",
  );
  const mailFrom = parseSender(text("MAIL_FROM"));
  check("MAIL_FROM", mailFrom !== undefined, "must be an address, or a name and an address in angle brackets");
  const filesUrl = text("FILES_URL") || pathToFileURL(join(dataDir, "files")).href;
  check("FILES_URL", isFilesUrl(filesUrl), filesUrlRule);
  const filesDownload = text("FILES_DOWNLOAD").toLowerCase();
  check("FILES_DOWNLOAD", ["stream", "redirect"].includes(filesDownload), "must be stream or redirect");
  check(
    "FILES_DOWNLOAD",
    filesDownload !== "redirect" || !isUrl(filesUrl, ["file:"]),
    "must be stream when FILES_URL names no s3:// bucket",
  );
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] as const) {
    check(name, text(name) !== "" || !filesUrl.startsWith("s3:"), "must be set when FILES_URL names an s3:// bucket");
  }
  const rateLimits = text("RATE_LIMITS").toLowerCase();
  check("RATE_LIMITS", ["on", "off"].includes(rateLimits), "must be on or off");
  check(
    "RATE_LIMITS",
    rateLimits !== "off" || isLoopback(text("HOST")),
    "can be off only where HOST is 127.0.0.1, ::1 or localhost",
  );
  const logLevel = text("LOG_LEVEL").toLowerCase();
  check("LOG_LEVEL", logLevels.includes(logLevel), `must be one of ${logLevels.join(", ")}`);
  const otlpEndpoint = text("OTEL_EXPORTER_OTLP_ENDPOINT").replace(/\/+$/, "");
  check(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    otlpEndpoint === "" || isUrl(otlpEndpoint, ["http:", "https:"]),
    "must be an http:// or https:// URL",
  );
  const otlpHeaders = parseHeaders(text("OTEL_EXPORTER_OTLP_HEADERS"));
  check("OTEL_EXPORTER_OTLP_HEADERS", otlpHeaders !== undefined, "must be name=value, separated by commas");
  const sampler = text("OTEL_TRACES_SAMPLER").toLowerCase();
  check("OTEL_TRACES_SAMPLER", samplers.includes(sampler), `must be one of ${samplers.join(", ")}`);
  const traces: TracesConfig = {
    endpoint: otlpEndpoint,
    headers: otlpHeaders ?? {},
    serviceName: text("OTEL_SERVICE_NAME"),
    sampler,
    ratio: share("OTEL_TRACES_SAMPLER_ARG"),
  };
  const metricsToken = text("METRICS_TOKEN");
  check(
    "METRICS_TOKEN",
    metricsToken === "" || /^[\x21-\x7e]{16,}$/.test(metricsToken),
    `must have at least ${secretCharactersMin} characters, and no spaces (openssl rand -hex 32 makes a good one)`,
  );

  const databasePooler = text("DATABASE_POOLER").toLowerCase();
  check("DATABASE_POOLER", ["none", "transaction"].includes(databasePooler), "must be none or transaction");
  const workers = integer("WORKERS", 0, 256) || availableParallelism();

  const config: Config = {
    host: text("HOST"),
    port: integer("PORT", 0, 65_535),
    workers,
    dataDir,
    databaseUrl,
    publicUrl: publicUrl === "" ? undefined : publicUrl,
    secrets: secrets.length === 0 ? undefined : secrets,
    region,
    regions,
    regionSecrets,
    regionTimeoutMs: integer("REGION_TIMEOUT_MS", 100, 60_000),
    authSchemes,
    deviceTokenLifetimeMs: integer("DEVICE_TOKEN_LIFETIME_MS", 1_000, tenYearsMs),
    userTokenLifetimeMs: integer("USER_TOKEN_LIFETIME_MS", 1_000, tenYearsMs),
    operatorSessionMs: integer("OPERATOR_SESSION_MS", 1_000, tenYearsMs),
    operatorIdleMs: integer("OPERATOR_IDLE_MS", 1_000, tenYearsMs),
    auditDays: integer("AUDIT_DAYS", 1, 3_650),
    tokenCacheItemsMax: integer("TOKEN_CACHE_ITEMS_MAX", 1, 10_000_000),
    passwordHashMemoryKib: integer("PASSWORD_HASH_MEMORY_KIB", 8, 4_194_304),
    passwordHashPasses: integer("PASSWORD_HASH_PASSES", 1, 100),
    passwordHashThreads:
      text("PASSWORD_HASH_THREADS") === "" ? defaultHashThreads(workers) : integer("PASSWORD_HASH_THREADS", 1, 1_024),
    passwordHashQueueMax: integer("PASSWORD_HASH_QUEUE_MAX", 1, 1_000_000),
    bodyBytesMax: integer("BODY_BYTES_MAX", 1_024, 1_073_741_824),
    headerBytesMax: integer("HEADER_BYTES_MAX", 4_096, 1_048_576),
    fileBytesMax: integer("FILE_BYTES_MAX", 1, 1_099_511_627_776),
    uploadLifetimeMs: integer("UPLOAD_LIFETIME_MS", 1_000, tenYearsMs),
    signedUrlLifetimeMs: integer("SIGNED_URL_LIFETIME_MS", 1_000, tenYearsMs),
    pageItemsDefault: integer("PAGE_ITEMS_DEFAULT", 1, 10_000),
    pageItemsMax: integer("PAGE_ITEMS_MAX", 1, 10_000),
    batchItemsMax: integer("BATCH_ITEMS_MAX", 1, 10_000),
    batchReplyBytesMax: integer("BATCH_REPLY_BYTES_MAX", 1_024, 1_073_741_824),
    requestTimeoutMs: integer("REQUEST_TIMEOUT_MS", 100, 3_600_000),
    keepAliveTimeoutMs: integer("KEEP_ALIVE_TIMEOUT_MS", 100, 3_600_000),
    shutdownGraceMs: integer("SHUTDOWN_GRACE_MS", 0, 3_600_000),
    tls: certFile === "" || keyFile === "" ? undefined : { certFile, keyFile },
    trustedProxies,
    requireHttps,
    hstsMaxAgeSeconds: integer("HSTS_MAX_AGE_SECONDS", 0, 315_360_000),
    databaseConnectionsMax: integer("DATABASE_CONNECTIONS_MAX", 2, 1_000),
    databaseTimeoutMs: integer("DATABASE_TIMEOUT_MS", 100, 600_000),
    databasePooled: databasePooler === "transaction",
    smtpUrl: smtpUrl === "" ? undefined : smtpUrl,
    mailFrom: mailFrom ?? { name: "", address: "" },
    resetCodeLifetimeMs: integer("RESET_CODE_LIFETIME_MS", 1_000, tenYearsMs),
    filesUrl,
    filesDownload,
    awsAccessKeyId: text("AWS_ACCESS_KEY_ID") || undefined,
    awsSecretAccessKey: text("AWS_SECRET_ACCESS_KEY") || undefined,
    rateLimits: rateLimits === "on",
    rateLimitCallerPerSecond: integer("RATE_LIMIT_CALLER_PER_SECOND", 1, callsPerSecondMax),
    rateLimitApplicationPerSecond: integer("RATE_LIMIT_APPLICATION_PER_SECOND", 1, callsPerSecondMax),
    rateLimitRegistrationsPerSecond: integer("RATE_LIMIT_REGISTRATIONS_PER_SECOND", 1, callsPerSecondMax),
    rateLimitSignInsPerSecond: integer("RATE_LIMIT_SIGN_INS_PER_SECOND", 1, callsPerSecondMax),
    rateLimitPasswordResetsPerSecond: integer("RATE_LIMIT_PASSWORD_RESETS_PER_SECOND", 1, callsPerSecondMax),
    rateLimitDownloadsPerSecond: integer("RATE_LIMIT_DOWNLOADS_PER_SECOND", 1, callsPerSecondMax),
    signInFailuresMax: integer("SIGN_IN_FAILURES_MAX", 1, 1_000),
    logLevel,
    metricsToken: metricsToken === "" ? undefined : metricsToken,
    metricsPort: text("METRICS_PORT") === "" ? undefined : integer("METRICS_PORT", 0, 65_535),
    metricsHost: text("METRICS_HOST"),
    metricsApplicationsMax: integer("METRICS_APPLICATIONS_MAX", 0, 100_000),
    slowQueryMs: integer("SLOW_QUERY_MS", 0, 3_600_000),
    logSample: share("LOG_SAMPLE"),
    traces: otlpEndpoint === "" ? undefined : traces,
  };
  check("PAGE_ITEMS_DEFAULT", !(config.pageItemsDefault > config.pageItemsMax), "must not be above PAGE_ITEMS_MAX");
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Whom mails come from: an address, or a name and an address in angle brackets; undefined for anything else. */
export function parseSender(text: string): { name: string; address: string } | undefined {
  const groups = senderPattern.exec(text)?.groups;
  if (groups === undefined) return undefined;
  return {
    name: (groups["name"] ?? "").trim().replaceAll(/^"|"$/g, ""),
    address: groups["bracketed"] ?? groups["bare"] ?? "",
  };
}

/** @returns undefined for what is no list of headers */
function parseHeaders(text: string): Readonly<Record<string, string>> | undefined {
  const headers: [name: string, value: string][] = [];
  for (const pair of text.split(",").filter((each) => each.trim() !== "")) {
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*((?:[!-$&-~]|%[2-7][0-9a-f])*)\s*$/i.exec(pair) ?? [];
    if (name === undefined || value === undefined) return undefined;
    headers.push([name, value.replaceAll(/%(..)/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))]);
  }
  return Object.fromEntries(headers);
}

const samplers = [
  "parentbased_traceidratio",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "always_on",
  "always_off",
];
const secretCharactersMin = 16;
const callsPerSecondMax = 1_000_000;
const tenYearsMs = 315_360_000_000;
const senderPattern =
  /^(?:(?<bare>[^\s<>,;@]+@[^\s<>,;@]+)|(?<name>[^\p{Cc}<>]*)<(?<bracketed>[^\s<>,;@]+@[^\s<>,;@]+)>)$/u;
const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

/** The region that clients begin with, and that knows where each application lives. */
export const mainRegion = "main";

function isRegionName(text: string): boolean {
  return /^[a-z0-9-]{1,32}$/.test(text);
}

/** `eu=https://eu.example.org/` without the slash. */
function readRegion(entry: string): readonly [name: string, root: string] {
  const [name = "", ...root] = entry.split("=");
  return [name.trim(), root.join("=").trim().replace(/\/+$/, "")];
}

function isRegionRoot(text: string): boolean {
  if (!isUrl(text, ["http:", "https:"])) return false;
  const { username, password, search, hash } = new URL(text);
  return [username, password, search, hash].every((part) => part === "") && !/[?#\s"\\]/.test(text);
}

/** One per core, but the thread pool has four threads and files need one of them. */
function defaultHashThreads(workers: number): number {
  return Math.min(Math.ceil(availableParallelism() / workers), 3);
}

/** S3 takes keys of 1,024, and ours are shorter than 800 (`checkKey`). */
const prefixCharactersMax = 200;

/** `file:///path`, or `file:/path`, which is the same. */
const absoluteFilePattern = /^file:(?:\/\/)?\/(?!\/)[^?#]*$/;

const filesUrlRule = `must be file:///path or s3://bucket, with nothing but an http(s) endpoint, a region and a prefix of at most ${prefixCharactersMax} characters behind the ?`;

function isFilesUrl(text: string): boolean {
  if (!isUrl(text, ["s3:", "file:"])) return false;
  const { protocol, username, password, port, hostname, pathname, hash, searchParams } = new URL(text);
  // Without the slashes it would be read as from the root on all the same, which nobody means.
  if (protocol === "file:") return absoluteFilePattern.test(text) && pathname !== "/";
  const endpoint = searchParams.get("endpoint");
  return (
    [username, password, port, hash].every((part) => part === "") &&
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(hostname) &&
    ["", "/"].includes(pathname) &&
    [...searchParams.keys()].every((name) => ["endpoint", "region", "prefix"].includes(name)) &&
    (endpoint === null || isUrl(endpoint, ["http:", "https:"])) &&
    /^[a-z0-9-]{1,64}$/.test(searchParams.get("region") ?? "us-east-1") &&
    (searchParams.get("prefix") ?? "").length <= prefixCharactersMax &&
    /^(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*\/?)?$/.test(searchParams.get("prefix") ?? "")
  );
}

function isLoopback(host: string): boolean {
  return ["localhost", "::1"].includes(host.toLowerCase()) || /^127(\.\d{1,3}){3}$/.test(host);
}

function isUrl(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}

/** An IP address, or a block of them that is not all. */
function isAddressBlock(text: string): boolean {
  const [, address = "", given] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  const bits = family === 4 ? 32 : 128;
  const length = given === undefined ? bits : Number(given);
  if (family === 0 || length < 1 || length > bits) return false;
  const block = new BlockList();
  block.addSubnet(address, length, family === 4 ? "ipv4" : "ipv6");
  return !(block.check("0.0.0.0") && block.check("255.255.255.255")); // all of IPv4 lies in some blocks of IPv6
}
