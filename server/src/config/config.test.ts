// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { ConfigError, loadConfig } from "./config.ts";
import { settings } from "./settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The problems of an environment; empty when it is valid. */
function problemsOf(environment: Environment): readonly string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
}

const integers: [name: string, minimum: number, maximum: number][] = [
  ["PORT", 0, 65_535],
  ["WORKERS", 0, 256],
  ["DEVICE_TOKEN_LIFETIME_MS", 1_000, 315_360_000_000],
  ["USER_TOKEN_LIFETIME_MS", 1_000, 315_360_000_000],
  ["OPERATOR_SESSION_MS", 1_000, 315_360_000_000],
  ["OPERATOR_IDLE_MS", 1_000, 315_360_000_000],
  ["AUDIT_DAYS", 1, 3_650],
  ["REGION_TIMEOUT_MS", 100, 60_000],
  ["TOKEN_CACHE_ITEMS_MAX", 1, 10_000_000],
  ["PASSWORD_HASH_MEMORY_KIB", 8, 4_194_304],
  ["PASSWORD_HASH_PASSES", 1, 100],
  ["PASSWORD_HASH_THREADS", 1, 1_024],
  ["PASSWORD_HASH_QUEUE_MAX", 1, 1_000_000],
  ["BODY_BYTES_MAX", 1_024, 1_073_741_824],
  ["HEADER_BYTES_MAX", 4_096, 1_048_576],
  ["FILE_BYTES_MAX", 1, 1_099_511_627_776],
  ["UPLOAD_LIFETIME_MS", 1_000, 315_360_000_000],
  ["SIGNED_URL_LIFETIME_MS", 1_000, 315_360_000_000],
  ["BATCH_ITEMS_MAX", 1, 10_000],
  ["BATCH_REPLY_BYTES_MAX", 1_024, 1_073_741_824],
  ["REQUEST_TIMEOUT_MS", 100, 3_600_000],
  ["KEEP_ALIVE_TIMEOUT_MS", 100, 3_600_000],
  ["SHUTDOWN_GRACE_MS", 0, 3_600_000],
  ["HSTS_MAX_AGE_SECONDS", 0, 315_360_000],
  ["DATABASE_CONNECTIONS_MAX", 2, 1_000],
  ["DATABASE_TIMEOUT_MS", 100, 600_000],
  ["RESET_CODE_LIFETIME_MS", 1_000, 315_360_000_000],
  ["RATE_LIMIT_CALLER_PER_SECOND", 1, 1_000_000],
  ["RATE_LIMIT_ADDRESS_PER_SECOND", 1, 1_000_000],
  ["RATE_LIMIT_NEW_DEVICES_PER_SECOND", 0, 1_000_000],
  ["RATE_LIMIT_APPLICATION_PER_SECOND", 1, 1_000_000],
  ["RATE_LIMIT_REGISTRATIONS_PER_SECOND", 1, 1_000_000],
  ["RATE_LIMIT_SIGN_INS_PER_SECOND", 1, 1_000_000],
  ["RATE_LIMIT_PASSWORD_RESETS_PER_SECOND", 1, 1_000_000],
  ["RATE_LIMIT_DOWNLOADS_PER_SECOND", 1, 1_000_000],
  ["RATE_LIMIT_UNKNOWN_PER_SECOND", 1, 1_000_000],
  ["CONNECTIONS_MAX", 1, 10_000_000],
  ["CONNECTIONS_PER_ADDRESS_MAX", 1, 10_000_000],
  ["METRIC_BYTES_PER_APPLICATION", 1, Number.MAX_SAFE_INTEGER],
  ["CALLER_UPLOADS_MAX", 1, 1_000_000],
  ["SIGN_IN_FAILURES_MAX", 1, 1_000],
  ["METRICS_PORT", 0, 65_535],
  ["METRICS_APPLICATIONS_MAX", 0, 100_000],
  ["SLOW_QUERY_MS", 0, 3_600_000],
];

const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
const bucket = { FILES_URL: "s3://bucket", AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };

