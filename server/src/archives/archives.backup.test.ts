import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { loadEarlierDeployment } from "../../test/before-baseline.ts";
import { createTestDatabase, sqliteUrl, type TestDatabase } from "../../test/databases.ts";
import { type FullApplication, fillApplication, readTables } from "../../test/full-application.ts";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { rollcall, runProgram } from "../../test/running-server.ts";
import { download } from "../../test/uploads.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { PlainFailure } from "../config/failure.ts";
import { loadSecrets } from "../config/server-secret.ts";
import { migrate } from "../db/migrate.ts";
import { migrations } from "../db/migrations/list.ts";
import { openDatabase } from "../db/open.ts";
import { originalKey } from "../files/files.uploads.ts";
import { createClock } from "../lib/clock.ts";
import { ArchiveWriter } from "./archive.ts";
import { readArchiveFile, writeArchiveFile } from "./archive-file.ts";
import { backUp } from "./backup.ts";
import { archiveApplication } from "./export-application.ts";
import { endName, headName } from "./format.ts";
import { loadArchive } from "./load.ts";
import { type RestoreOptions, restore } from "./restore.ts";
import { beginRestoring } from "./restoring.ts";
import { archivedTables } from "./tables.ts";

/** Backups of a running deployment, restored into others. */

let test: TestApp;
let full: FullApplication;
const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
const file = join(folder, "backup.tar");
const databases: TestDatabase[] = [];
before(async () => {
  test = await startTestApp();
  full = await fillApplication(test);
});
after(async () => {
  await test.close();
  for (const { drop } of databases) await drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Settings extends Readonly<Record<string, string>> {
  readonly DATA_DIR: string;
  readonly DATABASE_URL: string;
}

function settingsOf({ config }: TestApp): Settings {
  const { dataDir, databaseUrl, secrets } = config;
  return { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ROLLCALL_SECRET: secrets?.join() ?? "" };
}

/** The settings of an empty deployment on the tested engine, or on SQLite. */
async function emptyDeployment(isEmbedded = false): Promise<Settings> {
  const dataDir = join(folder, `${databases.length}`);
  const database = await createTestDatabase(dataDir);
  databases.push(database);
  const DATABASE_URL = isEmbedded ? sqliteUrl(dataDir) : database.url;
  return { DATA_DIR: dataDir, DATABASE_URL, ROLLCALL_SECRET: test.config.secrets?.join() ?? "" };
}

function backUpTest({ app, config }: TestApp) {
  return backUp(config, { ...app, secrets: loadSecrets(config) });
}

function restoreInto(settings: Settings, path = file, options: Partial<RestoreOptions> = {}) {
  const config: Config = loadConfig(settings);
  const defaults = { isForced: false, isOtherSecret: false, isKeepingTokens: true, clock: createClock() };
  return restore(() => readArchiveFile(path), config, { ...defaults, ...options });
}

/** Asserts that the command prints only a message, and changes nothing. */
async function assertRefused(refused: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof PlainFailure);
    assert.match(error.message, message);
    return true;
  });
}

/** Columns that a restore changes, because a restored log has another name, and positions as numbers. */
const renamedColumns: Readonly<Record<string, string>> = { event_logs: "name", events: "number", webhooks: "log" };

/** Reads all rows except the audit log, without the names of logs. */
async function readData(databaseUrl: string) {
  const tables = archivedTables.filter((table) => table !== "audit_log");
  const found = await readTables(databaseUrl, tables);
  for (const [table, column] of Object.entries(renamedColumns)) {
    const rows = (found[table] ?? []).map((row) => JSON.stringify({ ...JSON.parse(row), [column]: "" }));
    found[table] = rows.sort();
  }
  return found;
}

