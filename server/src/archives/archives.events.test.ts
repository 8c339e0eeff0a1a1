import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { createTestDatabase, type TestDatabase } from "../../test/databases.ts";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { loadConfig } from "../config/config.ts";
import { loadSecrets } from "../config/server-secret.ts";
import { createClock } from "../lib/clock.ts";
import { readArchiveFile, writeArchiveFile } from "./archive-file.ts";
import { backUp } from "./backup.ts";
import { restore } from "./restore.ts";

let folder: string;
const databases: TestDatabase[] = [];
before(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
});
after(async () => {
  for (const database of databases) await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Backs up a deployment, and restores it into an empty one on the tested engine or SQLite. @returns its settings */
async function copy(source: TestApp, isEmbedded: boolean) {
  const path = join(folder, `${databases.length}.tar`);
  const dataDir = join(folder, `${databases.length}`);
  await writeArchiveFile(path, backUp(source.config, { ...source.app, secrets: loadSecrets(source.config) }));
  const database = await createTestDatabase(dataDir);
  databases.push(database);
  const DATABASE_URL = isEmbedded ? pathToFileURL(join(dataDir, "embedded.db")).href : database.url;
  const settings = { DATA_DIR: dataDir, DATABASE_URL, ROLLCALL_SECRET: source.config.secrets?.join() ?? "" };
  const options = { isForced: false, isOtherSecret: false, isKeepingTokens: true, clock: createClock() };
  await restore(() => readArchiveFile(path), loadConfig(settings), options);
  return settings;
}

describe("a backup of the event log: spec/events#retention", () => {
  for (const [where, isEmbedded] of Object.entries({ "a database like it": false, "an embedded one": true })) {
    it(`is restored under another name into ${where}, which continues from there`, async () => {
      const source = await startTestApp();
      try {
        const { appid } = source.application;
        const { token } = await source.signUp();
        const operator = await source.createOperator();
        const root = `/_/api/applications/${appid}`;
        const hook = { url: "https://1.1.1.1/hook", types: ["*"] };
        const made = await source.call(`POST ${root}/webhooks`, { token: operator.token, body: hook });
        assert.equal(made.status, 201);
        const { currentToken } = (await source.call("GET /events", { token })).body.result;
        const checkIn = (app: TestApp) => app.call("POST /checkins", { token, body: { location: "1,2" } });
        const ids: string[] = [];
        // On PostgreSQL these events have no position yet.
        for (let n = 0; n < 3; n += 1) ids.push((await checkIn(source)).body.result.id);
        const restored = await startTestApp(await copy(source, isEmbedded));
        try {
          const again = await restored.call(`GET /events?after=${currentToken}`, { token });
          assert.equal(again.body.result.isReset, true);
          const listing = `GET ${root}/events?type=checkin.*`;
          const listed = (await restored.call(listing, { token: operator.token })).body.result.pageResults;
          assert.deepEqual(
            listed.map(({ objectID }: { objectID: string }) => objectID),
            ids.toReversed(),
          );
          const { id } = (await checkIn(restored)).body.result;
          const next = await restored.call(`GET /events?after=${again.body.result.currentToken}`, { token });
          assert.deepEqual([next.body.result.pageResults[0].objectID, next.body.result.isReset], [id, undefined]);
          const { reads } = restored.app.database;
          const logs = await reads
            .selectFrom("event_logs")
            .select("name")
            .where("application_id", "=", appid)
            .execute();
          const webhooks = await reads
            .selectFrom("webhooks")
            .select("log")
            .where("application_id", "=", appid)
            .execute();
          assert.deepEqual(
            webhooks.map(({ log }) => log),
            logs.map(({ name }) => name),
          );
        } finally {
          await restored.close();
        }
      } finally {
        await source.close();
      }
    });
  }
});
