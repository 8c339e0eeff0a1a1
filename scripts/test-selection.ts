import { readFileSync } from "node:fs";
import path from "node:path";

/**
 * The parts of the server whose results can depend on the engine: `npm test` runs their test files on PostgreSQL, too. Each
 * is a prefix of paths, with the prefixes of further test files of it.
 */
const engineAreas: Readonly<Record<string, readonly string[]>> = {
  // All of these folders.
  "server/src/archives/": [],
  "server/src/batch/": [],
  "server/src/db/": [
    "server/test/before-baseline",
    "server/test/get-and-post", // one journey through every noun
    "server/test/isolation",
    "server/test/lock-order",
    "server/test/migrations",
    "server/test/pgbouncer",
    "server/test/postgres-",
    "server/test/query-plans",
    "server/test/rolling-upgrade",
  ],
  "server/src/event-log/": ["server/test/event-signals"],
  "server/src/events/": [],
  "server/src/idempotency/": [],
  "server/src/limits/": ["server/test/shared-limits"],
  "server/src/metrics/engine/": [],
  "server/src/owned/": ["server/src/checkins/"],
  "server/src/privacy/": ["server/test/privacy.switching"],
  "server/src/webhooks/": [],
  // Of other folders, the sources with locks, and the tests of these.
  "server/src/applications/applications.store": ["server/src/applications/applications.test"],
  "server/src/auth/last-uses": ["server/src/auth/token-uses"],
  "server/src/auth/guard/shared-failure": ["server/src/auth/guard/sign-in-guard"],
  "server/src/auth/token-renewals": ["server/src/users/users.renewal"],
  "server/src/cli/accept": ["server/test/deployment-fit"],
  "server/src/cli/doctor": ["server/test/cli.test"],
  "server/src/deployment/": ["server/test/deployment-fit"],
  "server/src/metadata/metadata.objects": [],
  "server/src/metadata/metadata.store": ["server/src/metadata/metadata.increment"],
  "server/src/operators/operators.store": ["server/src/operators/operators.test"],
  "server/src/app/serve.ts": ["server/test/first-owner"],
  "server/src/users/users.erasure": ["server/src/users/users.deletion"],
  "server/src/users/users.social": [],
  "server/src/users/users.verified-addresses": ["server/src/users/users.verification"],
};

/** What makes the result of code depend on the engine: locks, transactions that lose a conflict, and SQL of one engine. */
const engineMarks = new RegExp(
  [
    /\b(?:forUpdate|forShare|for (?:no key )?update|for (?:key )?share|skip locked|lockName|advisoryLock|hasRowLocks)\b/,
    /\b(?:runningWriters|continueSerial|planAgain|hasLateralJoins|lateral|pragma)\b/,
    /\b(?:isConflict|isUndone|isLost|isSqliteBusy|OutcomeUnknown)\b|\bpg_\w+|advisory_|::(?:int|bigint|text|jsonb?)\b/,
  ]
    .map(({ source }) => source)
    .join("|"),
);

/** Folders without statements: there, the engine cannot make a difference. */
const withoutDatabase = /^(?:server\/src\/(?:config|http\/outgoing|lib|pictures)|sdk\/src)\//;

/** Whether the engine cannot make a difference to a test file: it declares that, or its folder has no statements. */
export function needsOneEngine(root: string, file: string): boolean {
  return withoutDatabase.test(file) || textOf(root, file).startsWith("// Runs on one engine: ");
}

/** Whether `npm test` runs a test file on PostgreSQL, if it needs both engines; the others are left to `npm test -- --rest`. */
export function dependsOnEngine(file: string): boolean {
  return Object.entries(engineAreas).some((area) => isOfArea(file, area));
}

/** The files, relative to the repository, that contain locks or SQL of one engine, but are in no area of the engines. */
export function findMissingAreas(files: readonly { readonly path: string; readonly text: string }[]): string[] {
  return files.filter(({ path, text }) => engineMarks.test(text) && !dependsOnEngine(path)).map(({ path }) => path);
}

/** The areas of which none of these test files is a test. */
export function findUntestedAreas(files: readonly string[]): string[] {
  return Object.entries(engineAreas)
    .filter((area) => !files.some((file) => isOfArea(file, area)))
    .map(([prefix]) => prefix);
}

function isOfArea(file: string, [prefix, tests]: [string, readonly string[]]): boolean {
  return [prefix, ...tests].some((prefix) => file.startsWith(prefix));
}

/** Whether a test file imports what starts the program `rollcall`, itself or through its helpers. */
export function startsProgram(root: string, file: string): boolean {
  const seen = new Set<string>();
  function imports(file: string): boolean {
    if (/^server\/(?:test\/running-server\.ts|testing\.mjs)$/.test(file)) return true;
    const isTest = /\/test\/|\.test\.ts$/.test(file);
    if (seen.has(file) || !isTest) return false;
    seen.add(file);
    const specifiers = textOf(root, file).matchAll(/ from "(\..*)"/g);
    return [...specifiers].some(([, specifier = ""]) => imports(path.posix.join(path.posix.dirname(file), specifier)));
  }
  return imports(file);
}

function textOf(root: string, file: string): string {
  return readFileSync(path.join(root, file), "utf8");
}
