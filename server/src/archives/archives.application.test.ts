import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, sqliteUrl, type TestDatabase } from "../../test/databases.ts";
import { type FullApplication, fillApplication, readTables } from "../../test/full-application.ts";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { download } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { deleteApplicationRows, updateApplicationDeleted } from "../applications/applications.store.ts";
import { loadSecrets } from "../config/server-secret.ts";
import type { StoredRow } from "../db/snapshot.ts";
import { loadGuardedSettings, updateApplicationSettings } from "../tenancy/application-settings.ts";
import { openSigningSecret, sealSigningSecret, updateSigningSecret } from "../tenancy/policies.ts";
import { createSettingsSealer } from "../tenancy/sealed-settings.ts";
import { ArchiveWriter } from "./archive.ts";
import { archiveApplication, NoSuchApplication } from "./export-application.ts";
import { ArchiveError, endName, fileName, headName, rowsName } from "./format.ts";
import { ApplicationExists, type ImportOptions, importApplication } from "./import-application.ts";
import { loadArchive } from "./load.ts";
import { writeRows } from "./rows.ts";
import { exportedTables } from "./tables.ts";

function servicesOf({ app, config }: TestApp) {
  const { database, bytes, clock } = app;
  return { ...config, database, bytes, clock, secrets: loadSecrets(config) };
}

function exportFrom(test: TestApp, applicationId = test.application.appid): Readable {
  return Readable.from(archiveApplication(applicationId, servicesOf(test)), { objectMode: false });
}

