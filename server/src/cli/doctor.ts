import { X509Certificate } from "node:crypto";
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import type { Config } from "../config/config.ts";
import { explainFailure } from "../config/failure.ts";
import { isLoopback } from "../config/networks.ts";
import { openSecrets } from "../config/server-secret.ts";
import { pathProblems } from "../config/start-failures.ts";
import type { Database } from "../db/database.ts";
import { findBackup, findRecordedSecret } from "../db/deployment-facts.ts";
import { hasCitus, listUndistributed } from "../db/distribution.ts";
import { findDatabaseProblem } from "../db/open.ts";
import { requireFitting } from "../deployment/joining.ts";
import { readCertificate } from "../http/certificate.ts";
import { fieldsOf } from "../lib/fields.ts";
import { findMailProblem, targetOf } from "../mail/transport.ts";
import { openByteStore } from "../storage/open.ts";
import { findStoreProblem } from "../storage/store-problem.ts";
import { type Command, openForCommand } from "./command.ts";

/** The result of one check. */
interface Finding {
  readonly state: "ok" | "warn" | "fail";
  /** The observation, and the action to take. */
  readonly text: string;
}

const ok = (text: string): Finding => ({ state: "ok", text });
const warn = (text: string): Finding => ({ state: "warn", text });
const fail = (text: string): Finding => ({ state: "fail", text });

const timeoutMs = 5_000;
const dayMs = 86_400_000;
const backupDaysOld = 7;
const freeBytesLow = 1_073_741_824;
const freeBytesMin = 67_108_864;
/** Processes check the expiry of tokens with their own clocks, so those must agree with the database's. */
const clockMsMax = 2_000;

const checks: Readonly<Record<string, (config: Config) => Promise<Finding>>> = {
  settings: async ({ publicUrl, host }) =>
    publicUrl === undefined && !isLoopback(host)
      ? warn(
          "PUBLIC_URL is empty, so links have the address that a client used, in events and webhooks that of this machine. Set it to the address that all clients use.",
        )
      : ok("the settings are valid"),
  database: checkDatabase,
  deployment: checkDeployment,
  backup: checkBackup,
  disk: async (config) => checkDisk(config),
  files: async (config) => {
    if (config.filesUrl.startsWith("file:") && !existsSync(fileURLToPath(config.filesUrl)))
      return ok("FILES_URL: the first start will create the folder");
    const problem = await findStoreProblem(config, await openByteStore(config));
    return problem === undefined ? ok("FILES_URL: the store answers") : fail(problem.text);
  },
  mail: checkMail,
  tls: checkTls,
  regions: checkRegions,
};

/** Checks the dependencies of a server with these settings, without starting one. */
export const commands = {
  async doctor(config) {
    const findings: (Finding & { readonly check: string })[] = [];
    for (const [check, find] of Object.entries(checks)) {
      const found = await find(config).catch((error) => fail(String(explainFailure(error, config))));
      findings.push({ check, ...found });
    }
    const failed = findings.filter(({ state }) => state === "fail").map(({ check }) => check);
    const lines = findings.map(({ check, state, text }) => `${state.padEnd(4)}  ${check.padEnd(10)}  ${text}`);
    return {
      json: { ok: failed.length === 0, checks: findings },
      text: lines.join("\n"),
      failure: failed.length === 0 ? undefined : `failed: ${failed.join(", ")}`,
    };
  },
} satisfies Readonly<Record<string, Command>>;

/** Connects to the database and compares clocks. Does not create a missing database. */
async function checkDatabase(config: Config): Promise<Finding> {
  const isFile = config.databaseUrl.startsWith("file:");
  if (isFile && !existsSync(fileURLToPath(config.databaseUrl)))
    return ok("DATABASE_URL: the first start will create the embedded database");
  const timeoutMs = config.databaseTimeoutMs;
  const problem = await findDatabaseProblem(config.databaseUrl, { timeoutMs, isPooled: config.databasePooled });
  if (problem !== undefined) return fail(problem);
  const database = await openForCommand(config);
  try {
    await database.ping();
    if (isFile) return ok("DATABASE_URL: the embedded database opens");
    const { rows } = await sql<{ at: number; number: number; release: string }>`
      select (extract(epoch from clock_timestamp()) * 1000)::bigint as at,
        current_setting('server_version_num')::int as number, current_setting('server_version') as release
    `.execute(database.reads);
    const [{ at = 0, number = 0, release = "" } = {}] = rows;
    const aheadMs = Math.round(Date.now() - at);
    if (Math.abs(aheadMs) > clockMsMax)
      return fail(`the clocks of this machine and of the database differ by ${aheadMs} ms. Synchronize both with NTP.`);
    if (number < 140_000)
      return warn(`DATABASE_URL: PostgreSQL ${release} is older than the tested releases (14 to 18). Upgrade it.`);
    const answers = `DATABASE_URL: PostgreSQL ${release} answers, and its clock agrees within ${Math.abs(aheadMs)} ms`;
    if (!(await hasCitus(database))) return ok(answers);
    const missing = await listUndistributed(database.reads);
    if (missing.length === 0) return ok(`${answers}; Citus has distributed every table`);
    return warn(`DATABASE_URL: Citus keeps ${missing.join(", ")} on the coordinator. Run rollcall distribute.`);
  } finally {
    await database.close();
  }
}