describe("rollcall backup, verify-backup, restore", () => {
  it("a running server writes a backup that can be restored, into a new file that only its owner can read", async () => {
    const backup = await runProgram("src/cli/cli.ts", ["backup", file, "--fast"], settingsOf(test));
    assert.equal(backup.stderr, "");
    assert.match(backup.stdout, /^wrote .*backup\.tar: \d+ rows, 4 files of \d+ bytes\n$/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.ok(!existsSync(`${file}.partial`));
    const settings = await emptyDeployment();
    const [again, verified, restored] = await Promise.all([
      runProgram("src/cli/cli.ts", ["backup", file, "--fast"], settingsOf(test)),
      runProgram("src/cli/cli.ts", ["verify-backup", file], {}),
      runProgram("src/cli/cli.ts", ["restore", file], settings),
    ]);
    assert.match(again.stderr, /backup\.tar already exists, and archives are never overwritten\.\n$/);
    assert.match(verified.stdout, /^intact: a backup of .*\n\d+ rows, 4 files/);
    assert.match(restored.stdout, /^restored \d+ rows, 4 files/);
    assert.deepEqual([again.code, verified.code, restored.code], [1, 0, 0]);
    const { audit_log: entries = [] } = await readTables(settings.DATABASE_URL, ["audit_log"]);
    for (const action of ["backup", "restore"]) {
      assert.equal(entries.filter((entry) => JSON.parse(entry).action === action).length, 1, action);
    }
  });
});

// spec/deployment#consistent-backups, spec/deployment#backup-secrets
describe("a backup", () => {
  it("contains rows of every table", async () => {
    const rows = await readTables(test.config.databaseUrl);
    for (const table of archivedTables) assert.ok((rows[table] ?? []).length > 0, `fill ${table} in fillApplication`);
  });

  for (const [where, isEmbedded] of Object.entries({ "a database like it": false, "an embedded one": true })) {
    it(`restores every row, file and token into ${where}`, async () => {
      const before = await readData(test.config.databaseUrl);
      const settings = await emptyDeployment(isEmbedded);
      await restoreInto(settings);
      assert.deepEqual(await readData(settings.DATABASE_URL), before);

      const restored = await startTestApp(settings);
      try {
        const { jane, john, blobId, blob, pictureId, picture } = full;
        const read = async (path: string, { token }: { token: string }) =>
          (await download(restored, path, { token })).bytes;
        assert.ok((await read(`/blobs/${blobId}/file`, jane)).equals(blob));
        assert.ok((await read(`/pictures/${pictureId}/file`, john)).equals(picture));
        assert.equal((await restored.call("GET /users/me", { token: john.token })).status, 200);
      } finally {
        await restored.close();
      }
    });
  }

  it("omits a file that is deleted during the backup, with its rows and objects", async () => {
    const other = await startTestApp();
    try {
      const { jane, john, blobId, pictureId } = await fillApplication(other);
      const path = join(folder, "deleted.tar");
      async function* deletingMeanwhile() {
        let isDeleted = false;
        for await (const bytes of backUpTest(other)) {
          yield bytes;
          if (isDeleted) continue; // called after the rows are read, and before the first file
          isDeleted = true;
          await other.call(`DELETE /pictures/${pictureId}`, { token: john.token });
        }
      }
      await writeArchiveFile(path, deletingMeanwhile());
      const settings = await emptyDeployment();
      const { end } = await restoreInto(settings, path);
      assert.deepEqual(end.missing, { deleted: 1, lost: 0, damaged: 0 });
      const restored = await startTestApp(settings);
      try {
        const statusOf = async (path: string, { token }: { token: string }) =>
          (await restored.call(`GET ${path}`, { token })).status;
        assert.equal(await statusOf(`/pictures/${pictureId}`, john), 404);
        assert.equal(await statusOf(`/blobs/${blobId}`, jane), 200);
        const usage = async ({ config }: TestApp) =>
          (await readTables(config.databaseUrl, ["file_usage"]))["file_usage"];
        assert.deepEqual(await usage(restored), await usage(other));
        const { users = [] } = await readTables(settings.DATABASE_URL, ["users"]);
        assert.ok(users.every((row) => JSON.parse(row).profile_picture_id === null));
      } finally {
        await restored.close();
      }
    } finally {
      await other.close();
    }
  });

  it("reports missing and damaged files, contains all others, and makes the command fail", async () => {
    const other = await startTestApp();
    try {
      const { blobId, pictureId, picture } = await fillApplication(other);
      const { appid } = other.application;
      await other.app.bytes.deleteAll(originalKey(appid, blobId));
      async function* rotten() {
        yield Buffer.alloc(picture.length, 1);
      }
      await other.app.bytes.write(originalKey(appid, pictureId), rotten());
      const path = join(folder, "lossy.tar");
      const { code, stderr } = await runProgram("src/cli/cli.ts", ["backup", path, "--fast"], settingsOf(other));
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^1 files have no bytes in the store, 1 files differ from what was uploaded\. Everything else is in/,
      );
      const missing = new Map<string, string>();
      const load = { missing: async ({ id, why }: { id: string; why: string }) => void missing.set(id, why) };
      const { end } = await loadArchive(readArchiveFile(path), load);
      assert.deepEqual([end.files, end.missing], [3, { deleted: 0, lost: 1, damaged: 1 }]);
      assert.deepEqual(Object.fromEntries(missing), { [blobId]: "lost", [pictureId]: "damaged" });
    } finally {
      await other.close();
    }
  });

  it("can omit the files, for operators with another backup of the store", async () => {
    const path = join(folder, "rows.tar");
    const { app, config } = test;
    const services = { ...app, secrets: loadSecrets(config) };
    await writeArchiveFile(path, backUp(config, services, { isWithoutFiles: true }));
    const settings = { ...(await emptyDeployment()), FILES_URL: config.filesUrl };
    await restoreInto(settings, path); // the store is not changed
    assert.deepEqual(await readData(settings.DATABASE_URL), await readData(config.databaseUrl));
    const restored = await startTestApp(settings);
    const { jane, blobId, blob } = full;
    const { bytes } = await download(restored, `/blobs/${blobId}/file`, { token: jane.token });
    assert.ok(bytes.equals(blob));
    await restored.close();
  });

  it("fails on a full disk with the reason, and deletes its file", async () => {
    const path = join(folder, "full.tar");
    const TMPDIR = mkdtempSync(join(folder, "tmp-"));
    const limited = ["--fsize=100000", process.execPath, rollcall, "backup", path, "--fast"]; // the kernel limits the size of files
    function assertFull(): void {
      const { status, stderr } = spawnSync("prlimit", limited, {
        env: { PATH: process.env["PATH"], TMPDIR, ...settingsOf(test) },
        encoding: "utf8",
        timeout: 60_000,
      });
      assert.equal(status, 1, stderr);
      assert.match(stderr, /EFBIG|file too large/i);
      assert.ok(!existsSync(path) && !existsSync(`${path}.partial`));
      assert.deepEqual(readdirSync(TMPDIR), []);
    }
    assertFull(); // while files are written

    const { database } = test.app;
    const texts = { actor_id: "", actor_name: "", application_id: "", target: "", address: "", request_id: "" };
    const rows = Array.from({ length: 300 }, (_, index) => ({
      ...texts,
      id: `big_${index}`,
      at: 0,
      actor_kind: "cli" as const,
      action: "big",
      details: JSON.stringify({ big: randomBytes(4_000).toString("base64") }),
    }));
    await database.write(({ queries }) => queries.insertInto("audit_log").values(rows).execute());
    try {
      assertFull(); // while rows are written
    } finally {
      await database.write(({ queries }) => queries.deleteFrom("audit_log").where("action", "=", "big").execute());
    }
  });

  it("contains the secret that is stored in DATA_DIR, and restores it", async () => {
    const source = { ...(await emptyDeployment(true)), ROLLCALL_SECRET: "" };
    const target = { ...(await emptyDeployment(true)), ROLLCALL_SECRET: "" };
    const deployment = await startTestApp(source);
    const { token } = await deployment.signUp();
    const path = join(folder, "embedded.tar");
    await writeArchiveFile(path, backUpTest(deployment));
    await deployment.close();
    await assertRefused(
      restoreInto({ ...target, ROLLCALL_SECRET: "quite another secret for tests" }, path),
      /^ROLLCALL_SECRET is not the secret of this backup, which `tar -xOf FILE secret` prints\./,
    );
    await restoreInto(target, path);
    const secretOf = ({ DATA_DIR }: Settings) => join(DATA_DIR, "secret");
    assert.deepEqual(readFileSync(secretOf(target)), readFileSync(secretOf(source)));
    assert.equal(statSync(secretOf(target)).mode & 0o777, 0o600);
    const restored = await startTestApp(target);
    assert.equal((await restored.call("GET /users/me", { token })).status, 200);
    await restored.close();
  });
});

