// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ConfigError, loadConfig } from "./config.ts";
import { findMisspeltSettings } from "./misspelt.ts";
import { settings } from "./settings.ts";

const known = settings.map(({ name }) => name);

function meantBy(name: string, { value = "1", isOfFile = false } = {}): string | undefined {
  const [found] = findMisspeltSettings({ [name]: value }, known, new Set(isOfFile ? [name] : []));
  return found?.meant;
}

describe("a misspelt setting", () => {
  const mistakes: [given: string, meant: string][] = [
    ["DATABASE_UR", "DATABASE_URL"],
    ["DATABSE_URL", "DATABASE_URL"],
    ["DATABASE_URI", "DATABASE_URL"],
    ["database_url", "DATABASE_URL"],
    ["DATABASEURL", "DATABASE_URL"],
    ["DATABASE-URL", "DATABASE_URL"],
    ["DATADIR", "DATA_DIR"],
    ["DATA_DIRR", "DATA_DIR"],
    ["PRT", "PORT"],
    ["POTR", "PORT"],
    ["PPORT", "PORT"],
    ["port", "PORT"],
    ["HSOT", "HOST"],
    ["WORKER", "WORKERS"],
    ["SMTP_URI", "SMTP_URL"],
    ["FILE_URL", "FILES_URL"],
    ["LOGLEVEL", "LOG_LEVEL"],
    ["RATE_LIMIT", "RATE_LIMITS"],
    ["TLS_KEY", "TLS_KEY_FILE"],
    ["TLS_CERT", "TLS_CERT_FILE"],
    ["TLS_CERT_PATH", "TLS_CERT_FILE"],
    ["REQUEST_TIMEOUT", "REQUEST_TIMEOUT_MS"],
    ["REQUEST_TIMEOUT_SECONDS", "REQUEST_TIMEOUT_MS"],
    ["RATE_LIMIT_DOWNLOADS", "RATE_LIMIT_DOWNLOADS_PER_SECOND"],
    ["RATE_LIMIT_DOWNLOADS_PER_MINUTE", "RATE_LIMIT_DOWNLOADS_PER_SECOND"],
    ["PASSWORD_HASH_MEMORY_MIB", "PASSWORD_HASH_MEMORY_KIB"],
    ["ROLLCALL_SECRT", "ROLLCALL_SECRET"],
    ["ROLLCALL_SECRETS", "ROLLCALL_SECRET"],
    ["ROLLCALL_PORT", "PORT"],
    ["ROLLCALL_DATABASE_URL", "DATABASE_URL"],
    ["ROLLCALL_DATABASE_UR", "DATABASE_URL"],
    ["ROLLCALL_WORKERS", "WORKERS"],
    ["AWS_SECRET_ACESS_KEY", "AWS_SECRET_ACCESS_KEY"],
    ["OTEL_EXPORTER_OTLP_ENDPIONT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
  ];
  for (const [given, meant] of mistakes) {
    it(`${given} stops the start and names ${meant}`, () => assert.equal(meantBy(given), meant));
  }

  it("is found by a missing, doubled or transposed letter, for every setting", () => {
    for (const name of known) {
      for (let at = 0; at < name.length - 1; at += 1) {
        const [before, letter, next, rest] = [
          name.slice(0, at),
          name[at] ?? "",
          name[at + 1] ?? "",
          name.slice(at + 2),
        ];
        for (const given of [
          before + next + rest,
          before + letter + letter + next + rest,
          before + next + letter + rest,
        ]) {
          if (known.some((each) => each === given)) continue;
          assert.notEqual(meantBy(given), undefined, `${given} for ${name}`);
        }
      }
    }
  });

  it("is reported together with other problems of settings", () => {
    assert.throws(
      () => loadConfig({ DATABASE_UR: "postgres://x", PORT: "http", LOGLEVEL: "debug" }, new Set(["LOGLEVEL"])),
      (error) => {
        assert.ok(error instanceof ConfigError);
        assert.deepEqual(error.problems, [
          "DATABASE_UR is not a setting. Did you mean DATABASE_URL?",
          "LOGLEVEL (in .env) is not a setting. Did you mean LOG_LEVEL?",
          "PORT must be an integer from 0 to 65535",
        ]);
        return true;
      },
    );
  });

  it("is recognized by a weaker resemblance in the server's own .env file", () => {
    for (const [given, meant] of [
      ["PORTS", "PORT"],
      ["DATABASES_URIS", "DATABASE_URL"],
      ["ROLLCALL_URL", "SMTP_URL"],
    ] as const) {
      assert.equal(meantBy(given), undefined, given);
      assert.notEqual(meantBy(given, { isOfFile: true }), undefined, `${given}, such as ${meant}`);
    }
    for (const foreign of ["POSTGRES_PASSWORD", "COMPOSE_PROJECT_NAME", "NODE_ENV", "TZ", "REDIS_URL"])
      assert.equal(meantBy(foreign, { isOfFile: true }), undefined, foreign);
  });
});

/** Environments of real machines. The names matter, and the values where they tell the origin of a variable. */
const surroundings: Readonly<Record<string, Readonly<Record<string, string>> | readonly string[]>> = {
  "a desktop":
    `COLORTERM DBUS_SESSION_BUS_ADDRESS DESKTOP_SESSION DISPLAY EDITOR GDMSESSION GNOME_TERMINAL_SERVICE HISTSIZE HOME
    HOSTNAME HOSTTYPE INPUTRC LANG LANGUAGE LC_ALL LC_TIME LESS LESSOPEN LOGNAME LS_COLORS MACHTYPE MAIL MANPATH OLDPWD OSTYPE
    PAGER PATH PROMPT PS1 PWD QT_IM_MODULE SESSION_MANAGER SHELL SHLVL SSH_AGENT_PID SSH_AUTH_SOCK SSH_CLIENT SSH_CONNECTION
    SSH_TTY SUDO_COMMAND SUDO_GID SUDO_UID SUDO_USER TERM TERM_PROGRAM TERM_SESSION_ID TMPDIR TZ USER USERNAME VISUAL
    WAYLAND_DISPLAY XAUTHORITY XDG_CONFIG_DIRS XDG_CURRENT_DESKTOP XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR XDG_SEAT
    XDG_SESSION_CLASS XDG_SESSION_ID XDG_SESSION_TYPE XDG_VTNR XPC_FLAGS XPC_SERVICE_NAME _ __CF_USER_TEXT_ENCODING`.split(
      /\s+/,
    ),
  Windows: `ALLUSERSPROFILE APPDATA CommonProgramFiles COMPUTERNAME ComSpec HOMEDRIVE HOMEPATH LOCALAPPDATA LOGONSERVER
    NUMBER_OF_PROCESSORS OS Path PATHEXT PROCESSOR_ARCHITECTURE ProgramData ProgramFiles PSModulePath PUBLIC SystemDrive
    SystemRoot TEMP TMP USERDOMAIN USERPROFILE windir`.split(/\s+/),
  "tools and libraries":
    `CC CXX CURL_CA_BUNDLE DEBUG DEBIAN_FRONTEND DOCKER_HOST EMAIL FORCE_COLOR GIT_DIR GOPATH HTTPS_PROXY
    HTTP_PROXY JAVA_HOME LD_LIBRARY_PATH LD_PRELOAD LOG_FORMAT MALLOC_ARENA_MAX NODE NODE_ENV NODE_EXTRA_CA_CERTS NODE_OPTIONS
    NODE_PATH NODE_TLS_REJECT_UNAUTHORIZED NODE_VERSION NO_COLOR NO_PROXY NVM_BIN NVM_DIR PGDATABASE PGHOST PGPASSFILE
    PGPASSWORD PGPORT PGSSLMODE PGUSER PYTHONPATH REDIS_HOST REDIS_PORT REDIS_URL SSL_CERT_DIR SSL_CERT_FILE UV_THREADPOOL_SIZE
    VIRTUAL_ENV VIRTUAL_HOST VIRTUAL_PORT YARN_VERSION all_proxy http_proxy https_proxy no_proxy npm_command
    npm_config_cache npm_config_loglevel npm_config_registry npm_config_user_agent npm_execpath npm_lifecycle_event
    npm_lifecycle_script npm_node_execpath npm_package_json npm_package_name npm_package_version POSTGRES_DB POSTGRES_HOST
    POSTGRES_PASSWORD POSTGRES_PORT POSTGRES_URL POSTGRES_USER MYSQL_HOST MONGODB_URI SECRET SECRET_KEY SERVICE_NAME
    API_URL APP_URL BASE_URL SITE_URL SERVER_URL DB_HOST DB_NAME DB_PORT DB_USER SMTP_FROM SMTP_HOST SMTP_PASSWORD SMTP_PORT
    SMTP_USER MAIL_HOST MAIL_PORT PORTS HOSTS POST SORT USER_TOKEN TOKEN CACHE_DIR CONFIG_DIR LOG_DIR STATE_DIR TEMP_DIR
    TRUST STAGE ENVIRONMENT REGION_NAME AUTH_TOKEN JWT_SECRET SESSION_SECRET`.split(/\s+/),
  systemd:
    `CACHE_DIRECTORY CONFIGURATION_DIRECTORY CREDENTIALS_DIRECTORY INVOCATION_ID JOURNAL_STREAM LISTEN_FDNAMES LISTEN_FDS
    LISTEN_PID LOGS_DIRECTORY MAINPID MEMORY_PRESSURE_WATCH MEMORY_PRESSURE_WRITE NOTIFY_SOCKET RUNTIME_DIRECTORY
    STATE_DIRECTORY SYSTEMD_EXEC_PID WATCHDOG_PID WATCHDOG_USEC`.split(/\s+/),
  "Heroku and its like":
    `CLICOLOR DATABASE_CONNECTION_POOL_URL DATABASE_HOST DATABASE_NAME DATABASE_PASSWORD DATABASE_PORT
    DATABASE_PRIVATE_URL DATABASE_PUBLIC_URL DATABASE_URL_UNPOOLED DATABASE_USER DYNO FLY_ALLOC_ID FLY_APP_NAME FLY_MACHINE_ID
    FLY_PUBLIC_IP FLY_REGION HEROKU_APP_NAME HEROKU_POSTGRESQL_ONYX_URL HEROKU_RELEASE_VERSION K_CONFIGURATION K_REVISION
    K_SERVICE MEMORY_AVAILABLE PAPERTRAIL_API_TOKEN PRIMARY_REGION RAILWAY_ENVIRONMENT RAILWAY_PUBLIC_DOMAIN RENDER
    RENDER_EXTERNAL_URL RENDER_SERVICE_ID SENTRY_DSN VERCEL VERCEL_REGION VERCEL_URL WEBSITE_HOSTNAME WEB_CONCURRENCY
    WEB_MEMORY`.split(/\s+/),
  "AWS, and OpenTelemetry":
    `AWS_ACCESS_KEY AWS_CA_BUNDLE AWS_CONFIG_FILE AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_DEFAULT_REGION
    AWS_ENDPOINT_URL AWS_EXECUTION_ENV AWS_LAMBDA_FUNCTION_NAME AWS_PROFILE AWS_REGION AWS_ROLE_ARN AWS_SECRET_KEY
    AWS_SESSION_TOKEN AWS_WEB_IDENTITY_TOKEN_FILE ECS_CONTAINER_METADATA_URI_V4 GOOGLE_APPLICATION_CREDENTIALS
    OTEL_EXPORTER_OTLP_CERTIFICATE OTEL_EXPORTER_OTLP_METRICS_ENDPOINT OTEL_EXPORTER_OTLP_PROTOCOL
    OTEL_EXPORTER_OTLP_TIMEOUT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_HEADERS OTEL_LOGS_EXPORTER
    OTEL_LOG_LEVEL OTEL_METRICS_EXPORTER OTEL_METRIC_EXPORT_INTERVAL OTEL_PROPAGATORS OTEL_RESOURCE_ATTRIBUTES
    OTEL_SDK_DISABLED OTEL_TRACES_EXPORTER`.split(/\s+/),
  CI: `BUILDKITE BUILD_NUMBER CI CIRCLECI CIRCLE_SHA1 CI_COMMIT_SHA CI_JOB_ID CI_JOB_TOKEN CI_PIPELINE_ID CI_PROJECT_DIR
    CI_REGISTRY CI_REGISTRY_IMAGE CI_RUNNER_ID CI_SERVER_HOST CI_SERVER_PORT CI_SERVER_URL CONTINUOUS_INTEGRATION
    GITHUB_ACTIONS GITHUB_API_URL GITHUB_ENV GITHUB_REF GITHUB_REPOSITORY GITHUB_RUN_ID GITHUB_SERVER_URL GITHUB_SHA
    GITHUB_TOKEN GITHUB_WORKSPACE GITLAB_CI JENKINS_HOME JENKINS_URL JOB_NAME NODE_NAME RUNNER_OS RUNNER_TEMP
    RUNNER_TOOL_CACHE RUNNER_WORKSPACE TRAVIS WORKSPACE`.split(/\s+/),
  "Kubernetes, with services rollcall, rollcall-db, rate-limit and database": {
    KUBERNETES_PORT: "tcp://10.96.0.1:443",
    KUBERNETES_PORT_443_TCP_ADDR: "10.96.0.1",
    KUBERNETES_SERVICE_HOST: "10.96.0.1",
    KUBERNETES_SERVICE_PORT_HTTPS: "443",
    POD_IP: "10.1.1.1",
    POD_NAMESPACE: "default",
    ROLLCALL_PORT: "tcp://10.0.0.1:8080",
    ROLLCALL_PORT_8080_TCP: "tcp://10.0.0.1:8080",
    ROLLCALL_PORT_8080_TCP_ADDR: "10.0.0.1",
    ROLLCALL_PORT_8080_TCP_PORT: "8080",
    ROLLCALL_PORT_8080_TCP_PROTO: "tcp",
    ROLLCALL_SERVICE_HOST: "10.0.0.1",
    ROLLCALL_SERVICE_PORT: "8080",
    ROLLCALL_SERVICE_PORT_HTTP: "8080",
    ROLLCALL_DB_PORT: "tcp://10.0.0.2:5432",
    ROLLCALL_DB_PORT_5432_TCP: "tcp://10.0.0.2:5432",
    ROLLCALL_DB_SERVICE_HOST: "10.0.0.2",
    RATE_LIMIT_PORT: "tcp://10.0.0.3:80",
    RATE_LIMIT_SERVICE_HOST: "10.0.0.3",
    DATABASE_PORT: "tcp://10.0.0.4:5432",
    DATABASE_SERVICE_HOST: "10.0.0.4",
  },
  "a container with links": {
    ROLLCALL_NAME: "/proxy/rollcall",
    ROLLCALL_PORT: "tcp://172.17.0.2:8080",
    ROLLCALL_ENV_NODE_ENV: "production",
    container: "podman",
  },
  "scripts around the program": { ROLLCALL_VERSION: "0.1.0", ROLLCALL_IMAGE: "rollcall:latest", ROLLCALL_HOME: "/opt" },
};

describe("the environment of other programs", () => {
  for (const [name, variables] of Object.entries(surroundings)) {
    it(`contains no variable that counts as a misspelt setting: ${name}`, () => {
      const values = Array.isArray(variables)
        ? Object.fromEntries(variables.map((each: string) => [each, "x"]))
        : (variables as Readonly<Record<string, string>>);
      assert.deepEqual(findMisspeltSettings(values, known, new Set()), []);
      assert.ok(loadConfig(values));
    });
  }
});
