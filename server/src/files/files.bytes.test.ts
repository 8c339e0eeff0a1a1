import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertResult, openRaw, startTestApp, type TestApp } from "../../test/harness.ts";
import { begin, sendBytes } from "../../test/tus.ts";
import { until } from "../../test/until.ts";
import { dataPart, download, formHeaders, formOf, png, postForm, upload } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { deleteApplicationRows, updateApplicationDeleted } from "../applications/applications.store.ts";
import { putOrphans } from "../storage/orphaned-objects.ts";

/** hostile.md 26 and 31: rows and stored bytes stay consistent. */

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

/** Lists the stored objects of the application in the folder. */
function objectsOf(appid = test.application.appid): string[] {
  const folder = join(test.config.dataDir, "files", appid);
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length));
}

async function orphanedKeys(): Promise<string[]> {
  return (await test.app.database.reads.selectFrom("loose_bytes").select("key").execute()).map(({ key }) => key);
}

describe("stored bytes and their rows", () => {
  it("an upload interrupted at any byte leaves no object, no row and no orphaned object", async () => {
    const { token } = await test.signUp();
    const form = formOf([
      { name: "tag", value: "t" },
      dataPart("the bytes of a file", "text/plain"),
      { name: "x", value: "y" },
    ]);
    const head = `POST /blobs HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${token}\r\nContent-Type: ${formHeaders["content-type"]}\r\nContent-Length: ${form.length}\r\n\r\n`;
    await Promise.all(
      Array.from(form.keys(), async (length) => {
        const connection = openRaw(test.port);
        connection.write(Buffer.concat([Buffer.from(head), form.subarray(0, length)]));
        await new Promise((resolve) => setTimeout(resolve, length % 40));
        connection.close();
      }),
    );
    await until(async () => objectsOf().length === 0 && (await orphanedKeys()).length === 0);
    test.advance(3_600_001);
    await maintain(test.app);
    assert.deepEqual((await test.call("GET /blobs", { token })).body.result.pageResults, []);
    // The server may notice the disconnected client of a request only now.
    await until(async () => objectsOf().length === 0 && (await orphanedKeys()).length === 0);
  });

  it("an upload of a killed process is deleted after an hour, not earlier", async () => {
    const key = `${test.application.appid}/blb_killed/`;
    await test.app.bytes.write(`${key}original`, [Buffer.from("x")] as unknown as AsyncIterable<Uint8Array>);
    const { appid } = test.application;
    await test.app.database.write(({ queries }) => putOrphans(appid, key, test.now(), queries));
    test.advance(3_599_000);
    await maintain(test.app);
    assert.deepEqual(objectsOf(), ["/blb_killed/original"]);
    test.advance(1_001);
    await maintain(test.app);
    assert.deepEqual([objectsOf(), await orphanedKeys()], [[], []]);
  });

  it("deleting a file erases its bytes and its scaled variants", async () => {
    const { token } = await test.signUp();
    const picture = await upload(test, token, "/pictures", dataPart(await png(100, 100)));
    await download(test, `/pictures/${picture.id}/file?size=10`, { token });
    assert.deepEqual(objectsOf().sort(), [`/${picture.id}/original`, `/${picture.id}/v-10x10px`]);
    assertResult(await test.call(`DELETE /pictures/${picture.id}`, { token }), 200, true);
    await until(async () => objectsOf().length === 0 && (await orphanedKeys()).length === 0);
    assert.equal((await download(test, `/pictures/${picture.id}/file`, { token })).status, 404);
  });

  it("concurrent requests for the same scaled picture wait for a single decode", async () => {
    const { token } = await test.signUp();
    const picture = await upload(test, token, "/pictures", dataPart(await png(1_000, 1_000)));
    const path = `/pictures/${picture.id}/file?size=500`;
    const reads = await Promise.all(Array.from({ length: 64 }, () => download(test, path, { token })));
    assert.deepEqual([...new Set(reads.map(({ status }) => status))], [200]);
    assert.equal(new Set(reads.map(({ bytes }) => bytes.toString("base64"))).size, 1);
    assertResult(await test.call(`DELETE /pictures/${picture.id}`, { token }), 200, true);
    await until(async () => objectsOf().length === 0 && (await orphanedKeys()).length === 0);
  });

  it("a scaled picture leaves nothing when its file is deleted while the picture is made", async () => {
    const { token } = await test.signUp();
    const bytes = dataPart(await png(1_500, 1_500));
    for (let n = 0; n < 8; n += 1) {
      const { id } = await upload(test, token, "/pictures", bytes);
      const reads = [200, 300, 300].map((size) => download(test, `/pictures/${id}/file?size=${size}`, { token }));
      await sleep(n * 10);
      assertResult(await test.call(`DELETE /pictures/${id}`, { token }), 200, true);
      for (const { status } of await Promise.all(reads)) assert.ok([200, 404].includes(status), `${status}`);
    }
    await until(async () => objectsOf().length === 0 && (await orphanedKeys()).length === 0);
  });

  it("a scaled picture that a killed process was writing is not stored twice, and is deleted after an hour", async () => {
    const { token } = await test.signUp();
    const { appid } = test.application;
    const { id } = await upload(test, token, "/pictures", dataPart(await png(100, 100)));
    const key = `${appid}/${id}/v-20x20px`;
    await test.app.database.write(({ queries }) => putOrphans(appid, key, test.now(), queries));
    const size20 = `/pictures/${id}/file?size=20`;
    const made = await download(test, size20, { token });
    assert.equal(made.status, 200);
    assert.deepEqual([objectsOf(), await orphanedKeys()], [[`/${id}/original`], [key]]);
    test.advance(3_600_001);
    await maintain(test.app);
    assert.deepEqual([objectsOf(), await orphanedKeys()], [[`/${id}/original`], []]);
    for (const _ of ["made again", "kept"])
      assert.ok((await download(test, size20, { token })).bytes.equals(made.bytes));
    const range = await download(test, size20, { token, headers: { range: "bytes=5-9" } });
    assert.deepEqual([range.status, range.bytes], [206, made.bytes.subarray(5, 10)]);
    assert.deepEqual([objectsOf().sort(), await orphanedKeys()], [[`/${id}/original`, `/${id}/v-20x20px`], []]);
    assertResult(await test.call(`DELETE /pictures/${id}`, { token }), 200, true);
    await until(async () => objectsOf().length === 0 && (await orphanedKeys()).length === 0);
  });

  it("deleting a user erases the bytes of that user's files and no others", async () => {
    const [gone, kept] = [await test.signUp(), await test.signUp()];
    for (let n = 0; n < 3; n += 1) await upload(test, gone.token, "/blobs", dataPart(`gone ${n}`));
    const { id } = await upload(test, kept.token, "/blobs", dataPart("kept"));
    assertResult(await test.call("DELETE /users/me", { token: gone.token }), 200, true);
    await maintain(test.app);
    assert.deepEqual([objectsOf(), await orphanedKeys()], [[`/${id}/original`], []]);
  });

  it("deleting an application erases the bytes of all its files", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    await upload(test, token, "/videos", dataPart("x"));
    assert.equal(objectsOf(application.appid).length, 1);
    await test.app.database.write(({ queries }) => updateApplicationDeleted(application.appid, test.now(), queries));
    await deleteApplicationRows(application.appid, test.app);
    assert.deepEqual(objectsOf(application.appid), []);
  });

  async function erase(appid: string): Promise<void> {
    await test.app.database.write(({ queries }) => updateApplicationDeleted(appid, test.now(), queries));
    await deleteApplicationRows(appid, test.app);
  }

  /** Runs `work` once while the bytes of a file or of a scaled picture are written. */
  function whileWriting(t: TestContext, ending: string, work: () => Promise<void>): void {
    const { bytes } = test.app;
    const { write } = bytes;
    const restore = () => Object.assign(bytes, { write });
    t.after(restore);
    bytes.write = async (key, source, options) => {
      if (!key.endsWith(ending)) return write(key, source, options);
      restore();
      const chunks = await Array.fromAsync(source);
      await work();
      await write(key, Readable.from(chunks), options);
    };
  }

  it("an upload leaves nothing when its application is erased while the bytes arrive", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    const form = formOf([dataPart("the bytes of a file", "text/plain")]);
    const connection = openRaw(test.port);
    connection.write(
      `POST /blobs HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${token}\r\nContent-Type: ${formHeaders["content-type"]}\r\nContent-Length: ${form.length}\r\n\r\n`,
    );
    connection.write(form.subarray(0, -30));
    await until(async () => (await orphanedKeys()).some((key) => key.startsWith(application.appid)));
    await erase(application.appid);
    connection.write(form.subarray(-30));
    const answer = await connection.receive();
    assert.deepEqual([answer?.status, answer?.body.error], [400, "FileUploadFailed"]);
    connection.close();
    assert.deepEqual(objectsOf(application.appid), []);
  });

  it("a resumable upload leaves nothing when its application is erased while its file is created", async (t) => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    const path = await begin(test, token, 3);
    whileWriting(t, "/original", () => erase(application.appid));
    const answer = await sendBytes(test, token, path, 0, "abc");
    assert.deepEqual([answer.status, answer.body.error], [404, "ItemDoesNotExist"]);
    await until(() => objectsOf(application.appid).length === 0);
  });

  it("a scaled picture leaves nothing when its application is erased while it is made", async (t) => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    const picture = await upload(test, token, "/pictures", dataPart(await png(100, 100)));
    whileWriting(t, "/v-10x10px", () => erase(application.appid));
    assert.equal((await download(test, `/pictures/${picture.id}/file?size=10`, { token })).status, 200);
    assert.deepEqual(objectsOf(application.appid), []);
  });

  it("an object that the store fails to delete does not stop the rest of maintenance, and is deleted later", async (t) => {
    const { appid } = test.application;
    const gone = await test.createApplication();
    const { token } = await test.signUp("Jane", gone);
    await upload(test, token, "/blobs", dataPart("x"));
    const { bytes, database } = test.app;
    await database.write(async ({ queries }) => {
      await updateApplicationDeleted(gone.appid, test.now(), queries);
      await putOrphans(appid, `${appid}/blb_held/`, test.now() - 7_200_000, queries);
      await putOrphans(appid, `${appid}/blb_left/`, test.now() - 3_600_001, queries);
    });
    const { deleteAll } = bytes;
    const restore = () => Object.assign(bytes, { deleteAll });
    t.after(restore);
    bytes.deleteAll = (prefix, signal) => {
      const isHeld = prefix.startsWith(gone.appid) || prefix.includes("blb_held");
      return isHeld ? Promise.reject(new Error("locked")) : deleteAll(prefix, signal);
    };
    await maintain(test.app);
    assert.ok(test.logLines.some(({ step, appid }) => step === "eraseApplication" && appid === gone.appid));
    assert.deepEqual(await orphanedKeys(), [`${appid}/blb_held/`]);
    assert.equal(objectsOf(gone.appid).length, 1);
    restore();
    await maintain(test.app);
    assert.deepEqual([objectsOf(gone.appid), await orphanedKeys()], [[], []]);
  });

  // spec/files#keyed-uploads
  it("a repeat with the same idempotency key returns the first file, and its bytes are stored once", async () => {
    const { token } = await test.signUp();
    const before = objectsOf().length;
    const send = (bytes: Buffer) =>
      test.call("POST /blobs", {
        token,
        body: formOf([dataPart(bytes)]),
        headers: { ...formHeaders, "idempotency-key": "1" },
      });
    const bytes = randomBytes(1_000);
    const [first, second] = [await send(bytes), await send(bytes)];
    assert.equal(first.status, 201);
    assert.deepEqual(second.body.result, first.body.result);
    assert.equal((await send(randomBytes(1_000))).body.error, "IdempotencyKeyReused");
    for (const other of [dataPart(bytes, "video/mp4"), dataPart(bytes, undefined, "another name")]) {
      const answer = await postForm(test, "/blobs", [other], { token, headers: { "idempotency-key": "1" } });
      assert.equal(answer.body.error, "IdempotencyKeyReused");
    }
    assert.deepEqual([objectsOf().length, await orphanedKeys()], [before + 1, []]);
  });
});
