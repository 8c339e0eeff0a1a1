import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { maintain } from "../src/app/maintenance.ts";
import { send, startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { killRunningServers, startProgram } from "./running-server.ts";
import { dataPart, download, formHeaders, formOf } from "./uploads.ts";

/**
 * hostile.md 31 for files: a server is killed during uploads, and another process of the same deployment verifies the
 * result.
 */

let test: TestApp;
let owner: TestUser;
before(async () => {
  test = await startTestApp();
  owner = await test.signUp();
});
after(async () => {
  killRunningServers();
  await test.close();
});

/** Lists the ids of the files whose bytes are in the folder. */
function idsInFolder(): string[] {
  return readdirSync(join(test.config.dataDir, "files", test.application.appid)).sort();
}

async function listBlobs(): Promise<Map<string, string>> {
  const { body } = await test.call("GET /blobs?pageSize=1000", { token: owner.token });
  const listed: { id: string; contentHash: string }[] = body.result.pageResults;
  return new Map(listed.map(({ id, contentHash }) => [id, contentHash]));
}

describe("kill -9 while files are uploaded and deleted", () => {
  it("every answered upload is complete, every answered deletion is done, and no orphaned object remains", async () => {
    const { databaseUrl, dataDir, secrets = [] } = test.config;
    const settings = { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, ROLLCALL_SECRET: secrets.join() };
    const stored = new Map<string, string>();
    const deleted = new Set<string>();
    for (let kills = 0; kills < 3; kills += 1) {
      const { port, end } = await startProgram(settings);
      const goal = stored.size + deleted.size + 12;
      const clients = Array.from({ length: 6 }, async () => {
        for (let n = 1; ; n += 1) {
          const bytes = randomBytes(20_000 + n * 50_000);
          const body = formOf([dataPart(bytes)]);
          const options = { token: owner.token, body, headers: formHeaders };
          const answer = await send(port, "POST", "/blobs", options).catch(() => undefined);
          if (answer === undefined) return;
          assert.equal(answer.status, 201);
          const { id } = answer.body.result;
          if (n % 2 === 1) {
            stored.set(id, createHash("sha256").update(bytes).digest("hex"));
            continue;
          }
          const deletion = send(port, "DELETE", `/blobs/${id}`, { token: owner.token });
          if ((await deletion.catch(() => undefined))?.status === 200) deleted.add(id);
        }
      });
      while (stored.size + deleted.size < goal) await sleep(5);
      await end("SIGKILL");
      await Promise.all(clients);
    }

    assert.ok(stored.size > 0 && deleted.size > 0);
    const listed = await listBlobs();
    for (const [id, hash] of stored) assert.equal(listed.get(id), hash, "an answered upload is lost");
    for (const id of deleted) assert.ok(!listed.has(id), "an answered deletion is not done");
    for (const [id, hash] of listed) {
      const { status, bytes } = await download(test, `/blobs/${id}/file`, { token: owner.token });
      assert.equal(status, 200);
      assert.equal(createHash("sha256").update(bytes).digest("hex"), hash, "an incomplete upload is listed");
    }

    test.advance(Date.now() - test.now() + 3_600_001); // the server used the real clock
    await maintain(test.app);
    await test.app.bytes.cleanUp(-1_000);
    assert.deepEqual(idsInFolder(), [...listed.keys()].sort());
    assert.deepEqual(readdirSync(join(dataDir, "files", ".incoming")), []);
    assert.equal((await test.app.database.reads.selectFrom("loose_bytes").select("key").execute()).length, 0);
    assert.deepEqual(await listBlobs(), listed);
  });
});
