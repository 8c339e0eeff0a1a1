import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type FileStore, fileStores, startFileStore } from "../../test/file-stores.ts";
import { assertError, assertResult, openRaw, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { valuesOf } from "../../test/rounds.ts";
import { until } from "../../test/until.ts";
import { dataPart, download, formHeaders, formOf, png, upload } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { deleteApplicationRows, updateApplicationDeleted } from "../applications/applications.store.ts";

/** Guarantees that hold for every store and every way of sending the bytes. */

for (const [turn, name] of Object.keys(fileStores).entries()) {
  describe(`files ${name}`, () => {
    let store: FileStore;
    let test: TestApp;
    let owner: TestUser;
    let other: TestUser;
    before(async () => {
      store = await startFileStore(name);
      test = await startTestApp(store.settings);
      owner = await test.signUp();
      other = await test.signUp();
    });
    after(async () => {
      const failures = test.logLines.filter(({ level }) => Number(level) >= 50);
      await test.close();
      await store.close();
      assert.deepEqual(failures, []);
    });

    async function isNothingLeft(appid = test.application.appid): Promise<boolean> {
      const loose = await test.app.database.reads.selectFrom("loose_bytes").select("key").execute();
      return loose.length === 0 && store.listLeftovers().length === 0 && (await store.listKeys(appid)).length === 0;
    }

    it("are returned unchanged by token, accessToken and signedUrl, with their type and name", async () => {
      for (const length of [1, 65_537, 9_000_000]) {
        const bytes = randomBytes(length);
        const data = dataPart(bytes, "text/html; charset=utf-8", "it's (a) ü.html");
        const { id, signedUrl } = await upload(test, owner.token, "/blobs", data);
        const path = `/blobs/${id}/file`;
        for (const [url, token] of [
          [path, owner.token] as const,
          [`${path}?accessToken=${owner.token}`],
          [signedUrl],
        ]) {
          const read = await download(test, url, token === undefined ? {} : { token });
          assert.equal(read.status, 200, url);
          assert.ok(read.bytes.equals(bytes), url);
          assert.equal(read.headers.get("content-type"), "text/html; charset=utf-8");
          assert.equal(read.headers.get("cache-control"), "private, no-cache");
          const disposition = `attachment; filename="it's (a) _.html"; filename*=UTF-8''it%27s%20%28a%29%20%C3%BC.html`;
          assert.equal(read.headers.get("content-disposition"), disposition);
        }
      }
    });

    it("are read in one or several ranges, with 416 outside, 304 for a matching ETag, and HEAD without bytes", async () => {
      const { id, contentHash } = await upload(test, owner.token, "/blobs", dataPart("0123456789", "text/plain"));
      const read = (headers: Record<string, string>, method = "GET") =>
        download(test, `/blobs/${id}/file`, { token: owner.token, headers, method });
      for (const [range, from, to] of [
        ["bytes=2-4", 2, 5],
        ["bytes=7-", 7, 10],
        ["bytes=9-99", 9, 10], // no suffix range: s3rver reads -1 as 0-1
      ] as const) {
        const { status, headers, bytes } = await read({ range });
        assert.deepEqual([status, bytes.toString()], [206, "0123456789".slice(from, to)], range);
        assert.equal(headers.get("content-range"), `bytes ${from}-${to - 1}/10`);
      }
      const several = await read({ range: "bytes=0-1,8-9" });
      assert.equal(several.status, 206);
      assert.match(several.headers.get("content-type") ?? "", /^multipart\/byteranges; /);
      assert.match(several.bytes.toString(), /\r\n\r\n01\r\n(?:.|\r\n)*\r\n\r\n89\r\n/);
      const mixed = await read({ range: "bytes=0-1", "if-range": '"of another file"' });
      assert.deepEqual([mixed.status, mixed.bytes.toString()], [200, "0123456789"]);

      const outside = await test.call(`GET /blobs/${id}/file`, { token: owner.token, headers: { range: "bytes=10-" } });
      assertError(outside, 416, "ParameterOutOfRange", 514, "The range is outside the file.");
      const known = await read({ "if-none-match": `"${contentHash}"` });
      assert.deepEqual([known.status, known.bytes.length], [304, 0]);
      const head = await read({}, "HEAD");
      assert.deepEqual([head.status, head.headers.get("content-length"), head.bytes.length], [200, "10", 0]);
      assert.equal(head.headers.get("etag"), `"${contentHash}"`);
    });

    it("are stored with their scaled pictures, and with variants without metadata for other users", async () => {
      const { default: sharp } = await import("sharp");
      const shy = await test.signUp();
      await test.call("PATCH /users/me", { token: shy.token, body: { locationFuzzing: true } });
      const photo = await sharp(await png(100, 50))
        .withExif({ IFD3: { GPSLatitude: "48/1 12/1 0/1" } })
        .jpeg()
        .toBuffer();
      const { id, signedUrl } = await upload(test, shy.token, "/pictures", dataPart(photo), { readPermissions: "App" });
      const path = `/pictures/${id}/file`;
      for (let n = 0; n < 2; n += 1) {
        const scaled = await sharp((await download(test, `${path}?size=20`, { token: other.token })).bytes).metadata();
        assert.deepEqual([scaled.width, scaled.height, scaled.exif], [20, 10, undefined]);
        for (const url of [path, signedUrl]) {
          const stripped = await download(test, url, { token: other.token });
          assert.equal((await sharp(stripped.bytes).metadata()).exif, undefined);
        }
      }
      const names = (await store.listKeys(test.application.appid)).filter((key) => key.includes(id));
      const { appid } = test.application;
      assert.deepEqual(names, [`${appid}/${id}/original`, `${appid}/${id}/stripped`, `${appid}/${id}/v-20x10px`]);
      assert.ok((await download(test, path, { token: shy.token })).bytes.equals(photo));
    });

    it("are denied to other users with 404 and 401, never with a URL", async () => {
      const { id, signedUrl } = await upload(test, owner.token, "/blobs", dataPart("private"));
      const elsewhere = await test.createApplication();
      const stranger = await test.signUp("Jane", elsewhere);
      for (const token of [other.token, stranger.token]) {
        const answer = await test.call(`GET /blobs/${id}/file`, { token });
        assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
        assert.equal(answer.headers["location"], undefined);
      }
      const query = signedUrl.split("?")[1].replace(test.application.appid, elsewhere.appid);
      const message = "The signature is wrong or has expired. Read the object again for a new signedUrl.";
      const forged = await test.call(`GET /blobs/${id}/file?${query}`);
      assertError(forged, 401, "AuthSignatureInvalid", 258, message);
    });

    it("are deleted with their object, their user or their application: row, bytes and scaled variants", async () => {
      const application = await test.createApplication();
      const { appid } = application;
      const { token } = await test.signUp("Ann", application);
      const picture = await upload(test, token, "/pictures", dataPart(await png(100, 100)));
      await download(test, `/pictures/${picture.id}/file?size=10`, { token });
      assert.equal((await store.listKeys(appid)).length, 2);
      assertResult(await test.call(`DELETE /pictures/${picture.id}`, { token }), 200, true);
      for (const method of ["GET", "HEAD"]) {
        assert.equal((await download(test, `/pictures/${picture.id}/file`, { token, method })).status, 404);
      }
      assert.equal((await download(test, picture.signedUrl)).status, 404);
      await until(() => isNothingLeft(appid));

      const kept = await upload(test, (await test.signUp("Bob", application)).token, "/blobs", dataPart("kept"));
      await upload(test, token, "/videos", dataPart("gone"));
      assertResult(await test.call("DELETE /users/me", { token }), 200, true);
      await maintain(test.app);
      assert.deepEqual(await store.listKeys(appid), [`${appid}/${kept.id}/original`]);

      await test.app.database.write(({ queries }) => updateApplicationDeleted(appid, test.now(), queries));
      await deleteApplicationRows(appid, test.app);
      assert.ok(await isNothingLeft(appid));
    });

    it("leave no object or row when their upload is interrupted at any byte (hostile.md 26)", async () => {
      const application = await test.createApplication();
      const { token } = await test.signUp("Cut", application);
      const form = formOf([dataPart("the bytes of a file", "text/plain")]);
      const head = `POST /blobs HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${token}\r\nContent-Type: ${formHeaders["content-type"]}\r\nContent-Length: ${form.length}\r\n\r\n`;
      const lengths = valuesOf([...form.keys()], turn);
      for (let start = 0; start < lengths.length; start += 40) {
        await Promise.all(
          lengths.slice(start, start + 40).map(async (length) => {
            const connection = openRaw(test.port);
            connection.write(Buffer.concat([Buffer.from(head), form.subarray(0, length)]));
            await sleep(length % 40);
            connection.close();
          }),
        );
      }
      await until(() => isNothingLeft(application.appid));
      assert.deepEqual((await test.call("GET /blobs", { token })).body.result.pageResults, []);
    });
  });
}

// spec/files#redirects
describe("files that clients read from S3: FILES_DOWNLOAD=redirect", () => {
  let store: FileStore;
  let test: TestApp;
  let owner: TestUser;
  before(async () => {
    store = await startFileStore("in S3, read there");
    test = await startTestApp(store.settings);
    owner = await test.signUp();
  });
  after(async () => {
    await test.close();
    await store.close();
  });

  function read(path: string, headers: Record<string, string> = {}, method = "GET") {
    return test.call(`${method} ${path}`, { token: owner.token, headers });
  }

  it("answer 302 to a URL of the object that must not be cached and expires after five minutes", async () => {
    const { id } = await upload(test, owner.token, "/blobs", dataPart("bytes"));
    for (const headers of [{}, { range: "bytes=0-1" }, { "if-none-match": '"x"' }]) {
      const { status, headers: sent, text } = await read(`/blobs/${id}/file`, headers);
      assert.deepEqual([status, sent["cache-control"], text], [302, "private, no-store", ""]);
      const address = new URL(String(sent["location"]));
      assert.equal(address.pathname, `/files/rollcall/${test.application.appid}/${id}/original`);
      assert.equal(address.searchParams.get("X-Amz-Expires"), "300");
      assert.equal(await (await fetch(address)).text(), "bytes");
    }
    assert.ok(!JSON.stringify(test.logLines).includes("X-Amz-"));
  });

  it("are not redirected when the response is not the original bytes", async () => {
    const { id, contentHash } = await upload(test, owner.token, "/pictures", dataPart(await png(20, 20)));
    const path = `/pictures/${id}/file`;
    for (const [status, headers, method, query] of [
      [304, { "if-none-match": `"${contentHash}"` }],
      [416, { range: "bytes=99999-" }],
      [206, { range: "bytes=0-1,3-4" }],
      [200, { range: "bytes=0-1", "if-range": '"x"' }],
      [200, {}, "HEAD"],
      [200, {}, "GET", "?size=10"],
      [400, {}, "GET", "?size=0"],
      [302, {}, "GET", "?size=20"],
      [302, {}],
    ] as const) {
      const answer = await read(`${path}${query ?? ""}`, headers, method);
      assert.equal(answer.status, status, JSON.stringify(headers));
      assert.equal(answer.headers["location"] !== undefined, status === 302);
    }
    await test.call(`DELETE /pictures/${id}`, { token: owner.token });
    assertError(await read(path), 404, "ItemDoesNotExist", 769, "The item does not exist.");
  });
});