describe("a backup of an empty deployment", () => {
  it("is refused, whether the database is missing or empty", async () => {
    const { app, config } = test;
    const services = { ...app, secrets: loadSecrets(config) };
    const settings = await emptyDeployment();
    await assertRefused(
      backUp(loadConfig(settings), services).next(),
      /^There is no database|is not a Rollcall database\.$/,
    );
    const database = await openDatabase(settings.DATABASE_URL, { connectionsMax: 2, timeoutMs: 5_000 });
    await assertRefused(backUp(loadConfig(settings), services).next(), /is not a Rollcall database\.$/);
    await database.close();
  });
});

// spec/deployment#restored-tokens
describe("tokens after a restore", () => {
  let source: TestApp;
  const archive = join(folder, "tokens.tar");
  before(async () => {
    source = await startTestApp({ ROLLCALL_SECRET: test.config.secrets?.join() ?? "" });
  });
  after(() => source.close());

  async function register({ call }: TestApp): Promise<string> {
    const { appid, appkey } = source.application;
    const registered = await call("POST /devices", { body: { appid, appkey, platform: "test", uniqueId: "one" } });
    assert.equal(registered.status, 201, registered.text);
    return registered.body.result.accessToken;
  }

  async function signIn({ call }: TestApp, token: string, { userName: username, password }: TestUser): Promise<string> {
    const login = await call("POST /users/login", { token, body: { username, password } });
    assert.equal(login.status, 200, login.text);
    return login.body.result.accessToken;
  }

  async function isGood({ call }: TestApp, token: string): Promise<boolean> {
    const { status } = await call("GET /devices/current", { token });
    assert.ok(status === 200 || status === 401, `${status}`);
    return status === 200;
  }

  it("earlier tokens are refused, even if they were issued and revoked after the backup; new tokens are valid", async () => {
    const { appid } = source.application;
    const jane = await source.signUp("Jane");
    const operator = await source.createOperator();
    const first = await register(source);
    const code = { application_id: appid, user_id: jane.id, digest: "d", tries_left: 3, expires_at: 9e12 };
    await source.app.database.write(({ queries }) => queries.insertInto("password_resets").values(code).execute());
    const waiting = {
      application_id: appid,
      user_id: jane.id,
      sealed: "",
      attempts: 0,
      due_at: 9e12,
      expires_at: 9e12,
    };
    const mails = ["resetCode", "addressChanged"].map((kind) => ({ ...waiting, id: kind, kind }));
    await source.app.database.write(({ queries }) => queries.insertInto("mail_outbox").values(mails).execute());
    await writeArchiveFile(archive, backUpTest(source));

    const issued = [jane.token, jane.deviceToken, first, await signIn(source, first, jane)];
    const { revocations, database } = source.app;
    for (let times = 0; times < 5; times += 1) {
      await database.write((transaction) => revocations.endApplicationTokens(appid, transaction));
      const device = await register(source);
      issued.push(device, await signIn(source, device, jane));
    }
    await database.write((transaction) => revocations.endApplicationTokens(appid, transaction));
    for (const token of issued) assert.equal(await isGood(source, token), false);

    const settings = await emptyDeployment();
    await restoreInto(settings, archive, { isKeepingTokens: false });
    const left = await readTables(settings.DATABASE_URL, ["user_tokens", "operator_sessions", "password_resets"]);
    assert.deepEqual(left, { user_tokens: [], operator_sessions: [], password_resets: [] });
    const outbox = (await readTables(settings.DATABASE_URL, ["mail_outbox"]))["mail_outbox"] ?? [];
    assert.deepEqual(
      outbox.map((row) => JSON.parse(row).kind),
      ["addressChanged"],
    );
    const restored = await startTestApp(settings);
    try {
      for (const token of issued) assert.equal(await isGood(restored, token), false);
      assert.equal((await restored.call("GET /_/api/applications", { token: operator.token })).status, 401);
      const device = await register(restored);
      assert.ok(await isGood(restored, device));
      assert.ok(await isGood(restored, await signIn(restored, device, jane)));
    } finally {
      await restored.close();
    }
  });

  it("a token of a restored deployment is refused after another restore of the same backup", async () => {
    const [once, twice] = [await emptyDeployment(), await emptyDeployment()];
    await restoreInto(once, archive, { isKeepingTokens: false });
    const restored = await startTestApp(once);
    const device = await register(restored);
    await restored.close();
    await restoreInto(twice, archive, { isKeepingTokens: false });
    const again = await startTestApp(twice);
    assert.equal(await isGood(again, device), false);
    await again.close();
  });

  it("--keep-tokens restores the tokens of the backup, including tokens that were revoked later", async () => {
    const settings = await emptyDeployment();
    const kept = await runProgram("src/cli/cli.ts", ["restore", archive, "--keep-tokens"], settings);
    assert.match(kept.stdout, /^restored \d+ rows, 0 files of 0 bytes\n$/);
    assert.equal((await readTables(settings.DATABASE_URL, ["user_tokens"]))["user_tokens"]?.length, 1);
    const ended = await runProgram("src/cli/cli.ts", ["restore", archive, "--force"], settings);
    assert.match(
      ended.stdout,
      /\nall tokens have ended: devices must register again, users and operators must sign in again\n$/,
    );
    assert.deepEqual((await readTables(settings.DATABASE_URL, ["user_tokens"]))["user_tokens"], []);
  });
});

