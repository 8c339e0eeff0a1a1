import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { type Dirent, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  openRaw,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import { startS3Server } from "../../test/s3-server.ts";
import {
  begin,
  createUpload,
  findUpload,
  metadataOf,
  offsetOf,
  pathOf,
  sendBytes,
  tusHeaders,
} from "../../test/tus.ts";
import { until } from "../../test/until.ts";
import { download, png } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { type Quotas, updateApplicationSettings } from "../tenancy/application-settings.ts";
import { finishUpload } from "./files.resumable.finish.ts";

let test: TestApp;
let jane: TestUser;
before(async () => {
  test = await startTestApp({ FILE_BYTES_MAX: "50000000" });
  jane = await test.signUp();
});
after(() => test.close());

const dayMs = 86_400_000;
const hourMs = 3_600_000;

function fileOf({ headers }: Answer): string {
  return `${headers["content-location"]}`;
}

async function assertStored(path: string, bytes: Buffer, token = jane.token, app = test): Promise<void> {
  const { body } = await app.call(`GET ${path}`, { token });
  assert.equal(body.result?.contentLength, bytes.length);
  assert.equal(body.result.contentHash, createHash("sha256").update(bytes).digest("hex"));
  const read = await download(app, `${path}/file`, { token });
  assert.ok(read.bytes.equals(bytes));
}

/** Lists the stored objects of the application in the folder. */
function objectsOf(appid = test.application.appid): string[] {
  const folder = join(test.config.dataDir, "files", appid);
  if (!existsSync(folder)) return [];
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return objectsOf(appid); // deleted after it was listed
    throw error;
  }
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length));
}

function objectsBelow(path: string): string[] {
  return objectsOf().filter((name) => name.startsWith(`/${path.split("/").at(-1)}/`));
}

/** Starts another process of the deployment. */
async function startOther(t: TestContext): Promise<TestApp> {
  const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl, FILES_URL: test.config.filesUrl });
  t.after(() => other.close());
  other.advance(test.now() - other.now());
  return other;
}

async function rowsLeft(): Promise<{ uploads: number; segments: number; loose: number }> {
  const { reads } = test.app.database;
  const [uploads, segments, loose] = await Promise.all([
    reads.selectFrom("resumable_uploads").selectAll().execute(),
    reads.selectFrom("upload_segments").selectAll().execute(),
    reads.selectFrom("loose_bytes").selectAll().execute(),
  ]);
  return { uploads: uploads.length, segments: segments.length, loose: loose.length };
}

/** Waits until this many bytes of an upload are in the folder, including those of the request in progress. */
async function untilArrived(path: string, count: number): Promise<void> {
  const { dataDir } = test.config;
  const drafts = () =>
    readdirSync(join(dataDir, "files/.incoming")).map((name) => join(dataDir, "files/.incoming", name));
  const stored = () => objectsBelow(path).map((name) => join(dataDir, "files", test.application.appid, name));
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  await until(() => [...drafts(), ...stored()].reduce((sum, file) => sum + sizeOf(file), 0) >= count);
}

/** Sends the first bytes of a longer body, then closes the connection. */
async function sendAndCut(path: string, offset: number, bytes: Buffer, cutAt: number): Promise<void> {
  const connection = openRaw(test.port);
  connection.write(
    `PATCH ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Service ${jane.token}\r\nTus-Resumable: 1.0.0\r\n` +
      `Upload-Offset: ${offset}\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: ${bytes.length - offset}\r\n\r\n`,
  );
  connection.write(bytes.subarray(offset, offset + cutAt));
  await untilArrived(path, offset + cutAt);
  connection.close();
}

