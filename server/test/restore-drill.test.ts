import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { copyTestDatabase, createTestDatabase, type TestDatabase } from "./databases.ts";
import { createTestApplication } from "./deployments.ts";
import { readTables } from "./full-application.ts";
import { type Answer, send } from "./harness.ts";
import { killRunningServers, runProgram, startProgram } from "./running-server.ts";
import { dataPart, formHeaders, formOf } from "./uploads.ts";

/** The drill of docs/run/backup.md with real processes: a deployment under load, its backup, and its restore. */

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
const databases: TestDatabase[] = [];
after(async () => {
  killRunningServers();
  for (const { drop } of databases) await drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Settings extends Readonly<Record<string, string>> {
  readonly DATA_DIR: string;
  readonly DATABASE_URL: string;
}

async function newDeployment(name: string, create = copyTestDatabase): Promise<Settings> {
  const DATA_DIR = join(folder, name);
  const database = await create(DATA_DIR);
  databases.push(database);
  return {
    DATA_DIR,
    DATABASE_URL: database.url,
    ROLLCALL_SECRET: "a secret for the drill of restoring",
    RATE_LIMITS: "off",
  };
}

async function rollcall(settings: Settings, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram("src/cli/cli.ts", args, settings);
  assert.deepEqual([code, stderr], [0, ""], args.join(" "));
  return stdout;
}

/** The answered writes of a client. */
interface Written {
  readonly checkins: Map<string, string>;
  readonly blobs: Map<string, string>;
  readonly deleted: Set<string>;
}

/** Starts users who write, upload and delete continuously until they are stopped, and record the responses. */
async function startWriters(port: number, application: object) {
  const written: Written = { checkins: new Map(), blobs: new Map(), deleted: new Set() };
  let isStopped = false;
  const register = await send(port, "POST", "/devices", { body: { ...application, platform: "test" } });
  const token: string = register.body.result.accessToken;
  const tokens: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    const body = { username: `user ${n}`, password: "password" };
    tokens.push((await send(port, "POST", "/users", { token, body })).body.result.accessToken);
  }
  const writing = tokens.map(async (user) => {
    for (let n = 0; !isStopped; n += 1) {
      const comment = `number ${n}`;
      const checkin = await send(port, "POST", "/checkins", { token: user, body: { location: "1,2", comment } });
      assert.equal(checkin.status, 201);
      written.checkins.set(checkin.body.result.id, comment);
      const bytes = randomBytes(1_000 + (n % 20) * 10_000);
      const upload = { token: user, body: formOf([dataPart(bytes)]), headers: formHeaders };
      const blob = await send(port, "POST", "/blobs", upload);
      assert.equal(blob.status, 201);
      const { id } = blob.body.result;
      if (n % 3 !== 0) {
        written.blobs.set(id, createHash("sha256").update(bytes).digest("hex"));
        continue;
      }
      assert.equal((await send(port, "DELETE", `/blobs/${id}`, { token: user })).status, 200);
      written.deleted.add(id);
    }
  });
  return {
    written,
    tokens,
    async until(checkins: number) {
      while (written.checkins.size < checkins) await Promise.race([sleep(5), ...writing]);
    },
    async stop() {
      isStopped = true;
      await Promise.all(writing);
    },
  };
}

function copyOf({ checkins, blobs, deleted }: Written): Written {
  return { checkins: new Map(checkins), blobs: new Map(blobs), deleted: new Set(deleted) };
}

interface Listed {
  readonly id: string;
  readonly comment?: string;
  readonly contentHash?: string;
}

/** Lists all objects of a user, page by page. */
async function list(port: number, path: string, token: string): Promise<Listed[]> {
  const found: Listed[] = [];
  for (let query: string | undefined = "pageSize=1000"; query !== undefined; ) {
    const { status, body }: Answer = await send(port, "GET", `${path}?${query}`, { token });
    assert.equal(status, 200);
    found.push(...body.result.pageResults);
    const next: string | undefined = body.result.nextToken;
    query = next === undefined ? undefined : `pagingToken=${encodeURIComponent(next)}`;
  }
  return found;
}

async function contentHash(port: number, id: string, token: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/blobs/${id}/file`, {
    headers: { authorization: `Service ${token}` },
  });
  assert.equal(answer.status, 200);
  return createHash("sha256")
    .update(Buffer.from(await answer.arrayBuffer()))
    .digest("hex");
}

/** Several programs are started in sequence while a server is under load. */
const drillMsMax = 600_000;

// spec/deployment#consistent-backups
describe("a restore drill", { timeout: drillMsMax }, () => {
  it("a backup under load restores everything that was answered before it, and nothing incomplete", {
    timeout: drillMsMax,
  }, async () => {
    const settings = await newDeployment("source");
    const application = await createTestApplication(settings);
    const server = await startProgram(settings);
    const { written, tokens, until, stop } = await startWriters(server.port, application);
    await until(30);

    const file = join(folder, "backup.tar");
    const before = copyOf(written);
    await rollcall(settings, "backup", file, "--fast"); // otherwise it hardly progresses while other tests run
    await until(written.checkins.size + 10);
    await stop();
    await server.end("SIGKILL"); // simulates the loss of the machine
    const stopped = copyOf(written);
    assert.ok(stopped.checkins.size > before.checkins.size);

    const fresh = await newDeployment("restored", createTestDatabase);
    await rollcall(fresh, "restore", file, "--keep-tokens");
    const restored = await startProgram(fresh);

    const checkins = new Map<string, string | undefined>();
    const blobs = new Map<string, string>();
    for (const token of tokens) {
      assert.equal((await send(restored.port, "GET", "/users/me", { token })).status, 200);
      for (const { id, comment } of await list(restored.port, "/checkins", token)) checkins.set(id, comment);
      for (const { id, contentHash: expected } of await list(restored.port, "/blobs", token)) {
        const found = await contentHash(restored.port, id, token);
        assert.equal(found, expected, "the bytes are those that were uploaded");
        blobs.set(id, found);
      }
    }
    for (const [id, comment] of before.checkins)
      assert.equal(checkins.get(id), comment, "an answered check-in is lost");
    for (const [id, hash] of before.blobs) assert.equal(blobs.get(id), hash, "an answered upload is lost");
    for (const id of before.deleted) assert.ok(!blobs.has(id), "a deleted file is back");
    for (const [id, comment] of checkins)
      assert.equal(stopped.checkins.get(id), comment, "the check-in was never written");
    for (const [id, hash] of blobs) {
      if (!stopped.deleted.has(id)) assert.equal(stopped.blobs.get(id), hash, "the file was never uploaded");
    }

    // The usage counters match the data in the database and on the disk.
    const { file_usage: usage = [] } = await readTables(fresh.DATABASE_URL, ["file_usage"]);
    const all = usage.map((row) => JSON.parse(row)).find(({ user_id }) => user_id === "");
    assert.equal(all.files, blobs.size);
    const token = tokens[0] ?? "";
    const checkin = await send(restored.port, "POST", "/checkins", { token, body: { location: "1,2" } });
    assert.equal(checkin.status, 201, "writes succeed");
    assert.equal(await restored.end("SIGTERM"), 0);
    const kept = readdirSync(join(fresh.DATA_DIR, "files", application.appid));
    for (const id of blobs.keys()) assert.ok(kept.includes(id));
    assert.ok(!existsSync(`${file}.partial`));
  });
});