// spec/deployment#restore
describe("restoring", () => {
  it("damaged backups and other files are refused before anything is written", async () => {
    const settings = await emptyDeployment();
    const wrong = join(folder, "wrong.tar");
    writeFileSync(wrong, "no backup at all".repeat(100));
    await assertRefused(restoreInto(settings, wrong), /^This is not a Rollcall archive$/);
    const archive = readFileSync(file);
    writeFileSync(wrong, archive.subarray(0, archive.length / 2));
    await assertRefused(restoreInto(settings, wrong), /^The archive /);
    assert.ok(!existsSync(settings.DATA_DIR));
  });

  /** Writes an empty backup of a deployment with other migrations. */
  async function writeForged(path: string, migrations: (names: readonly string[]) => readonly string[]) {
    const { head, end } = await loadArchive(readArchiveFile(file), {});
    const writer = new ArchiveWriter();
    async function* forged() {
      const forgedHead = { ...head, migrations: migrations(head.migrations) };
      yield* writer.entry(headName, Buffer.from(JSON.stringify(forgedHead)));
      yield* writer.entry(endName, Buffer.from(JSON.stringify({ ...end, rows: {}, files: 0, bytes: 0 })));
      yield* writer.end();
    }
    await writeArchiveFile(path, forged());
  }

  it("a backup of a newer release is refused", async () => {
    const path = join(folder, "newer.tar");
    await writeForged(path, (names) => [...names, "9999-next"]);
    await assertRefused(restoreInto(await emptyDeployment(), path), /^The archive was made by a newer release\./);
  });

  it("a backup of a database from before the baseline is restored with all rows", async () => {
    const source = await emptyDeployment();
    mkdirSync(source.DATA_DIR, { recursive: true });
    await loadEarlierDeployment(source.DATABASE_URL);
    const old = await openDatabase(source.DATABASE_URL, { connectionsMax: 2, timeoutMs: 5_000 });
    const path = join(folder, "older.tar");
    const services = { ...test.app, database: old, secrets: loadSecrets(test.config) };
    await writeArchiveFile(path, backUp(loadConfig(source), services));
    await migrate(old); // as a restore does
    await old.close();
    assert.match(readFileSync(path, "latin1").slice(0, 4_096), /"0001-foundation",[\s\S]*"0059-operated-people"/);

    const settings = await emptyDeployment();
    await restoreInto(settings, path);
    assert.deepEqual(await readData(settings.DATABASE_URL), await readData(source.DATABASE_URL));
    const restored = await openDatabase(settings.DATABASE_URL, { connectionsMax: 2, timeoutMs: 5_000 });
    assert.deepEqual(await migrate(restored), []);
    await restored.close();
  });

  it("a backup of an older schema is refused, and names the version that reads it", async () => {
    const path = join(folder, "much-older.tar");
    await writeForged(path, () => ["0001-foundation", "0002-people-and-places"]);
    await assertRefused(
      restoreInto(await emptyDeployment(), path),
      /^The archive was made by a version from before commit 2202da8f\. Restore it with the version of that commit, /,
    );
  });

  it("an exported application can be restored as a separate deployment", async () => {
    const path = join(folder, "application.tar");
    const { app, config, application } = test;
    const services = { ...config, ...app, secrets: loadSecrets(config) };
    await writeArchiveFile(path, archiveApplication(application.appid, services));
    const settings = { ...(await emptyDeployment()), ROLLCALL_SECRET: "quite another secret for tests" };
    await restoreInto(settings, path);
    const rows = async (url: string) => readTables(url, ["users", "checkins", "files", "metadata"], application.appid);
    assert.deepEqual(await rows(settings.DATABASE_URL), await rows(config.databaseUrl));
  });

  it("another secret is refused; with --other-secret users have to sign in again", async () => {
    const settings = { ...(await emptyDeployment()), ROLLCALL_SECRET: "quite another secret for tests" };
    const message = /^The secret of this backup came from its environment: set ROLLCALL_SECRET to the same value\./;
    await assertRefused(restoreInto(settings), message);
    await restoreInto(settings, file, { isOtherSecret: true });
    const restored = await startTestApp(settings);
    assert.equal((await restored.call("GET /users/me", { token: full.john.token })).status, 401);
    await restored.close();
  });

  it("a deployment with data is refused, even if it has only files; --force deletes the data", async () => {
    const settings = await emptyDeployment();
    const stray = join(settings.DATA_DIR, "files", "app_of_others");
    mkdirSync(stray, { recursive: true });
    await assertRefused(
      restoreInto(settings),
      /^The target is not empty: .*files contains files\. Use --force to delete its contents\.$/,
    );
    await restoreInto(settings, file, { isForced: true });
    assert.ok(!existsSync(stray));
    await assertRefused(
      restoreInto(settings),
      /^The target is not empty: the database contains data, .*files contains files/,
    );
    await restoreInto(settings, file, { isForced: true });
    assert.deepEqual(await readData(settings.DATABASE_URL), await readData(test.config.databaseUrl));
  });

  it("an input that can be read only once is refused before anything is deleted, even with --force", async () => {
    const settings = await emptyDeployment();
    await restoreInto(settings);
    const before = await readData(settings.DATABASE_URL);
    const pipe = join(folder, "pipe");
    const writing = spawn("sh", ["-c", 'mkfifo "$1" && exec cat "$0" > "$1"', file, pipe]);
    while (!existsSync(pipe)) await setImmediate();
    try {
      const { code, stderr } = await runProgram("src/cli/cli.ts", ["restore", pipe, "--force"], settings);
      assert.match(stderr, /^.*pipe is not a regular file\. restore reads it twice: save it as a file first\.\n$/);
      assert.equal(code, 1);
      assert.deepEqual(await readData(settings.DATABASE_URL), before);
    } finally {
      writing.kill();
    }
  });

  it("an interrupted restore is never served, and must be repeated with --force", async () => {
    const settings = await emptyDeployment();
    const bucket = {
      FILES_URL: "s3://bucket?endpoint=http://127.0.0.1:1",
      AWS_ACCESS_KEY_ID: "a",
      AWS_SECRET_ACCESS_KEY: "a",
    };
    await assert.rejects(restoreInto({ ...settings, ...bucket })); // fails at the first file
    const database = await openDatabase(settings.DATABASE_URL, { connectionsMax: 2, timeoutMs: 5_000 });
    const message = /^A restore into this database was not finished\. Run it again, with --force\.$/;
    await assertRefused(migrate(database), message);
    await database.close();
    await restoreInto(settings, file, { isForced: true });
    assert.deepEqual(await readData(settings.DATABASE_URL), await readData(test.config.databaseUrl));
  });

  it("a restore fails if another one starts while it runs, and does not mark the database as complete", async () => {
    const settings = await emptyDeployment();
    const archive = readFileSync(file);
    let times = 0;
    async function* read() {
      times += 1;
      const lastTables = archive.indexOf("tables/operators/");
      yield archive.subarray(0, lastTables);
      if (times === 2) {
        // The first process has already checked for other users of the database.
        const other = await openDatabase(settings.DATABASE_URL, { connectionsMax: 2, timeoutMs: 5_000 });
        await beginRestoring(
          migrations.map(({ name }) => name),
          other,
        );
        await other.close();
      }
      yield archive.subarray(lastTables);
    }
    const options = { isForced: false, isOtherSecret: false, clock: createClock() };
    await assertRefused(
      restore(read, loadConfig(settings), options),
      /^Another restore into this database has begun\.$/,
    );
    const database = await openDatabase(settings.DATABASE_URL, { connectionsMax: 2, timeoutMs: 5_000 });
    await assertRefused(migrate(database), /^A restore into this database was not finished\./);
    await database.close();
  });

  it("a database in use is never restored into", async () => {
    const refused = restoreInto(settingsOf(test), file, { isForced: true });
    await assertRefused(refused, /^The database is in use\. Stop the processes that use it first\.$/);
  });
});