describe("a resumable upload (spec/uploads#finished-uploads)", () => {
  it("has the id of its creation and its parameters once it is complete, and no other object or row remains", async () => {
    const bytes = randomBytes(100_000);
    const own = { title: "T", bitRate: "5", tag: "t", readPermissions: "app" };
    const values = { kind: "Video", filename: "../../etc/a.mp4", filetype: "Video/MP4; codecs=avc1", ...own };
    const created = await createUpload(test, jane.token, bytes.length, values);
    assert.equal(created.status, 201);
    assert.equal(created.text, "");
    const path = pathOf(created);
    const id = path.split("/").at(-1) ?? "";
    assert.equal(created.headers["location"], `${test.url}/files/uploads/${id}`);
    assert.equal(created.headers["tus-resumable"], "1.0.0");
    const expires = new Date(test.now() + dayMs).toUTCString();
    assert.equal(created.headers["upload-expires"], expires);
    assertError(
      await test.call(`GET /videos/${id}`, { token: jane.token }),
      404,
      "ItemDoesNotExist",
      769,
      "The item does not exist.",
    );

    const first = await sendBytes(test, jane.token, path, 0, bytes.subarray(0, 60_000));
    assert.deepEqual([first.status, first.text], [204, ""]);
    assert.deepEqual([first.headers["upload-offset"], first.headers["upload-expires"]], ["60000", expires]);
    const head = await findUpload(test, jane.token, path);
    const { "upload-offset": offset, "upload-length": length, "cache-control": cache } = head.headers;
    assert.deepEqual([head.status, offset, length, cache], [200, "60000", "100000", "no-store"]);
    assert.equal(head.headers["upload-metadata"], metadataOf(values));

    const last = await sendBytes(test, jane.token, path, 60_000, bytes.subarray(60_000));
    assert.deepEqual([last.status, last.headers["upload-offset"]], [204, "100000"]);
    assert.equal(last.headers["upload-expires"], undefined);
    assert.equal(fileOf(last), `/videos/${id}`);
    await assertStored(fileOf(last), bytes);
    const { result } = (await test.call(`GET /videos/${id}`, { token: jane.token })).body;
    const { contentType, title, bitRate, tag, readPermissions } = result;
    assert.deepEqual(
      { contentType, title, bitRate, tag, readPermissions },
      {
        contentType: "video/mp4",
        title: "T",
        bitRate: 5,
        tag: "t",
        readPermissions: "App",
      },
    );
    const read = await download(test, `/videos/${id}/file`, { token: jane.token });
    assert.match(`${read.headers.get("content-disposition")}`, /filename="a\.mp4"/);
    await until(() => objectsBelow(path).length === 1);
    assert.deepEqual(objectsBelow(path), [`/${id}/original`]);
    await until(async () => (await rowsLeft()).loose === 0);
    assert.deepEqual(await rowsLeft(), { uploads: 0, segments: 0, loose: 0 });
  });

  it("is reported as complete with the address of its file when the client missed its last response", async () => {
    const path = await begin(test, jane.token, 3);
    const file = fileOf(await sendBytes(test, jane.token, path, 0, "abc"));
    const head = await findUpload(test, jane.token, path);
    assert.deepEqual(
      [head.status, head.headers["upload-offset"], head.headers["upload-length"], fileOf(head)],
      [200, "3", "3", file],
    );
    const again = await sendBytes(test, jane.token, path, 3, "");
    assert.deepEqual([again.status, again.headers["upload-offset"], fileOf(again)], [204, "3", file]);
    const removal = await test.call(`DELETE ${path}`, { token: jane.token, headers: tusHeaders });
    assertError(removal, 403, "ObjectPermissionDenied", 771, "The upload is complete: delete the file instead.");
    assert.equal((await test.call(`GET ${file}`, { token: jane.token })).status, 200);
  });

  it("accepts its first bytes, or all of them, in the creation request", async () => {
    const headers = { "content-type": "application/offset+octet-stream" };
    const some = await createUpload(test, jane.token, 6, { kind: "blob" }, { headers, body: "abc" });
    assert.deepEqual([some.status, some.headers["upload-offset"]], [201, "3"]);
    const last = await sendBytes(test, jane.token, pathOf(some), 3, "def");
    await assertStored(fileOf(last), Buffer.from("abcdef"));
    const all = await createUpload(test, jane.token, 6, { kind: "blob" }, { headers, body: "abcdef" });
    assert.deepEqual([all.status, all.headers["upload-offset"]], [201, "6"]);
    await assertStored(fileOf(all), Buffer.from("abcdef"));
  });

  it("does not interrupt other creations while the first bytes of its creation request arrive", async () => {
    const other = await test.signUp();
    const connection = openRaw(test.port);
    const before = await rowsLeft();
    connection.write(
      `POST /files/uploads HTTP/1.1\r\nHost: x\r\nAuthorization: Service ${jane.token}\r\nTus-Resumable: 1.0.0\r\nUpload-Length: 6\r\n` +
        `Upload-Metadata: kind ${btoa("blob")}\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: 6\r\n\r\nabc`,
    );
    await until(async () => (await rowsLeft()).uploads === before.uploads + 1);
    const theirs = await begin(test, other.token, 3);
    connection.write("def");
    const answer = await connection.receive();
    assert.deepEqual([answer?.status, answer?.headers["upload-offset"]], [201, "6"]);
    connection.close();
    assert.equal((await sendBytes(test, other.token, theirs, 0, "abc")).status, 204);
  });

  it("resumes from the arrived bytes when it is interrupted at any byte", async () => {
    const bytes = randomBytes(40_000);
    const path = await begin(test, jane.token, bytes.length);
    let offset = 0;
    for (const cutAt of [1, 7_000, 0, 12_345, 2]) {
      await sendAndCut(path, offset, bytes, cutAt);
      const reached = await offsetOf(test, jane.token, path);
      assert.equal(reached, offset + cutAt);
      offset = reached;
    }
    const last = await sendBytes(test, jane.token, path, offset, bytes.subarray(offset));
    await assertStored(fileOf(last), bytes);
  });

  it("is completed when it is larger than a segment and interrupted several times", async () => {
    const bytes = randomBytes(20_000_000);
    const path = await begin(test, jane.token, bytes.length, { kind: "video" });
    let offset = 0;
    for (const cutAt of [8_765_432, 99, 1_234_567, 0]) {
      await sendAndCut(path, offset, bytes, cutAt);
      assert.equal(await offsetOf(test, jane.token, path), offset + cutAt);
      offset += cutAt;
    }
    const last = await sendBytes(test, jane.token, path, offset, bytes.subarray(offset));
    assert.equal(last.status, 204);
    await assertStored(fileOf(last), bytes);
  });

  it("may arrive in chunks without a length; a request with bytes beyond the length is refused, and none of its bytes count", async () => {
    const path = await begin(test, jane.token, 5);
    const head = `PATCH ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Service ${jane.token}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const connection = openRaw(test.port);
    connection.write(`${head}6\r\nabcdef\r\n0\r\n\r\n`);
    const refused = await connection.receive();
    assert.deepEqual([refused?.status, refused?.body.error], [413, "RequestTooLarge"]);
    connection.write(`${head}5\r\nabcde\r\n0\r\n\r\n`);
    assert.equal((await connection.receive())?.status, 204);
    connection.close();
    await assertStored(`/blobs/${path.split("/").at(-1)}`, Buffer.from("abcde"));
    const long = await begin(test, jane.token, 5);
    assertError(
      await sendBytes(test, jane.token, long, 0, "abcdef"),
      ...([413, "RequestTooLarge", 1281, "The upload would exceed its declared length."] as const),
    );
    assert.equal(await offsetOf(test, jane.token, long), 0);
  });

  it("works in an S3 store", { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-tus-"));
    const s3 = await startS3Server(folder);
    const { awsAccessKeyId, awsSecretAccessKey } = s3.keys;
    const keys = { AWS_ACCESS_KEY_ID: awsAccessKeyId, AWS_SECRET_ACCESS_KEY: awsSecretAccessKey };
    const app = await startTestApp({ FILES_URL: s3.url, ...keys });
    try {
      const { token } = await app.signUp();
      const bytes = randomBytes(12_000_000);
      const path = await begin(app, token, bytes.length);
      assert.equal((await sendBytes(app, token, path, 0, bytes.subarray(0, 9_000_000))).status, 204);
      const last = await sendBytes(app, token, path, 9_000_000, bytes.subarray(9_000_000));
      await assertStored(fileOf(last), bytes, token, app);
    } finally {
      await app.close();
      await s3.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

// spec/uploads#interrupted-uploads
describe("an upload that cannot become a file", () => {
  it("is refused with FileUploadFailed at the last byte of an invalid picture, and its bytes are deleted", async () => {
    const path = await begin(test, jane.token, 50, { kind: "picture", title: "t" });
    const answer = await sendBytes(test, jane.token, path, 0, "x".repeat(50));
    assertError(answer, 400, "FileUploadFailed", 1025, "A picture must be a JPEG, PNG, GIF, WebP, AVIF or HEIC.");
    assert.equal((await findUpload(test, jane.token, path)).status, 404);
    await until(() => objectsBelow(path).length === 0);
    const bytes = await png(20, 10);
    const good = await begin(test, jane.token, bytes.length, { kind: "picture", filetype: "text/html" });
    const last = await sendBytes(test, jane.token, good, 0, bytes);
    const { result } = (await test.call(`GET ${fileOf(last)}`, { token: jane.token })).body;
    assert.deepEqual([result.contentType, result.size], ["image/png", { w: 20, h: 10 }]);
  });

  it("is deleted with 204 when a client terminates it: its bytes immediately, its orphaned row an hour later", async () => {
    const path = await begin(test, jane.token, 10);
    await sendBytes(test, jane.token, path, 0, "abc");
    assert.equal(objectsBelow(path).length, 1);
    const ended = await test.call(`DELETE ${path}`, { token: jane.token, headers: tusHeaders });
    assert.deepEqual([ended.status, ended.text], [204, ""]);
    assertError(
      await sendBytes(test, jane.token, path, 3, "def"),
      ...([404, "ItemDoesNotExist", 769, "The item does not exist."] as const),
    );
    await until(() => objectsBelow(path).length === 0);
    await maintain(test.app);
    test.advance(hourMs + 1);
    await maintain(test.app);
    assert.equal((await rowsLeft()).loose, (await rowsLeft()).uploads);
  });

  it("expires after UPLOAD_LIFETIME_MS even while bytes arrive; no bytes, row or charge remain", async () => {
    const path = await begin(test, jane.token, 10);
    await sendBytes(test, jane.token, path, 0, "abc");
    test.advance(dayMs - 1);
    await maintain(test.app);
    assert.equal(await offsetOf(test, jane.token, path), 3);
    test.advance(1);
    assert.equal((await findUpload(test, jane.token, path)).status, 404);
    assert.equal((await sendBytes(test, jane.token, path, 3, "def")).status, 404);
    await maintain(test.app);
    assert.deepEqual(objectsBelow(path), []);
    test.advance(hourMs);
    await maintain(test.app);
    assert.deepEqual(await rowsLeft(), { uploads: 0, segments: 0, loose: 0 });
  });

  it("is deleted immediately when its creation request is interrupted, because the client never received its URL", async () => {
    const before = await rowsLeft();
    const connection = openRaw(test.port);
    connection.write(
      `POST /files/uploads HTTP/1.1\r\nHost: x\r\nAuthorization: Service ${jane.token}\r\nTus-Resumable: 1.0.0\r\nUpload-Length: 100\r\n` +
        `Upload-Metadata: kind ${btoa("blob")}\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: 100\r\n\r\nabc`,
    );
    await until(async () => (await rowsLeft()).uploads === before.uploads + 1);
    connection.close();
    await until(async () => (await rowsLeft()).uploads === before.uploads);
  });
});

describe("the completion of an interrupted upload", () => {
  it("after more than its lease: the file that another process has created stays, and both report it", async (t) => {
    const path = await begin(test, jane.token, 3);
    const { bytes } = test.app;
    const { write } = bytes;
    const restore = () => Object.assign(bytes, { write });
    t.after(restore);
    bytes.write = async (key, ...others) => {
      if (!key.endsWith("/original")) return write(key, ...others);
      restore();
      test.advance(6_001);
      await maintain(test.app);
      await write(key, ...others);
    };
    const last = await sendBytes(test, jane.token, path, 0, "abc");
    assert.deepEqual([last.status, fileOf(last)], [204, `/blobs/${path.split("/").at(-1)}`]);
    await until(() => objectsBelow(path).length <= 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await assertStored(fileOf(last), Buffer.from("abc"));
  });

  // spec/uploads#finished-uploads
  it("by a database that does not respond: the client is answered with 503 when the lease expires, and the work continues", async (t) => {
    const path = await leaveComplete(Buffer.from("abc"));
    const id = path.split("/").at(-1) ?? "";
    const { database } = test.app;
    const upload = await database.reads
      .selectFrom("resumable_uploads")
      .selectAll()
      .where("application_id", "=", test.application.appid)
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    const answering = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const write: typeof database.write = async (...work) => {
      asked.resolve();
      await answering.promise;
      return database.write(...work);
    };
    t.mock.timers.enable({ apis: ["setInterval"] });
    const finishing = finishUpload(upload, { ...test.app, database: { ...database, write } });
    const refused = assert.rejects(finishing, { condition: "ServiceUnavailable" });
    await asked.promise;
    t.mock.timers.tick(6_000);
    await refused;
    t.mock.timers.reset();
    answering.resolve();
    await until(async () => (await findUpload(test, jane.token, path)).headers["content-location"] !== undefined);
    await assertStored(`/blobs/${id}`, Buffer.from("abc"));
  });

  it("by a sender that does not finish its body: the file is created from the declared length", async () => {
    const bytes = randomBytes(8_388_608); // a full segment
    const path = await begin(test, jane.token, bytes.length);
    const connection = openRaw(test.port);
    connection.write(
      `PATCH ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Service ${jane.token}\r\nTus-Resumable: 1.0.0\r\n` +
        "Upload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n800000\r\n",
    );
    connection.write(bytes);
    connection.write("\r\n");
    assert.equal((await connection.receive())?.status, 204);
    connection.close();
    await assertStored(`/blobs/${path.split("/").at(-1)}`, bytes);
  });

  /** Simulates a process that is killed after the last byte of an upload. */
  async function leaveComplete(bytes: Buffer, values = { kind: "blob" }): Promise<string> {
    const path = await begin(test, jane.token, bytes.length + 1, values);
    await sendBytes(test, jane.token, path, 0, bytes);
    await test.app.database.write(({ queries }) =>
      queries
        .updateTable("resumable_uploads")
        .set({ length: bytes.length, finishing_until: test.now() + 1_000 })
        .where("id", "=", path.split("/").at(-1) ?? "")
        .execute(),
    );
    return path;
  }

  it("by a crash: the client is answered with 503 while the process may be alive; then HEAD, PATCH or maintenance completes it", async () => {
    const bytes = randomBytes(1_000);
    const finishers: ((path: string) => Promise<unknown>)[] = [
      (path) => findUpload(test, jane.token, path),
      (path) => sendBytes(test, jane.token, path, 1_000, ""),
      () => maintain(test.app),
    ];
    for (const finish of finishers) {
      const path = await leaveComplete(bytes);
      assert.equal((await findUpload(test, jane.token, path)).status, 503);
      assert.equal((await test.call(`DELETE ${path}`, { token: jane.token, headers: tusHeaders })).status, 503);
      test.advance(1_001);
      await finish(path);
      await assertStored(`/blobs/${path.split("/").at(-1)}`, bytes);
      assert.equal((await findUpload(test, jane.token, path)).headers["upload-offset"], "1000");
    }
  });

  it("by concurrent attempts: they create one file", async (t) => {
    const other = await startOther(t);
    const bytes = randomBytes(1_000);
    const path = await leaveComplete(bytes);
    test.advance(1_001);
    const answers = await Promise.all([test, other, test, other].map((app) => findUpload(app, jane.token, path)));
    for (const { status } of answers) assert.ok([200, 503].includes(status), `${status}`);
    assert.ok(answers.some(({ status }) => status === 200));
    await assertStored(`/blobs/${path.split("/").at(-1)}`, bytes);
  });
});

// spec/uploads#interrupted-uploads
describe("bytes for an offset other than the upload's", () => {
  it("are refused with 409, and change nothing", async () => {
    const path = await begin(test, jane.token, 10);
    await sendBytes(test, jane.token, path, 0, "abc");
    for (const offset of [0, 2, 4, 10, 11]) {
      const answer = await sendBytes(test, jane.token, path, offset, "xyz");
      const message = "Upload-Offset does not match the upload. Read its offset with HEAD.";
      assertError(answer, 409, "ParameterOutOfRange", 514, message);
    }
    assert.equal(await offsetOf(test, jane.token, path), 3);
  });

  it("count from only one of two concurrent requests, in one process or in two, and become the file's bytes", async (t) => {
    const other = await startOther(t);
    for (const second of [test, other, other, test]) {
      const path = await begin(test, jane.token, 200_000);
      const bodies = [Buffer.alloc(200_000, "a"), Buffer.alloc(200_000, "b")];
      const answers = await Promise.all(
        [test, second].map((app, index) => sendBytes(app, jane.token, path, 0, bodies[index] ?? "")),
      );
      const reached = await offsetOf(test, jane.token, path);
      const winner = answers.findIndex(
        ({ status, headers }) => status === 204 && headers["upload-offset"] === `${reached}`,
      );
      assert.notEqual(winner, -1, answers.map(({ status, text }) => `${status} ${text}`).join());
      // 204 with offset 0 if it was stopped before its first byte, 503 while the winner completes the upload.
      const loser = answers[1 - winner];
      const isStopped = loser?.status === 204 && loser.headers["upload-offset"] === "0";
      const isTold = loser?.status === 409 || loser?.status === 503 || isStopped;
      assert.ok(isTold, `${loser?.status} ${JSON.stringify(loser?.headers)} ${loser?.text}, ${reached} of the other`);
      const bytes = bodies[winner] ?? Buffer.of();
      if (reached < bytes.length) await sendBytes(test, jane.token, path, reached, bytes.subarray(reached));
      await assertStored(`/blobs/${path.split("/").at(-1)}`, bytes);
      await until(() => objectsBelow(path).length === 1);
    }
  });

  it("are answered with the new offset, even when the upload is already a file", async (t) => {
    const other = await startOther(t);
    const path = await begin(test, jane.token, 3);
    const { database } = test.app;
    const { write } = database;
    const restore = () => Object.assign(database, { write });
    t.after(restore);
    database.write = async (...given) => {
      if (objectsBelow(path).length === 0) return write(...given); // other writes are not delayed
      restore();
      assert.equal((await sendBytes(other, jane.token, path, 0, "abc")).status, 204);
      return write(...given);
    };
    const message = "Upload-Offset does not match the upload. Read its offset with HEAD.";
    assertError(await sendBytes(test, jane.token, path, 0, "xyz"), 409, "ParameterOutOfRange", 514, message);
    await assertStored(`/blobs/${path.split("/").at(-1)}`, Buffer.from("abc"));
  });

  it("count, and do not block the next request of the upload when their connection is dead", async () => {
    const path = await begin(test, jane.token, 10);
    const dead = openRaw(test.port);
    dead.write(
      `PATCH ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Service ${jane.token}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: 10\r\n\r\nabc`,
    );
    await untilArrived(path, 3);
    assert.equal(await offsetOf(test, jane.token, path), 3);
    const last = await sendBytes(test, jane.token, path, 3, "defghij");
    await assertStored(fileOf(last), Buffer.from("abcdefghij"));
    dead.close();
  });
});

// spec/uploads#unfinished-upload-limits
describe("quotas and limits of uploads", () => {
  async function withQuotas(quotas: Partial<Quotas>): Promise<{ appid: string; token: string; id: string }> {
    const application = await test.createApplication();
    const { appid } = application;
    await test.app.database.write(({ queries }) => updateApplicationSettings(appid, { oidc: {}, quotas }, queries));
    return { appid, ...(await test.signUp("user", application)) };
  }
  async function usageOf(appid: string, userId: string): Promise<unknown> {
    const { reads } = test.app.database;
    const rows = await reads.selectFrom("file_usage").selectAll().where("application_id", "=", appid).execute();
    return rows.filter(({ user_id }) => user_id === userId).map(({ bytes, files }) => [bytes, files])[0];
  }

  it("charge the complete length once at creation, and release it with the upload", async () => {
    const { appid, token, id } = await withQuotas({ bytesPerUser: 100 });
    const path = await begin(test, token, 60);
    assert.deepEqual(await usageOf(appid, id), [60, 1]);
    const message = "The files of this user would be larger than 100 bytes together (bytesPerUser).";
    assertError(await createUpload(test, token, 41), 413, "RequestTooLarge", 1281, message);
    await sendBytes(test, token, path, 0, "x".repeat(60));
    assert.deepEqual(await usageOf(appid, id), [60, 1]);
    const second = await begin(test, token, 40);
    assert.deepEqual(await usageOf(appid, id), [100, 2]);
    await test.call(`DELETE ${second}`, { token, headers: tusHeaders });
    assert.deepEqual(await usageOf(appid, id), [60, 1]);
    await begin(test, token, 40);
    test.advance(dayMs + 1);
    await maintain(test.app);
    assert.deepEqual(await usageOf(appid, id), [60, 1]);
  });

  it("treat FILE_BYTES_MAX and empty files as in form uploads", async () => {
    const message = "The file is larger than 50000000 bytes.";
    assertError(await createUpload(test, jane.token, 50_000_001), 413, "RequestTooLarge", 1281, message);
    assertError(await createUpload(test, jane.token, 0), 400, "FileUploadFailed", 1025, "The file is empty.");
  });

  it("allow a user at most 100 unfinished uploads, even with many concurrent creations", async () => {
    const { token } = await test.signUp();
    const answers = await Promise.all(Array.from({ length: 120 }, () => createUpload(test, token, 1)));
    const taken = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 413);
    assert.deepEqual([taken.length, refused.length], [100, 20]);
    assertError(
      await createUpload(test, token, 1),
      ...([413, "RequestTooLarge", 1281, "The user has 100 unfinished uploads."] as const),
    );
    const [first] = taken;
    assert.ok(first);
    await sendBytes(test, token, pathOf(first), 0, "x");
    assert.equal((await createUpload(test, token, 1)).status, 201);
  });

  it("do not fail a creation whose file is deleted before the response", async (t) => {
    const { database } = test.app;
    const { write } = database;
    const restore = () => Object.assign(database, { write });
    t.after(restore);
    const user = await test.signUp();
    const listed = async () => (await test.call("GET /blobs", { token: user.token })).body.result.pageResults;
    let deletion: Promise<Answer> | undefined;
    database.write = async (...given) => {
      const written = await write(...given);
      const [file] = await listed(); // the first request that finds it deletes it, and all wait for that
      if (file !== undefined) restore();
      if (file !== undefined) deletion ??= test.call(`DELETE /blobs/${file.id}`, { token: user.token });
      await deletion;
      return written;
    };
    const headers = { "content-type": "application/offset+octet-stream" };
    const answer = await createUpload(test, user.token, 3, { kind: "blob" }, { headers, body: "abc" });
    assert.deepEqual([answer.status, answer.headers["upload-offset"]], [201, "3"]);
    assert.ok(deletion);
    assertResult(await deletion, 200, true);
    assert.deepEqual(await listed(), []);
  });

  it("delete every upload with its user", async () => {
    const user = await test.signUp();
    const path = await begin(test, user.token, 10);
    await sendBytes(test, user.token, path, 0, "abc");
    assertResult(await test.call("DELETE /users/me", { token: user.token }), 200, true);
    await maintain(test.app);
    test.advance(hourMs + 1);
    await maintain(test.app);
    assert.deepEqual(objectsBelow(path), []);
    const { reads } = test.app.database;
    const keys = await reads.selectFrom("loose_bytes").select("key").execute();
    assert.deepEqual(
      keys.filter(({ key }) => key.includes(path.split("/").at(-1) ?? "-")),
      [],
    );
  });
});
