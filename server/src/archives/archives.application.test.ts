import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/databases.ts";
import { type FullApplication, fillApplication, readTables } from "../../test/full-application.ts";
import { sqliteUrl, startTestApp, type TestApp } from "../../test/harness.ts";
import { download } from "../../test/uploads.ts";
import { loadSecrets } from "../server-secret.ts";
import { exportApplication } from "./export-application.ts";
import { type ImportOptions, importApplication } from "./import-application.ts";
import { exportedTables } from "./tables.ts";

function servicesOf({ app, config }: TestApp) {
  const { database, bytes, clock } = app;
  const { databaseUrl, region } = config;
  return { database, bytes, clock, databaseUrl, region, secrets: loadSecrets(config) };
}

function exportFrom(test: TestApp, applicationId = test.application.appid): Readable {
  return exportApplication(applicationId, servicesOf(test));
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

/** A deployment on the database that is tested, or on the embedded one. */
async function start(name: string, isEmbedded: boolean, settings: Record<string, string> = {}): Promise<TestApp> {
  const database = isEmbedded ? undefined : await createTestDatabase(join(folder, name));
  if (database !== undefined) given.push(database);
  return startTestApp({ DATABASE_URL: database?.url ?? sqliteUrl(join(folder, `${name}-embedded`)), ...settings });
}

for (const [direction, fromEmbedded] of Object.entries({ "to the embedded database": false, "from it": true })) {
  describe(`an exported application, ${direction}`, () => {
    let source: TestApp;
    let target: TestApp;
    let full: FullApplication;
    let archive: Buffer;
    before(async () => {
      source = await start(`source-${fromEmbedded}`, fromEmbedded);
      target = await start(`target-${fromEmbedded}`, !fromEmbedded);
      full = await fillApplication(source);
      archive = await buffer(exportFrom(source));
    });
    after(async () => {
      await source.close();
      await target.close();
    });

    it("is the same in the other deployment: rows, bytes, tokens", async () => {
      const { appid } = source.application;
      const { jane, john, checkinId, blobId, blob } = full;
      const neighbour = await readTables(target.config.databaseUrl, exportedTables, target.application.appid);
      const { applicationId, hasTokens } = await importInto(target, Readable.from([archive]));
      assert.deepEqual([applicationId, hasTokens], [appid, true]);

      const expected = await readTables(source.config.databaseUrl, exportedTables, appid);
      const usage = (bytes: number, files: number, user_id: string) =>
        JSON.stringify({ application_id: appid, bytes, files, user_id });
      const pictureBytes = full.picture.length;
      expected["file_usage"] = [
        usage(blob.length + pictureBytes + 1, 3, ""), // the upload that is not finished stays behind
        usage(blob.length, 1, jane.id),
        usage(pictureBytes + 1, 2, john.id),
      ].sort();
      assert.deepEqual(await readTables(target.config.databaseUrl, exportedTables, appid), expected);
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

    it("is refused where it is already, and nothing of that changes", async () => {
      const { appid } = source.application;
      const there = await readTables(source.config.databaseUrl);
      await assert.rejects(importInto(source, Readable.from([archive])), {
        name: "ApplicationExists",
        message: `there is an application ${appid} already`,
      });
      assert.deepEqual(await readTables(source.config.databaseUrl), there);
    });
  });
}