/** Compares the settings with the recorded ones. Creates neither a database nor a secret. */
async function checkDeployment(config: Config): Promise<Finding> {
  const none = ok("the first start will record the secret and the region");
  return askDatabase(config, none, async (database) => {
    const recorded = await findRecordedSecret(database);
    if (recorded === undefined) return none;
    await requireFitting({ config, secrets: openSecrets(config, recorded) }, database.reads);
    return ok("ROLLCALL_SECRET and REGION are those of the deployment");
  });
}

/** Warns about an old backup, but not about a missing one, because another program may make backups. */
async function checkBackup(config: Config): Promise<Finding> {
  const none = ok("`rollcall backup` has made no backup of this deployment");
  return askDatabase(config, none, async (database) => {
    const backup = await findBackup(database.reads);
    if (backup === undefined) return none;
    const days = Math.floor((Date.now() - backup.at) / dayMs);
    const text = `the newest backup is ${days} days old and has ${Math.ceil(backup.bytes / 1_048_576)} MiB`;
    return days < backupDaysOld ? ok(text) : warn(`${text}. Make another one with rollcall backup.`);
  });
}

/** Queries the database without creating it. @param none the finding without a database */
async function askDatabase(
  config: Config,
  none: Finding,
  ask: (database: Database) => Promise<Finding>,
): Promise<Finding> {
  if (config.databaseUrl.startsWith("file:") && !existsSync(fileURLToPath(config.databaseUrl))) return none;
  const database = await openForCommand(config);
  try {
    return await ask(database);
  } finally {
    await database.close();
  }
}

function checkDisk(config: Config): Finding {
  let folder = config.dataDir;
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const code = String(fieldsOf(error).code);
    return fail(`DATA_DIR: cannot write to ${folder}: ${pathProblems[code] ?? "it cannot be used"} (${code}).`);
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const text = `DATA_DIR: ${Math.round(free / 1_048_576)} MiB are free at ${folder}`;
  if (free < freeBytesMin) return fail(`${text}. Writes will fail: free some space.`);
  return free < freeBytesLow ? warn(`${text}. Free some space soon.`) : ok(text);
}

async function checkMail({ smtpUrl }: Config): Promise<Finding> {
  if (smtpUrl === undefined)
    return warn("SMTP_URL is empty: mails are written to DATA_DIR/mail and not sent. Set it to a mail server.");
  const problem = await findMailProblem(smtpUrl);
  return problem === undefined ? ok(`SMTP_URL: ${targetOf(smtpUrl)} accepts our mails`) : fail(problem);
}

async function checkTls({ tls, publicUrl, requireHttps }: Config): Promise<Finding> {
  if (tls === undefined) {
    const isSecure = publicUrl?.startsWith("https:") === true || requireHttps;
    return ok(isSecure ? "a proxy serves https" : "no TLS_CERT_FILE: the server serves http");
  }
  const { cert } = await readCertificate(tls);
  const { validFrom, validTo } = new X509Certificate(cert);
  const days = Math.floor((Date.parse(validTo) - Date.now()) / dayMs);
  if (Date.parse(validFrom) > Date.now())
    return fail(`TLS_CERT_FILE: the certificate is not valid before ${validFrom}.`);
  if (days < 0) return fail(`TLS_CERT_FILE: the certificate expired on ${validTo}. Renew it.`);
  const text = `TLS_CERT_FILE: the certificate is valid for ${days} days, and TLS_KEY_FILE is its key`;
  return days < 14 ? warn(`${text}. Renew it.`) : ok(text);
}

async function checkRegions({ regions, region }: Config): Promise<Finding> {
  const others = [...regions].filter(([name]) => name !== region);
  const silent: string[] = [];
  for (const [name, root] of others) {
    const answer = await fetch(`${root}/_/health/live`, { signal: AbortSignal.timeout(timeoutMs) }).catch(
      () => undefined,
    );
    if (answer?.ok !== true) silent.push(`${name} (${root})`);
  }
  if (silent.length > 0)
    return fail(`REGIONS: no answer from ${silent.join(", ")}. Check their URLs, and whether they run.`);
  return ok(others.length === 0 ? "there is one region" : `REGIONS: ${others.length} others answer`);
}
