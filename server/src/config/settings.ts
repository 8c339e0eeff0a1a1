import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { databaseUrl } from "./database-url.ts";
import { networks, trustedProxies } from "./networks.ts";
import {
  authSchemes,
  headers,
  integer,
  lifetime,
  metricsToken,
  oneOf,
  optional,
  type Setting,
  secrets,
  sender,
  share,
  text,
  truth,
} from "./reader.ts";
import { regionName, regionSecrets, regions } from "./regions.ts";
import { requestRows } from "./request-settings.ts";
import { filesUrl, httpUrl, rootUrl, smtpUrl } from "./urls.ts";

const perSecond = integer(1, 1_000_000);

/** Every setting, by its name in {@link Settings}, which contains the unit. */
export const rows = {
  host: { name: "HOST", default: "127.0.0.1", about: "Address to listen on.", read: text },
  port: { name: "PORT", default: "8080", about: "Port to listen on; 0 for a free one.", read: integer(0, 65_535) },
  workers: {
    name: "WORKERS",
    default: "1",
    about: "Processes that serve on this machine; 0 for one per core.",
    read: (given) => integer(0, 256)(given) || availableParallelism(),
  },
  dataDir: {
    name: "DATA_DIR",
    default: "./data",
    about: "Folder of the embedded database and of the generated secret.",
    read: (given) => resolve(given),
  },
  databaseUrl: {
    name: "DATABASE_URL",
    default: "",
    about: "postgres://user:password@host:port/database, or empty for SQLite in DATA_DIR.",
    read: optional(databaseUrl),
    isSecret: true,
  },
  publicUrl: {
    name: "PUBLIC_URL",
    default: "",
    about: "URL of the server for clients; empty for the address that each client used.",
    read: optional(rootUrl),
  },
  tlsCertFile: {
    name: "TLS_CERT_FILE",
    default: "",
    about: "PEM file of the certificate and its chain, to serve https; read again when it changes.",
    read: optional(text),
  },
  tlsKeyFile: {
    name: "TLS_KEY_FILE",
    default: "",
    about: "PEM file of the key of TLS_CERT_FILE.",
    read: optional(text),
  },
  trustedProxies: {
    name: "TRUST_PROXY",
    default: "",
    about:
      "Proxies whose X-Forwarded-For, -Proto and -Host are trusted: addresses, blocks (10.0.0.0/8) and loopback, separated by commas.",
    read: trustedProxies,
  },
  console: {
    name: "CONSOLE",
    default: "on",
    about:
      "off disables the pages of the operators' console and the recent requests that they show; the operations stay enabled.",
    read: (given) => oneOf("on", "off")(given) === "on",
  },
  operatorAddresses: {
    name: "OPERATOR_ADDRESSES",
    default: "",
    about:
      "Addresses, blocks (10.0.0.0/8) and loopback that reach the console and the operations of operators, separated by commas; empty for all.",
    read: trustedProxies,
  },
  requireHttps: {
    name: "REQUIRE_HTTPS",
    default: "false",
    about:
      "true refuses plain http requests from other machines, to the server or to a trusted proxy, except health checks.",
    read: truth,
  },
  hstsMaxAgeSeconds: {
    name: "HSTS_MAX_AGE_SECONDS",
    default: "31536000",
    about: "How long browsers must use https (1 year), sent with TLS_CERT_FILE or REQUIRE_HTTPS; 0 revokes it.",
    read: integer(0, 315_360_000),
  },
  outgoingNetworks: {
    name: "OUTGOING_NETWORKS",
    default: "",
    about:
      "Private blocks (10.0.0.0/8) that URLs in an editor's settings may lead to, besides public addresses, separated by commas; owners' URLs may lead anywhere.",
    read: networks,
  },
  breachedPasswordsUrl: {
    name: "BREACHED_PASSWORDS_URL",
    default: "",
    about:
      "Service of breached passwords by ranges of their SHA-1, such as https://api.pwnedpasswords.com/range; empty for none.",
    read: optional(httpUrl),
  },
  webhookNetworks: {
    name: "WEBHOOK_NETWORKS",
    default: "",
    about:
      "Private blocks (10.0.0.0/8) that webhooks may reach, by http and at any port too, besides public addresses, separated by commas.",
    read: networks,
  },
  secrets: {
    name: "ROLLCALL_SECRET",
    default: "",
    about:
      "Seals tokens, at least 16 characters. To rotate: new,old. Empty: generated and stored in DATA_DIR (SQLite only; required with PostgreSQL).",
    read: optional(secrets),
    isSecret: true,
  },
  region: {
    name: "REGION",
    default: "main",
    about: "Name of this deployment's region; tokens are bound to it.",
    read: regionName,
  },
  regions: {
    name: "REGIONS",
    default: "",
    about:
      "All regions and their URLs for clients, the same in each: main=https://api.example.org,eu=https://eu.example.org; empty for a single region.",
    read: regions,
  },
  regionSecrets: {
    name: "REGION_SECRET",
    default: "",
    about:
      "Signs calls between regions, at least 16 characters, the same in each; or the output of `rollcall regions key` for this region. Required with REGIONS. To rotate: new,old.",
    read: regionSecrets,
    isSecret: true,
  },
  regionTimeoutMs: {
    name: "REGION_TIMEOUT_MS",
    default: "5000",
    about: "Time-out of calls to another region.",
    read: integer(100, 60_000),
  },
  authSchemes: {
    name: "AUTH_SCHEMES",
    default: "Service,Bearer",
    about: "Schemes accepted in the Authorization header.",
    read: authSchemes,
  },
  deviceTokenLifetimeMs: {
    name: "DEVICE_TOKEN_LIFETIME_MS",
    default: "7776000000",
    about: "Lifetime of a device token (90 days).",
    read: lifetime,
  },
  userTokenLifetimeMs: {
    name: "USER_TOKEN_LIFETIME_MS",
    default: "2592000000",
    about: "Lifetime of a user token (30 days).",
    read: lifetime,
  },
  operatorSessionMs: {
    name: "OPERATOR_SESSION_MS",
    default: "604800000",
    about: "Lifetime of an operator's session (7 days).",
    read: lifetime,
  },
  operatorIdleMs: {
    name: "OPERATOR_IDLE_MS",
    default: "43200000",
    about: "Time without use after which an operator's session ends (12 hours).",
    read: lifetime,
  },
  auditDays: { name: "AUDIT_DAYS", default: "365", about: "How long the audit log is kept.", read: integer(1, 3_650) },
  tokenCacheItemsMax: {
    name: "TOKEN_CACHE_ITEMS_MAX",
    default: "50000",
    about: "Decrypted tokens cached in memory.",
    read: integer(1, 10_000_000),
  },
  passwordHashMemoryKib: {
    name: "PASSWORD_HASH_MEMORY_KIB",
    default: "19456",
    about: "argon2id memory per hash.",
    read: integer(8, 4_194_304),
  },
  passwordHashPasses: {
    name: "PASSWORD_HASH_PASSES",
    default: "2",
    about: "argon2id passes per hash.",
    read: integer(1, 100),
  },
  passwordHashThreads: {
    name: "PASSWORD_HASH_THREADS",
    default: "",
    about: "Concurrent hashes of each process; empty for one per core, at most 3.",
    read: optional(integer(1, 1_024)),
  },
  passwordHashQueueMax: {
    name: "PASSWORD_HASH_QUEUE_MAX",
    default: "256",
    about: "Hashes that may wait; beyond it logins are refused with 503.",
    read: integer(1, 1_000_000),
  },
  ...requestRows,
  databaseConnectionsMax: {
    name: "DATABASE_CONNECTIONS_MAX",
    default: "10",
    about: "PostgreSQL connections of each process.",
    read: integer(2, 1_000),
  },
  databaseTimeoutMs: {
    name: "DATABASE_TIMEOUT_MS",
    default: "5000",
    about: "Longest wait for PostgreSQL, or for the write lock of SQLite.",
    read: integer(100, 600_000),
  },
  databasePooled: {
    name: "DATABASE_POOLER",
    default: "none",
    about: "transaction if DATABASE_URL leads to pgbouncer or another pooler in transaction mode; else none.",
    read: (given) => oneOf("none", "transaction")(given) === "transaction",
  },
  smtpUrl: {
    name: "SMTP_URL",
    default: "",
    about:
      "smtps://user:password@host or smtp://host:port to send mails through, or empty to write them to DATA_DIR/mail.",
    read: optional(smtpUrl),
    isSecret: true,
  },
  mailFrom: {
    name: "MAIL_FROM",
    default: "Rollcall <no-reply@localhost>",
    about: "Sender of mails: an address, or Name <address>.",
    read: sender,
  },
  resetCodeLifetimeMs: {
    name: "RESET_CODE_LIFETIME_MS",
    default: "3600000",
    about: "Lifetime of a mailed password reset code (1 hour).",
    read: lifetime,
  },
  filesUrl: {
    name: "FILES_URL",
    default: "",
    about:
      "Folder of uploaded files (file:///path), or s3://bucket?endpoint=https://host&region=name&prefix=folder, or empty for DATA_DIR/files.",
    read: optional(filesUrl),
  },
  filesDownload: {
    name: "FILES_DOWNLOAD",
    default: "stream",
    about: "stream: the server sends files itself; redirect: it sends clients to the bucket of an s3:// FILES_URL.",
    read: oneOf("stream", "redirect"),
  },
  awsAccessKeyId: {
    name: "AWS_ACCESS_KEY_ID",
    default: "",
    about: "Key id for an s3:// FILES_URL.",
    read: optional(text),
    isSecret: true,
  },
  awsSecretAccessKey: {
    name: "AWS_SECRET_ACCESS_KEY",
    default: "",
    about: "Secret key for an s3:// FILES_URL.",
    read: optional(text),
    isSecret: true,
  },
  rehearsals: {
    name: "REHEARSALS",
    default: "on",
    about: "off refuses rehearsed failures for all applications, regardless of their settings.",
    read: (given) => oneOf("on", "off")(given) === "on",
  },
  rateLimits: {
    name: "RATE_LIMITS",
    default: "on",
    about: "on or off; off is for load tests, also turns lock-outs off, and requires a loopback HOST.",
    read: (given) => oneOf("on", "off")(given) === "on",
  },
  rateLimitCallerPerSecond: {
    name: "RATE_LIMIT_CALLER_PER_SECOND",
    default: "200",
    about: "Calls of one device or operator, sustained; ten seconds' worth at once.",
    read: perSecond,
  },
  rateLimitAddressPerSecond: {
    name: "RATE_LIMIT_ADDRESS_PER_SECOND",
    default: "1000",
    about: "Calls of all devices of one application from one address (IPv6: /64); twenty seconds' worth at once.",
    read: perSecond,
  },
  rateLimitNewDevicesPerSecond: {
    name: "RATE_LIMIT_NEW_DEVICES_PER_SECOND",
    default: "500",
    about:
      "Calls of all devices in their first minute of one application from one address; twenty seconds' worth at once. Each has three quarters of the burst of an older device. 0 treats them like older ones.",
    read: integer(0, 1_000_000),
  },
  rateLimitApplicationPerSecond: {
    name: "RATE_LIMIT_APPLICATION_PER_SECOND",
    default: "10000",
    about: "Calls of all devices of one application; ten seconds' worth at once.",
    read: perSecond,
  },
  rateLimitEventsPerSecond: {
    name: "RATE_LIMIT_EVENTS_PER_SECOND",
    default: "2000",
    about:
      "Metric events of one device; five times as many per address, ten times per application. Thirty seconds' worth at once.",
    read: perSecond,
  },
  metricKeysPerApplication: {
    name: "METRIC_KEYS_PER_APPLICATION",
    default: "10000",
    about: "Distinct keys of metric events that an application can have.",
    read: integer(1, 100_000),
  },
  metricBytesPerApplication: {
    name: "METRIC_BYTES_PER_APPLICATION",
    default: "21474836480",
    about: "Database bytes for the metrics of an application (20 GiB); beyond it events are refused.",
    read: integer(1, Number.MAX_SAFE_INTEGER),
  },
  metricNewKeysPerHour: {
    name: "METRIC_NEW_KEYS_PER_HOUR",
    default: "1000",
    about: "Keys that one device can add to its application, at once and then per hour.",
    read: integer(1, 100_000),
  },
  rateLimitRegistrationsPerSecond: {
    name: "RATE_LIMIT_REGISTRATIONS_PER_SECOND",
    default: "100",
    about: "Registrations from one address; twenty seconds' worth at once.",
    read: perSecond,
  },
  rateLimitSignInsPerSecond: {
    name: "RATE_LIMIT_SIGN_INS_PER_SECOND",
    default: "50",
    about: "Sign-ups and logins, each, from one address in one application; twenty seconds' worth at once.",
    read: perSecond,
  },
  rateLimitPasswordResetsPerSecond: {
    name: "RATE_LIMIT_PASSWORD_RESETS_PER_SECOND",
    default: "20",
    about: "Password resets from one address in one application; twenty seconds' worth at once.",
    read: perSecond,
  },
  rateLimitDownloadsPerSecond: {
    name: "RATE_LIMIT_DOWNLOADS_PER_SECOND",
    default: "500",
    about: "Downloads by signedUrl to one address; twenty seconds' worth at once.",
    read: perSecond,
  },
  rateLimitUnknownPerSecond: {
    name: "RATE_LIMIT_UNKNOWN_PER_SECOND",
    default: "1000",
    about:
      "Requests without a valid token (pages, ping, unknown paths, refused tokens) from one address (IPv6: /64), in each process; twenty seconds' worth at once. Health checks and this machine are exempt.",
    read: perSecond,
  },
  callerUploadsMax: {
    name: "CALLER_UPLOADS_MAX",
    default: "64",
    about: "Concurrent uploads of one device, per process.",
    read: integer(1, 1_000_000),
  },
  signInFailuresMax: {
    name: "SIGN_IN_FAILURES_MAX",
    default: "10",
    about: "Consecutive wrong passwords for one user name from one address before waiting times begin.",
    read: integer(1, 1_000),
  },
  logLevel: {
    name: "LOG_LEVEL",
    default: "info",
    about: "fatal, error, warn, info, debug, trace or silent.",
    read: oneOf("fatal", "error", "warn", "info", "debug", "trace", "silent"),
  },
  metricsToken: {
    name: "METRICS_TOKEN",
    default: "",
    about: "Bearer token for scrapes of /_/prometheus, at least 16 characters; empty for no scrapes.",
    read: optional(metricsToken),
    isSecret: true,
  },
  metricsPort: {
    name: "METRICS_PORT",
    default: "",
    about: "Port that serves only /_/prometheus, without a token if METRICS_TOKEN is empty; 0 for a free one.",
    read: optional(integer(0, 65_535)),
  },
  metricsHost: { name: "METRICS_HOST", default: "127.0.0.1", about: "Address of METRICS_PORT.", read: text },
  metricsApplicationsMax: {
    name: "METRICS_APPLICATIONS_MAX",
    default: "1000",
    about: "The number of busiest applications with metrics of their own; the others are counted together.",
    read: integer(0, 100_000),
  },
  slowQueryMs: {
    name: "SLOW_QUERY_MS",
    default: "1000",
    about: "Statements that take this long are logged (1 second); 0 for none.",
    read: integer(0, 3_600_000),
  },
  logSample: {
    name: "LOG_SAMPLE",
    default: "1",
    about: "Share of requests that are logged, 0 to 1; refused, failed and slow ones are always logged.",
    read: share,
  },
  tracesEndpoint: {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    default: "",
    about: "Collector of OpenTelemetry traces, OTLP over HTTP (http://host:4318); empty for no traces.",
    read: optional(httpUrl),
    isSecret: true,
  },
  tracesHeaders: {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    default: "",
    about: "Headers for the collector: name=value, separated by commas, values percent-encoded.",
    read: headers,
    isSecret: true,
  },
  tracesServiceName: {
    name: "OTEL_SERVICE_NAME",
    default: "rollcall",
    about: "Name of this service in traces.",
    read: text,
  },
  tracesSampler: {
    name: "OTEL_TRACES_SAMPLER",
    default: "parentbased_traceidratio",
    about:
      "Traces to record: parentbased_traceidratio follows the caller's decision, traceidratio does not; also always_on, always_off, parentbased_always_on, parentbased_always_off.",
    read: oneOf(
      "parentbased_traceidratio",
      "traceidratio",
      "parentbased_always_on",
      "parentbased_always_off",
      "always_on",
      "always_off",
    ),
  },
  tracesRatio: {
    name: "OTEL_TRACES_SAMPLER_ARG",
    default: "1",
    about: "Share of traces that are recorded, 0 to 1.",
    read: share,
  },
} satisfies Record<string, Setting<unknown>>;

/** The value of each setting, from its reader. */
export type Settings = { readonly [Key in keyof typeof rows]: ReturnType<(typeof rows)[Key]["read"]> };

export const settings: readonly Setting<unknown>[] = Object.values(rows);