describe("loadConfig", () => {
  it("has a default for every setting", () => {
    assert.deepEqual(loadConfig({}), {
      changedSettings: [],
      host: "127.0.0.1",
      port: 8080,
      workers: 1,
      databasePooled: false,
      dataDir: resolve("data"),
      databaseUrl: pathToFileURL(resolve("data/rollcall.db")).href,
      publicUrl: undefined,
      secrets: undefined,
      region: "main",
      regions: new Map(),
      regionSecrets: [],
      regionTimeoutMs: 5_000,
      authSchemes: ["service", "bearer"],
      deviceTokenLifetimeMs: 90 * 86_400_000,
      userTokenLifetimeMs: 30 * 86_400_000,
      operatorSessionMs: 7 * 86_400_000,
      operatorIdleMs: 43_200_000,
      auditDays: 365,
      tokenCacheItemsMax: 50_000,
      passwordHashMemoryKib: 19_456,
      passwordHashPasses: 2,
      passwordHashThreads: Math.min(availableParallelism(), 3),
      passwordHashQueueMax: 256,
      bodyBytesMax: 1_048_576,
      inFlightBytesMax: 67_108_864,
      headerBytesMax: 16_384,
      fileBytesMax: 1_073_741_824,
      uploadLifetimeMs: 86_400_000,
      signedUrlLifetimeMs: 3_600_000,
      pageItemsDefault: 100,
      pageItemsMax: 1_000,
      eventsRowsMax: 10_000_000,
      eventsPollMs: 250,
      streamHeartbeatMs: 25_000,
      streamLifetimeMs: 3_600_000,
      streamsMax: 10_000,
      eventsBacklogMax: 1_000_000,
      batchItemsMax: 200,
      batchReplyBytesMax: 8_388_608,
      idempotencyBytesPerCaller: 16_777_216,
      idempotencyKeysPerCaller: 20_000,
      idempotencyBytesPerApplication: 1_073_741_824,
      idempotencyKeysPerApplication: 1_000_000,
      requestTimeoutMs: 30_000,
      keepAliveTimeoutMs: 72_000,
      shutdownGraceMs: 10_000,
      tls: undefined,
      trustedProxies: [],
      console: true,
      operatorAddresses: [],
      outgoingNetworks: [],
      webhookNetworks: [],
      breachedPasswordsUrl: undefined,
      requireHttps: false,
      hstsMaxAgeSeconds: 31_536_000,
      databaseConnectionsMax: 10,
      databaseTimeoutMs: 5_000,
      smtpUrl: undefined,
      mailFrom: { name: "Rollcall", address: "no-reply@localhost" },
      resetCodeLifetimeMs: 3_600_000,
      filesUrl: pathToFileURL(resolve("data", "files")).href,
      filesDownload: "stream",
      awsAccessKeyId: undefined,
      awsSecretAccessKey: undefined,
      rateLimits: true,
      rehearsals: true,
      rateLimitCallerPerSecond: 200,
      rateLimitAddressPerSecond: 1_000,
      rateLimitNewDevicesPerSecond: 500,
      rateLimitApplicationPerSecond: 10_000,
      rateLimitEventsPerSecond: 2_000,
      rateLimitRegistrationsPerSecond: 100,
      rateLimitSignInsPerSecond: 50,
      rateLimitPasswordResetsPerSecond: 20,
      rateLimitDownloadsPerSecond: 500,
      rateLimitUnknownPerSecond: 1_000,
      connectionsMax: undefined,
      connectionsPerAddressMax: undefined,
      metricKeysPerApplication: 10_000,
      metricNewKeysPerHour: 1_000,
      metricBytesPerApplication: 21_474_836_480,
      callerUploadsMax: 64,
      signInFailuresMax: 10,
      logLevel: "info",
      metricsToken: undefined,
      metricsPort: undefined,
      metricsHost: "127.0.0.1",
      metricsApplicationsMax: 1_000,
      slowQueryMs: 1_000,
      logSample: 1,
      traces: undefined,
    });
  });

  it("treats an empty or blank setting as unset, and trims values", () => {
    const blank = Object.fromEntries(settings.map(({ name }) => [name, "  "]));
    assert.deepEqual(loadConfig(blank), loadConfig({}));
    assert.equal(loadConfig({ PORT: " 81 ", REGION: "\teu\n" }).port, 81);
  });

  it("lists every setting once, with a valid default", () => {
    const names = settings.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    const withDefaults = Object.fromEntries(settings.map((setting) => [setting.name, setting.default]));
    assert.deepEqual(loadConfig(withDefaults), loadConfig({}));
    for (const { name, about } of settings) {
      const { changedSettings, ...changed } = loadConfig({ [name]: other(name), ...companions[name] });
      const { changedSettings: _, ...before } = loadConfig(unchanged[name] ?? {});
      assert.notDeepEqual(changed, before, `${name} changes nothing`);
      assert.ok(changedSettings.some((each) => each.name === name));
      assert.match(about, /\.$/);
    }
  });

  it("reports all problems together, each with the setting's name and rule", () => {
    const environment = {
      ...Object.fromEntries(integers.map(([name]) => [name, "many"])),
      PAGE_ITEMS_DEFAULT: "0",
      DATABASE_URL: "mysql://host/database",
      PUBLIC_URL: "ftp://host",
      ROLLCALL_SECRET: "short",
      REGION: "Mars!",
      REGIONS: "main",
      REGION_SECRET: "short",
      AUTH_SCHEMES: "two words",
      SMTP_URL: "https://host",
      MAIL_FROM: "nobody",
      FILES_URL: "/var/lib/files",
      FILES_DOWNLOAD: "both",
      TRUST_PROXY: "everybody",
      CONSOLE: "perhaps",
      OPERATOR_ADDRESSES: "everybody",
      OUTGOING_NETWORKS: "everywhere",
      WEBHOOK_NETWORKS: "everywhere",
      REQUIRE_HTTPS: "perhaps",
      RATE_LIMITS: "perhaps",
      LOG_LEVEL: "loud",
      DATABASE_POOLER: "perhaps",
      METRICS_TOKEN: "short",
      LOG_SAMPLE: "1.5",
      OTEL_EXPORTER_OTLP_ENDPOINT: "grpc://host",
      OTEL_EXPORTER_OTLP_HEADERS: "a b=c",
      OTEL_TRACES_SAMPLER: "sometimes",
      OTEL_TRACES_SAMPLER_ARG: "-1",
    };
    const problems = problemsOf(environment);
    for (const name of Object.keys(environment)) {
      assert.equal(problems.filter((problem) => problem.startsWith(`${name} must `)).length, 1, name);
    }
    assert.equal(problems.length, Object.keys(environment).length);
    assert.throws(
      () => loadConfig(environment),
      ({ message }: Error) => problems.every((problem) => message.includes(`\n  ${problem}`)),
    );
  });

  it("reports each problem once", () => {
    assert.equal(problemsOf({ PAGE_ITEMS_MAX: "many" }).length, 1);
    assert.equal(problemsOf({ PAGE_ITEMS_DEFAULT: "many" }).length, 1);
    assert.equal(problemsOf({ DATABASE_URL: "nonsense" }).length, 1);
  });

  it("requires an IN_FLIGHT_BYTES_MAX for several of the largest bodies, and derives the default from their size", () => {
    const rule = "IN_FLIGHT_BYTES_MAX must be at least 8 times BODY_BYTES_MAX";
    assert.deepEqual(problemsOf({ IN_FLIGHT_BYTES_MAX: "8388607" }), [rule]);
    assert.deepEqual(problemsOf({ IN_FLIGHT_BYTES_MAX: "8388608" }), []);
    assert.equal(loadConfig({ BODY_BYTES_MAX: "100000000" }).inFlightBytesMax, 800_000_000);
    const s3 = { FILES_URL: "s3://bucket", AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
    assert.equal(loadConfig(s3).inFlightBytesMax, 268_435_456);
  });

  it("accepts RATE_LIMITS=off only if HOST is a loopback address", () => {
    for (const HOST of [undefined, "127.0.0.1", "127.8.9.10", "::1", "localhost"]) {
      assert.deepEqual(problemsOf({ HOST, RATE_LIMITS: "off" }), []);
    }
    for (const HOST of ["0.0.0.0", "::", "10.0.0.1", "localhost.example", "127.0.0.1.example"]) {
      const rule = "RATE_LIMITS can be off only where HOST is 127.0.0.1, ::1 or localhost";
      assert.deepEqual(problemsOf({ HOST, RATE_LIMITS: "off" }), [rule]);
      assert.deepEqual(problemsOf({ HOST, RATE_LIMITS: "on" }), []);
    }
  });

  it("never reveals a value, because it could be a secret", () => {
    const environment = {
      ROLLCALL_SECRET: "hunter2",
      DATABASE_URL: "mysql://user:hunter2@host/",
      SMTP_URL: "http://user:hunter2@host/",
      FILES_URL: "s3://user:hunter2@bucket",
      PORT: "hunter2",
    };
    assert.doesNotMatch(problemsOf(environment).join("\n"), /hunter2/);
  });

  for (const [name, minimum, maximum] of integers) {
    it(`accepts for ${name} an integer from ${minimum} to ${maximum}`, () => {
      for (const value of [minimum, maximum]) assert.deepEqual(problemsOf({ [name]: `${value}` }), []);
      const rule = `${name} must be an integer from ${minimum} to ${maximum}`;
      for (const value of [minimum - 1, maximum + 1, "1.5", "1e3", "0x10", "+5", "1,000", "5 s", "-0"]) {
        assert.deepEqual(problemsOf({ [name]: `${value}` }), [rule], `${value}`);
      }
    });
  }

  it("limits a page to PAGE_ITEMS_MAX items, even if the client sets no limit", () => {
    assert.deepEqual(problemsOf({ PAGE_ITEMS_DEFAULT: "50", PAGE_ITEMS_MAX: "50" }), []);
    const rule = "PAGE_ITEMS_DEFAULT must not be above PAGE_ITEMS_MAX";
    assert.deepEqual(problemsOf({ PAGE_ITEMS_DEFAULT: "51", PAGE_ITEMS_MAX: "50" }), [rule]);
  });

  it("uses SQLite in DATA_DIR unless DATABASE_URL is set", () => {
    const inFolder = pathToFileURL(join(resolve("a folder"), "rollcall.db")).href;
    assert.equal(loadConfig({ DATA_DIR: "a folder" }).databaseUrl, inFolder);
    for (const url of ["file:///b/c.db", "file:/b/c.db"])
      assert.equal(loadConfig({ DATA_DIR: "/a", DATABASE_URL: url }).databaseUrl, url);
    for (const url of ["postgres://u:p@h:5432/d", "postgresql://h/d"]) {
      assert.equal(loadConfig({ DATABASE_URL: url, ROLLCALL_SECRET: "s".repeat(16) }).databaseUrl, url);
    }
    const names = ["file:a.db", "file:./a.db", "file://h/a.db", "file:///a.db?mode=ro", "FILE:///a.db"];
    const others = ["mysql://h/d", "sqlite.db", "/var/lib/rollcall.db", "http://h", "postgres", "POSTGRES://h/d"];
    for (const url of [...names, ...others]) {
      assert.equal(problemsOf({ DATABASE_URL: url, ROLLCALL_SECRET: "s".repeat(16) }).length, 1, url);
    }
  });

  it("removes trailing slashes from PUBLIC_URL, so that paths can be appended", () => {
    for (const url of ["https://api.example.org", "https://api.example.org/", "https://api.example.org//"]) {
      assert.equal(loadConfig({ PUBLIC_URL: url }).publicUrl, "https://api.example.org");
    }
    assert.equal(loadConfig({ PUBLIC_URL: "http://a:81/base/" }).publicUrl, "http://a:81/base");
    const rule =
      "PUBLIC_URL must be an http:// or https:// URL of a host and perhaps a path, without a query or a fragment";
    const wrong = ["https://a.example/#x", "https://a.example/?x=1", "https://a.example?", "https://u:p@a.example"];
    for (const url of ["api.example.org", "//api.example.org", "ftp://a", "javascript:alert(1)", ...wrong]) {
      assert.deepEqual(problemsOf({ PUBLIC_URL: url }), [rule], url);
    }
  });

  it("accepts one ROLLCALL_SECRET or several, newest first, each of 16 characters or more", () => {
    const [a, b] = ["a".repeat(16), "b".repeat(40)];
    assert.deepEqual(loadConfig({ ROLLCALL_SECRET: a }).secrets, [a]);
    assert.deepEqual(loadConfig({ ROLLCALL_SECRET: ` ${b} , ${a},` }).secrets, [b, a]);
    for (const value of ["a".repeat(15), `${a},short`]) assert.equal(problemsOf({ ROLLCALL_SECRET: value }).length, 1);
  });

  it("requires ROLLCALL_SECRET on PostgreSQL, because each machine would have a different file in DATA_DIR", () => {
    for (const ROLLCALL_SECRET of [undefined, "", " ", ","]) {
      const problems = problemsOf({ DATABASE_URL: "postgres://h/d", ROLLCALL_SECRET });
      assert.deepEqual(problems, ["ROLLCALL_SECRET must be set when DATABASE_URL names PostgreSQL"]);
    }
  });

  it("requires an smtp:// or smtps:// URL as SMTP_URL", () => {
    for (const url of ["smtp://localhost:1025", "smtps://user:p%40ss@mail.example.org"]) {
      assert.equal(loadConfig({ SMTP_URL: url }).smtpUrl, url);
    }
    for (const url of ["mail.example.org", "smtp://", "http://mail.example.org", "direct://"]) {
      assert.deepEqual(problemsOf({ SMTP_URL: url }), ["SMTP_URL must be an smtp:// or smtps:// URL with a host"], url);
    }
  });

  it("requires an address in MAIL_FROM, with or without a name", () => {
    const senders: Record<string, { name: string; address: string }> = {
      "help@example.org": { name: "", address: "help@example.org" },
      "<help@example.org>": { name: "", address: "help@example.org" },
      "Wéb <help@example.org>": { name: "Wéb", address: "help@example.org" },
      'Rollcall "Team" <help@example.org>': { name: 'Rollcall "Team"', address: "help@example.org" },
      '"Rollcall, Inc." <help@example.org>': { name: "Rollcall, Inc.", address: "help@example.org" },
    };
    for (const [text, mailFrom] of Object.entries(senders))
      assert.deepEqual(loadConfig({ MAIL_FROM: text }).mailFrom, mailFrom);
    for (const text of ["help", "a@b, c@d", "a <b>", "a <b@c> d", "a\r\nBcc: x <b@c>", "a@b@c", "a b@c"]) {
      assert.equal(problemsOf({ MAIL_FROM: text }).length, 1, text);
    }
  });

  it("accepts a folder as FILES_URL, by default files in DATA_DIR, or an s3:// bucket", () => {
    const keys = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };
    assert.equal(loadConfig({ DATA_DIR: "/a" }).filesUrl, "file:///a/files");
    const rest = "endpoint=http%3A%2F%2F127.0.0.1%3A9000&region=eu-1&prefix=rollcall/files";
    for (const url of ["file:///b/c", "file:/b/c", "s3://bucket", "s3://a.bucket-1/", `s3://bucket?${rest}`]) {
      assert.equal(loadConfig({ FILES_URL: url, ...keys }).filesUrl, url);
    }
    for (const url of [
      ...[
        "/b/c",
        "b",
        "file:///",
        "file:b",
        "file:./b",
        "file://host/c",
        "file:///b?c",
        "http://bucket",
        "s3://",
        "s3://Bucket/key",
      ],
      ...["s3://bucket:80", "s3://id:secret@bucket", "s3://bucket#a", "s3://bucket?region=", "s3://bucket?a=b"],
      ...[
        "s3://bucket?endpoint=host",
        "s3://bucket?prefix=../a",
        "s3://bucket?prefix=/a",
        "s3://bucket?prefix=a//b",
        `s3://bucket?prefix=${"a".repeat(201)}`,
      ],
    ]) {
      const rule =
        "FILES_URL must be file:///path or s3://bucket, with nothing but an http(s) endpoint, a region and a";
      assert.deepEqual(
        problemsOf({ FILES_URL: url, ...keys }),
        [`${rule} prefix of at most 200 characters behind the ?`],
        url,
      );
    }
  });

  it("requires both keys for an s3:// bucket, and none for a folder", () => {
    const problems = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(
      (name) => `${name} must be set when FILES_URL names an s3:// bucket`,
    );
    assert.deepEqual(problemsOf({ FILES_URL: "s3://bucket" }), problems);
    assert.deepEqual(problemsOf({ FILES_URL: "s3://bucket", AWS_ACCESS_KEY_ID: "id" }), problems.slice(1));
  });

  it("requires a bucket for FILES_DOWNLOAD=redirect", () => {
    assert.equal(loadConfig({ ...bucket, FILES_DOWNLOAD: "Redirect" }).filesDownload, "redirect");
    assert.equal(loadConfig({ ...bucket, FILES_DOWNLOAD: "stream" }).filesDownload, "stream");
    const rule = "FILES_DOWNLOAD must be stream when FILES_URL names no s3:// bucket";
    for (const FILES_URL of ["", "file:///a"]) {
      assert.deepEqual(problemsOf({ FILES_URL, FILES_DOWNLOAD: "redirect" }), [rule]);
    }
  });

  it("requires TLS_CERT_FILE and TLS_KEY_FILE together", () => {
    const files = { TLS_CERT_FILE: "/etc/tls/cert.pem", TLS_KEY_FILE: "/etc/tls/key.pem" };
    assert.deepEqual(loadConfig(files).tls, { certFile: files.TLS_CERT_FILE, keyFile: files.TLS_KEY_FILE });
    assert.deepEqual(problemsOf({ TLS_CERT_FILE: "a" }), ["TLS_KEY_FILE must be set when TLS_CERT_FILE is"]);
    assert.deepEqual(problemsOf({ TLS_KEY_FILE: "a" }), ["TLS_CERT_FILE must be set when TLS_KEY_FILE is"]);
  });

  it("accepts addresses, blocks and loopback in TRUST_PROXY, but never all addresses", () => {
    const words = "loopback, 10.0.0.0/8,192.0.2.1 ,2001:db8::/32,::1,0.0.0.0/1,::ffff:10.0.0.0/104,fe80::/10";
    assert.deepEqual(
      loadConfig({ TRUST_PROXY: words }).trustedProxies,
      words.split(",").map((word) => word.trim()),
    );
    for (const word of [
      ...["true", "1", "*", "proxy.example", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "::1/129"],
      ...["0.0.0.0/0", "::/0", "10.0.0", "010.0.0.1", "fe80::1%eth0", "[::1]", "10.0.0.1:80", "10.0.0.0/255.0.0.0"],
      ...["::ffff:0.0.0.0/96", "::ffff:0:0/90", "::/64", "::1/1"],
    ]) {
      const problems = problemsOf({ TRUST_PROXY: `loopback,${word}` });
      assert.equal(problems.length, 1, word);
      assert.match(problems[0] ?? "", /^TRUST_PROXY must be IP addresses, blocks of them/);
    }
  });

  it("accepts true or false for REQUIRE_HTTPS, which requires an https PUBLIC_URL", () => {
    for (const word of ["true", "TRUE"]) assert.equal(loadConfig({ REQUIRE_HTTPS: word }).requireHttps, true);
    for (const word of ["yes", "1", "on"]) {
      assert.deepEqual(problemsOf({ REQUIRE_HTTPS: word }), ["REQUIRE_HTTPS must be true or false"]);
    }
    const problems = ["PUBLIC_URL must be an https:// URL when REQUIRE_HTTPS is true"];
    assert.deepEqual(problemsOf({ REQUIRE_HTTPS: "true", PUBLIC_URL: "http://a" }), problems);
    assert.deepEqual(problemsOf({ REQUIRE_HTTPS: "true", PUBLIC_URL: "https://a" }), []);
  });

  it("requires in REGIONS a list of names and http(s) roots with main and REGION, and a REGION_SECRET", () => {
    const REGION_SECRET = "s".repeat(16);
    const REGIONS = "main=https://a.example, eu = http://127.0.0.1:81/eu/ ,constructor=http://[::1]";
    const config = loadConfig({ REGIONS, REGION: "eu", REGION_SECRET: `${REGION_SECRET},${REGION_SECRET}2` });
    assert.deepEqual(
      [...config.regions],
      [
        ["main", "https://a.example"],
        ["eu", "http://127.0.0.1:81/eu"],
        ["constructor", "http://[::1]"],
      ],
    );
    assert.deepEqual(config.regionSecrets, [REGION_SECRET, `${REGION_SECRET}2`]);
    const keys = `key:main:${"k".repeat(43)},key:constructor:${"k".repeat(43)}`;
    assert.deepEqual(loadConfig({ REGIONS, REGION: "eu", REGION_SECRET: keys }).regionSecrets, keys.split(","));
    for (const wrong of [
      "key:main:short",
      keys.replace("main", "eu"),
      keys.replace("constructor", "mars"),
      keys.slice(0, 52),
    ]) {
      assert.match(`${problemsOf({ REGIONS, REGION: "eu", REGION_SECRET: wrong })}`, /^REGION_SECRET must have/, wrong);
    }
    const main = "main=https://a";
    const wrong = [
      "eu",
      "eu=",
      "=https://b",
      "eu=b",
      "eu=ftp://b",
      "EU=https://b",
      "eu=https://u:p@b",
      "eu=https://b?c",
    ];
    for (const entry of [...wrong, "eu=https://b#c", 'eu=https://b/"', main]) {
      assert.equal(problemsOf({ REGIONS: `${main},${entry}`, REGION_SECRET }).length, 1, entry);
    }
    assert.match(`${problemsOf({ REGIONS: "eu=https://b", REGION: "eu", REGION_SECRET })}`, /^REGIONS must name main/);
    assert.match(`${problemsOf({ REGIONS: main, REGION: "eu", REGION_SECRET })}`, /^REGIONS must name main and what/);
    assert.match(`${problemsOf({ REGIONS: main })}`, /^REGION_SECRET must be set/);
  });

  it("accepts only certain words for REGION, AUTH_SCHEMES and LOG_LEVEL", () => {
    assert.equal(loadConfig({ REGION: "eu-west-1" }).region, "eu-west-1");
    for (const region of ["EU", "a.b", "a b", "é", "a".repeat(33)])
      assert.equal(problemsOf({ REGION: region }).length, 1);
    assert.deepEqual(loadConfig({ AUTH_SCHEMES: "Service, X-Vendor ,,bearer" }).authSchemes, [
      "service",
      "x-vendor",
      "bearer",
    ]);
    for (const schemes of [",", "a b", "a/b", "é"]) assert.equal(problemsOf({ AUTH_SCHEMES: schemes }).length, 1);
    assert.equal(loadConfig({ LOG_LEVEL: "WARN" }).logLevel, "warn");
  });

  it("throws only ConfigError, whatever the environment contains", () => {
    const environment = fc.dictionary(fc.constantFrom(...settings.map(({ name }) => name)), fc.string());
    fc.assert(fc.property(environment, (settings) => void problemsOf(settings)));
  });
});