function importInto(test: TestApp, source: AsyncIterable<Uint8Array>, options?: ImportOptions) {
  return importApplication(source, servicesOf(test), options);
}

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
const given: TestDatabase[] = [];
after(async () => {
  for (const { drop } of given) await drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a deployment on the tested engine, or on SQLite. */
async function start(name: string, isEmbedded: boolean, settings: Record<string, string> = {}): Promise<TestApp> {
  const database = isEmbedded ? undefined : await createTestDatabase(join(folder, name));
  if (database !== undefined) given.push(database);
  return startTestApp({ DATABASE_URL: database?.url ?? sqliteUrl(join(folder, `${name}-embedded`)), ...settings });
}

type Tables = Awaited<ReturnType<typeof readTables>>;

function revisionIn({ applications = [] }: Tables): unknown {
  return JSON.parse(applications[0] ?? "{}").revision;
}

function withoutRevision(tables: Tables): Tables {
  const { applications = [], ...others } = tables;
  return { ...others, applications: applications.map((row) => row.replace(/"revision":"[^"]*"/, "")) };
}

const withBlanks = " jane@example.org ";

for (const [direction, fromEmbedded] of Object.entries({ "to the embedded database": false, "from it": true })) {
  // spec/deployment#application-archives, spec/regions#moving-what-is-copied
  describe(`an exported application, ${direction}`, () => {
    let source: TestApp;
    let target: TestApp;
    let full: FullApplication;
    let archive: Buffer;
    before(async () => {
      source = await start(`source-${fromEmbedded}`, fromEmbedded);
      target = await start(`target-${fromEmbedded}`, !fromEmbedded);
      full = await fillApplication(source);
      // As an earlier version stored the address.
      const email = withBlanks;
      await source.app.database.write(({ queries }) =>
        queries.updateTable("users").set({ email }).where("id", "=", full.jane.id).execute(),
      );
      archive = await buffer(exportFrom(source));
    });
    after(async () => {
      await source.close();
      await target.close();
    });

    it("is identical in the other deployment: rows, bytes and tokens", async () => {
      const { appid } = source.application;
      const { jane, john, checkinId, blobId, blob } = full;
      const neighbour = await readTables(target.config.databaseUrl, exportedTables, target.application.appid);
      const { applicationId, hasTokens } = await importInto(target, Readable.from([archive]));
      assert.deepEqual([applicationId, hasTokens], [appid, true]);

      const expected = await readTables(source.config.databaseUrl, exportedTables, appid);
      expected["users"] = expected["users"]?.map((row) => row.replace(withBlanks, withBlanks.trim())) ?? [];
      const usage = (bytes: number, files: number, user_id: string) =>
        JSON.stringify({ application_id: appid, bytes, files, user_id });
      const pictureBytes = full.picture.length;
      expected["file_usage"] = [
        usage(blob.length + pictureBytes + 1, 3, ""), // the unfinished upload is not exported
        usage(blob.length, 1, jane.id),
        usage(pictureBytes + 1, 2, john.id),
      ].sort();
      expected["webhooks"] = expected["webhooks"]?.map(asExported) ?? [];
      const imported = await readTables(target.config.databaseUrl, exportedTables, appid);
      assert.notEqual(revisionIn(imported), revisionIn(expected), "no token counts as checked before the import");
      assert.deepEqual(withoutRevision(imported), withoutRevision(expected));
      assert.deepEqual(
        await readTables(target.config.databaseUrl, exportedTables, target.application.appid),
        neighbour,
      );

      assert.equal((await target.call(`GET /checkins/${checkinId}`, { token: jane.token })).status, 200);
      const downloaded = await download(target, `/blobs/${blobId}/file`, { token: jane.token });
      assert.ok(downloaded.bytes.equals(blob));
      const again = { username: john.userName, password: john.password };
      const { appkey } = source.application;
      const device = await target.call("POST /devices", { body: { appid, appkey, platform: "test" } });
      const token = device.body.result.accessToken;
      assert.equal((await target.call("POST /users/login", { token, body: again })).status, 200);
    });

    it("is not affected by the late erasure of its deleted predecessor", async () => {
      const there = await readTables(source.config.databaseUrl);
      await deleteApplicationRows(source.application.appid, source.app);
      assert.deepEqual(await readTables(source.config.databaseUrl), there);
      const { bytes } = await download(source, `/blobs/${full.blobId}/file`, { token: full.jane.token });
      assert.ok(bytes.equals(full.blob));
    });

    it("is refused in a deployment that has it, and the existing application does not change", async () => {
      const { appid } = source.application;
      const there = await readTables(source.config.databaseUrl);
      const exists = new ApplicationExists(`there is an application ${appid} already`);
      await assert.rejects(importInto(source, Readable.from([archive])), exists);
      assert.deepEqual(await readTables(source.config.databaseUrl), there);
    });
  });
}

// spec/deployment#application-archives
describe("an import of an application", () => {
  let source: TestApp;
  let target: TestApp;
  let full: FullApplication;
  let archive: Buffer;
  before(async () => {
    source = await start("importing", false);
    target = await start("imported", false);
    full = await fillApplication(source);
    archive = await buffer(exportFrom(source));
  });
  after(async () => {
    await source.close();
    await target.close();
  });

  /** Yields the archive, with a pause before its last bytes. */
  function halting(at = archive.length - 4_096): {
    readonly bytes: AsyncGenerator<Buffer>;
    readonly halted: Promise<void>;
    goOn(): void;
    fail(): void;
  } {
    const halted = Promise.withResolvers<void>();
    const going = Promise.withResolvers<void>();
    async function* bytes() {
      yield archive.subarray(0, at);
      halted.resolve();
      await going.promise;
      yield archive.subarray(at);
    }
    const fail = () => going.reject(new Error("the connection broke"));
    return { bytes: bytes(), halted: halted.promise, goOn: going.resolve, fail };
  }

  async function canRegister(): Promise<boolean> {
    const { appid, appkey } = source.application;
    return (await target.call("POST /devices", { body: { appid, appkey, platform: "test" } })).status === 201;
  }

  async function countRows(): Promise<number> {
    const { appid } = source.application;
    const found = await readTables(target.config.databaseUrl, exportedTables, appid);
    return Object.values(found).flat().length;
  }

  const keysOf = ({ application: { appid } }: TestApp) => join(target.config.dataDir, "files", appid);

  it("is refused if both deployments share a store, because an erasure would delete the files of both", async () => {
    const { appid } = source.application;
    const services = { ...servicesOf(target), bytes: source.app.bytes };
    await assert.rejects(
      importApplication(Readable.from([archive]), services),
      /FILES_URL must differ from that of the deployment/,
    );
    await maintain(target.app);
    const downloaded = await download(source, `/blobs/${full.blobId}/file`, { token: full.jane.token });
    assert.ok(downloaded.bytes.equals(full.blob));
    assert.deepEqual((await readTables(target.config.databaseUrl, ["applications"], appid))["applications"], []);
  });

  // spec/operators#listed-applications
  it("the application is invisible until it is complete, maintenance does not touch it, and other applications can write", async () => {
    const { appid } = source.application;
    const operator = await target.createOperator();
    const { bytes, halted, goOn } = halting();
    const imported = importInto(target, bytes);
    await halted;
    assert.ok((await countRows()) > 20);
    await maintain(target.app);
    const listed = await target.call("GET /_/api/applications", { token: operator.token });
    assert.ok(!listed.text.includes(appid));
    const importing = async () =>
      (await target.call("GET /_/api/applications?state=importing", { token: operator.token })).body.result.pageResults;
    const [shown, ...others] = await importing();
    assert.deepEqual([shown.id, shown.isBeingImported, others], [appid, true, []]);
    const one = await target.call(`GET /_/api/applications/${appid}`, { token: operator.token });
    assert.equal(one.body.result.isBeingImported, true);
    const keys = await target.call(`GET /_/api/applications/${appid}/keys`, { token: operator.token });
    assert.equal(keys.body.error, "ItemDoesNotExist");
    assert.equal(await canRegister(), false);
    const { token } = await target.signUp();
    assert.equal((await target.call("POST /checkins", { token, body: { location: "1,2" } })).status, 201);
    await assert.rejects(importInto(target, Readable.from([archive])), {
      message: `${appid} is being imported already`,
    });
    goOn();
    await imported;
    assert.equal(await canRegister(), true);
    assert.deepEqual(await importing(), []);
    await remove(target);
  });

  it("an interrupted, damaged or incomplete import is undone completely", async () => {
    const { bytes, halted, fail } = halting();
    const imported = importInto(target, bytes);
    await halted;
    fail();
    await assert.rejects(imported, { message: "the connection broke" });
    const damaged = Buffer.from(archive);
    damaged.writeUInt8(damaged.readUInt8(damaged.length - 3_000) ^ 1, damaged.length - 3_000);
    await assert.rejects(importInto(target, Readable.from([damaged])), ArchiveError);
    await assert.rejects(importInto(target, Readable.from([archive.subarray(0, -1_024)])), ArchiveError);
    assert.equal(await countRows(), 0);
    assert.ok(!existsSync(keysOf(source)));
  });

  it("maintenance erases an import whose process was killed, after some minutes", async () => {
    const { bytes, halted, fail } = halting();
    const imported = importInto(target, bytes).catch(() => {});
    await halted; // like a killed process
    await maintain(target.app);
    assert.ok((await countRows()) > 20);
    target.advance(300_001);
    await maintain(target.app);
    assert.equal(await countRows(), 0);
    assert.ok(!existsSync(keysOf(source)));
    fail();
    await imported;
    assert.equal(await countRows(), 0);
  });

  it("an import that stalled until it was erased does not affect the next import", async () => {
    const { appid } = source.application;
    const first = halting();
    const forgotten = importInto(target, first.bytes);
    await first.halted;
    target.advance(300_001);
    await maintain(target.app);
    assert.equal(await countRows(), 0);
    const firstEntries = archive.indexOf("tables/users/");
    const second = halting(firstEntries);
    const imported = importInto(target, second.bytes);
    await second.halted;
    first.goOn();
    await assert.rejects(forgotten, { message: `The import of ${appid} was ended by another process` });
    assert.equal(await canRegister(), false);
    second.goOn();
    await imported;
    assert.equal(await canRegister(), true);
    await remove(target);
  });

  it("a stalled import has no effect on the next one even if its clock was years ahead", async () => {
    const { bytes, halted, fail } = halting();
    const imported = importInto(target, bytes).catch(() => {});
    await halted;
    const { database } = target.app;
    const importing_until = target.now() + 10 * 365 * 86_400_000;
    await database.write(({ queries }) => {
      return queries
        .updateTable("applications")
        .set({ importing_until })
        .where("importing_until", "is not", null)
        .execute();
    });
    await maintain(target.app);
    assert.equal(await countRows(), 0);
    fail();
    await imported;
  });

  it("an import fails if an operator deletes its application while it runs", async () => {
    const { appid } = source.application;
    const { bytes, halted, goOn } = halting();
    const imported = importInto(target, bytes);
    await halted;
    await remove(target);
    goOn();
    await assert.rejects(imported, { message: `The import of ${appid} was ended by another process` });
    assert.equal(await countRows(), 0);
  });

  it("rows and objects of another application are refused", async () => {
    const { appid } = target.application;
    const theirs: { table: string; rows: readonly StoredRow[] }[] = [];
    const { head, end } = await loadArchive(Readable.from([archive]), {
      async rows({ table, rows }) {
        theirs.push({ table, rows });
      },
    });
    async function* forged(change: (row: StoredRow) => StoredRow, key: string) {
      const writer = new ArchiveWriter();
      yield* writer.entry(headName, Buffer.from(JSON.stringify(head)));
      for (const { table, rows } of theirs) {
        const changed = Readable.from(rows.map((row) => (table === "devices" ? change(row) : row)));
        for await (const { content } of writeRows(changed)) yield* writer.entry(rowsName(table, 1), content);
      }
      yield* writer.entry(fileName(key), Buffer.from("x"));
      yield* writer.entry(endName, Buffer.from(JSON.stringify({ ...end, files: 1, bytes: 1 })));
      yield* writer.end();
    }
    const key = `${appid}/blb_1/original`;
    await assert.rejects(
      importInto(
        target,
        forged((row) => ({ ...row, application_id: appid }), key),
      ),
      {
        name: "ArchiveError",
        message: "Row 1 of devices is not of this application",
      },
    );
    await assert.rejects(
      importInto(
        target,
        forged((row) => row, key),
      ),
      {
        name: "ArchiveError",
        message: `The archive holds ${key}, which belongs to none of its files`,
      },
    );
    assert.equal(await countRows(), 0);
    assert.equal(await target.app.bytes.size(key), undefined);
  });

  it("a key of no object of the application is refused, and has no effect (hostile.md 18, 27)", async () => {
    const { head } = await loadArchive(Readable.from([archive]), {});
    const { appid } = source.application;
    assert.ok(head.storedKey?.startsWith(`${appid}/`));
    async function* forged(storedKey: unknown) {
      const writer = new ArchiveWriter();
      yield* writer.entry(headName, Buffer.from(JSON.stringify({ ...head, storedKey })));
      yield* writer.end();
    }
    const other = target.application.appid;
    for (const key of [
      "",
      "x",
      1,
      `${other}/blb_1/o`,
      `${appid}/../${other}/o`,
      `${appid}/${"x".repeat(900)}`,
      "/etc",
    ]) {
      await assert.rejects(importInto(target, forged(key)), { name: "ArchiveError" }, String(key));
    }
  });

  it("invalid settings are refused, because they would stop maintenance for all applications", async () => {
    const theirs: { table: string; rows: readonly StoredRow[] }[] = [];
    const { appid } = await source.createApplication();
    const { head, end } = await loadArchive(exportFrom(source, appid), {
      async rows({ table, rows }) {
        theirs.push({ table, rows });
      },
    });
    async function* forged(settings: string) {
      const writer = new ArchiveWriter();
      yield* writer.entry(headName, Buffer.from(JSON.stringify(head)));
      for (const { table, rows } of theirs) {
        const changed = Readable.from(rows.map((row) => (table === "applications" ? { ...row, settings } : row)));
        for await (const { content } of writeRows(changed)) yield* writer.entry(rowsName(table, 1), content);
      }
      yield* writer.entry(endName, Buffer.from(JSON.stringify(end)));
      yield* writer.end();
    }
    for (const settings of ["no JSON", `{"retention":{"metricsDays":"x"}}`, `{"unknown":1}`]) {
      await assert.rejects(importInto(target, forged(settings)), { name: "ArchiveError" }, settings);
    }
    await maintain(target.app);
    await importInto(target, forged(`{"retention":{"metricsDays":3}}`));
    await maintain(target.app);
  });

  it("under another secret everything is imported except tokens; signed requests keep working, and the name can change", async () => {
    const { appid, appkey } = source.application;
    const secret = "a shared secret of signed requests";
    const sealed = sealSigningSecret(appid, secret, loadSecrets(source.config));
    await source.app.database.write(({ queries }) => updateSigningSecret(appid, sealed, queries));
    const smtpUrl = "smtps://someone:s3cret@mail.example";
    const stored = source.app.settingsSealer.seal(appid, { oidc: {}, mail: { from: "a@b.example", smtpUrl } }, null);
    await source.app.database.write(({ queries }) =>
      updateApplicationSettings(appid, stored.settings, queries, { sealed: stored.sealed }),
    );
    const other = await start("secret", false, { ROLLCALL_SECRET: "quite another secret for tests" });
    try {
      const { hasTokens } = await importInto(other, exportFrom(source), { name: "Moved" });
      assert.equal(hasTokens, false);
      const rows = await readTables(other.config.databaseUrl, ["applications", "user_tokens"], appid);
      const [application = "{}"] = rows["applications"] ?? [];
      const { name, signing_secret } = JSON.parse(application);
      assert.deepEqual([name, rows["user_tokens"]], ["Moved", []]);
      assert.equal(openSigningSecret(appid, signing_secret, loadSecrets(other.config)), secret);
      assert.ok(!application.includes("s3cret"));
      const imported = await loadGuardedSettings(appid, other.app.database.reads);
      assert.deepEqual(other.app.settingsSealer.open(appid, imported), {
        settings: { oidc: {}, mail: { from: "a@b.example", smtpUrl } },
        isLocked: false,
        isOutdated: false,
      });
      const device = await other.call("POST /devices", { body: { appid, appkey, platform: "test" } });
      assert.equal(device.status, 201);
    } finally {
      await other.close();
    }
  });

  it("a mail server that an earlier release stored in plain text is exported separately from the rows, and imported sealed", async () => {
    const { appid } = await source.createApplication();
    const settings = { oidc: {}, mail: { smtpUrl: "smtps://someone:s3cret@mail.example" } };
    await source.app.database.write(({ queries }) => updateApplicationSettings(appid, settings, queries));
    const exported = await buffer(exportFrom(source, appid));
    let rows = "";
    let smtpUrl: string | undefined;
    await loadArchive(Readable.from([exported]), {
      async smtpUrl(content) {
        smtpUrl = content;
      },
      async rows(part) {
        rows += JSON.stringify(part.rows);
      },
    });
    assert.deepEqual([smtpUrl, rows.includes("s3cret")], [settings.mail.smtpUrl, false]);
    await importInto(target, Readable.from([exported]));
    const imported = await loadGuardedSettings(appid, target.app.database.reads);
    assert.ok(!JSON.stringify(imported).includes("s3cret"));
    assert.deepEqual(target.app.settingsSealer.open(appid, imported).settings, settings);
  });

  it("an application whose mail server cannot be unsealed is exported without it", async () => {
    const { appid } = await source.createApplication();
    const sealer = createSettingsSealer(["a secret that is lost, of another server"]);
    const lost = sealer.seal(appid, { oidc: {}, mail: { smtpUrl: "smtps://someone:s3cret@mail.example" } }, null);
    await source.app.database.write(({ queries }) =>
      updateApplicationSettings(appid, lost.settings, queries, { sealed: lost.sealed }),
    );
    await importInto(target, exportFrom(source, appid));
    const imported = await loadGuardedSettings(appid, target.app.database.reads);
    assert.equal(target.app.settingsSealer.open(appid, imported).isLocked, true);
  });

  it("user tokens of another region are not valid, even under the same secret", async () => {
    const { appid, appkey } = source.application;
    const other = await start("region", false, { REGION: "eu" });
    try {
      const { hasTokens } = await importInto(other, exportFrom(source));
      assert.equal(hasTokens, false);
      const device = await other.call("POST /devices", { body: { appid, appkey, platform: "test" } });
      const body = { username: full.jane.userName, password: full.jane.password };
      const login = await other.call("POST /users/login", { token: device.body.result.accessToken, body });
      const listed = await other.call("GET /users/me/tokens", { token: login.body.result.accessToken });
      assert.equal(listed.body.result.pageResults.length, 1, listed.text);
    } finally {
      await other.close();
    }
  });

  it("an application that is exported during a move can be served after a restore", async () => {
    const { appid } = await source.createApplication();
    await source.app.database.write(({ queries }) =>
      queries.updateTable("applications").set({ moving_to: "eu" }).where("application_id", "=", appid).execute(),
    );
    const movingTo: unknown[] = [];
    await loadArchive(exportFrom(source, appid), {
      async rows({ table, rows }) {
        if (table === "applications") movingTo.push(...rows.map((row) => row["moving_to"]));
      },
    });
    assert.deepEqual(movingTo, [null]);
  });

  it("a missing or deleted application cannot be exported", async () => {
    const gone = await source.createApplication();
    await remove(source, gone.appid, false);
    for (const id of [gone.appid, source.app.ids.newId("App")]) {
      await assert.rejects(buffer(exportFrom(source, id)), new NoSuchApplication(`there is no application ${id}`));
    }
  });

  /** Deletes an application as `apps delete` does. */
  async function remove({ app }: TestApp, appid = source.application.appid, isErased = true): Promise<void> {
    await app.database.write(({ queries }) => updateApplicationDeleted(appid, app.clock.now(), queries));
    if (isErased) await deleteApplicationRows(appid, app);
  }
});

/**
 * A webhook is exported paused, without secrets, and without its position in the log, which is not exported.
 */
function asExported(row: string): string {
  const webhook = JSON.parse(row);
  assert.ok(webhook.secret !== null && webhook.headers !== null);
  return JSON.stringify({
    ...webhook,
    state: "paused",
    secret: null,
    headers: null,
    log: "",
    position: 0,
    event_id: "",
  });
}