/** The other settings that a setting requires. */
const companions: Readonly<Record<string, Environment>> = {
  FILES_DOWNLOAD: bucket,
  REGIONS: { REGION_SECRET: "s".repeat(20) },
  TLS_CERT_FILE: { TLS_KEY_FILE: "key.pem" },
  TLS_KEY_FILE: { TLS_CERT_FILE: "cert.pem" },
  OTEL_EXPORTER_OTLP_HEADERS: collector,
  OTEL_SERVICE_NAME: collector,
  OTEL_TRACES_SAMPLER: collector,
  OTEL_TRACES_SAMPLER_ARG: collector,
};

/** The baseline for settings that have an effect only together with others. */
const unchanged: Readonly<Record<string, Environment>> = {
  ...Object.fromEntries(Object.entries(companions).filter(([, beside]) => beside === bucket || beside === collector)),
};

/** A valid value other than the default. */
function other(name: string): string {
  const words: Record<string, string> = {
    HOST: "0.0.0.0",
    DATA_DIR: "/elsewhere",
    DATABASE_URL: "file:///elsewhere.db",
    PUBLIC_URL: "https://a",
    ROLLCALL_SECRET: "s".repeat(20),
    REGION: "eu",
    REGIONS: "main=https://a",
    REGION_SECRET: "s".repeat(20),
    AUTH_SCHEMES: "x",
    SMTP_URL: "smtp://host",
    MAIL_FROM: "a@b",
    FILES_URL: "file:///elsewhere",
    IN_FLIGHT_BYTES_MAX: "100000000",
    FILES_DOWNLOAD: "redirect",
    TLS_CERT_FILE: "cert.pem",
    TLS_KEY_FILE: "key.pem",
    TRUST_PROXY: "loopback",
    CONSOLE: "off",
    OPERATOR_ADDRESSES: "loopback,10.0.0.0/8",
    OUTGOING_NETWORKS: "10.0.0.0/8,192.168.7.7",
    WEBHOOK_NETWORKS: "10.0.0.0/8",
    REQUIRE_HTTPS: "true",
    RATE_LIMITS: "off",
    REHEARSALS: "off",
    LOG_LEVEL: "warn",
    DATABASE_POOLER: "transaction",
    METRICS_TOKEN: "t".repeat(16),
    METRICS_HOST: "0.0.0.0",
    LOG_SAMPLE: "0.1",
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/",
    BREACHED_PASSWORDS_URL: "https://ranges.example/range",
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b",
    OTEL_SERVICE_NAME: "other",
    OTEL_TRACES_SAMPLER: "always_on",
    OTEL_TRACES_SAMPLER_ARG: "0.5",
  };
  return words[name] ?? `${integers.find(([integer]) => integer === name)?.[2] ?? 101}`;
}
