import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { animatedPng, chunkNames } from "../../test/animated-png.ts";
import { assertError, openRaw, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";
import { filePrefix } from "../storage/orphaned-objects.ts";

const notOnWindows = { skip: process.platform === "win32" };

let test: TestApp;
let owner: TestUser;
let other: TestUser;
const bytes = randomBytes(100_000);
let path: string;
before(async () => {
  test = await startTestApp();
  owner = await test.signUp();
  other = await test.signUp();
  path = `/blobs/${(await upload(test, owner.token, "/blobs", dataPart(bytes, "text/html", "a.html"))).id}/file`;
});
after(() => test.close());

function read(headers: Record<string, string> = {}, method = "GET") {
  return download(test, path, { token: owner.token, headers, method });
}

describe("GET /blobs/{blobId}/file: spec/files#download", () => {
  it("answers 206 with one range, its position and length, including suffix and open-ended ranges", async () => {
    for (const [range, start, end] of [
      ["bytes=0-0", 0, 1],
      ["bytes=0-", 0, 100_000],
      ["bytes=10-19", 10, 20],
      ["bytes=99999-200000", 99_999, 100_000],
      ["bytes=-5", 99_995, 100_000],
      ["bytes=-200000", 0, 100_000],
      ["BYTES= 5-6 ", 5, 7],
    ] as const) {
      const { status, headers, bytes: found } = await read({ range });
      assert.equal(status, 206, range);
      assert.equal(headers.get("content-range"), `bytes ${start}-${end - 1}/100000`);
      assert.equal(headers.get("content-length"), `${end - start}`);
      assert.ok(found.equals(bytes.subarray(start, end)), range);
    }
  });

  it("answers 206 with several ranges as multipart/byteranges", async () => {
    const { status, headers, bytes: found } = await read({ range: "bytes=0-4,10-11,-3" });
    assert.equal(status, 206);
    const boundary = /^multipart\/byteranges; boundary=(\w+)$/.exec(headers.get("content-type") ?? "")?.[1];
    assert.ok(boundary !== undefined);
    assert.equal(headers.get("content-length"), `${found.length}`);
    const part = (start: number, end: number) =>
      `\r\n--${boundary}\r\nContent-Type: text/html\r\nContent-Range: bytes ${start}-${end - 1}/100000\r\n\r\n` +
      bytes.subarray(start, end).toString("latin1");
    const expected = `${part(0, 5)}${part(10, 12)}${part(99_997, 100_000)}\r\n--${boundary}--\r\n`;
    assert.equal(found.toString("latin1"), expected);
  });

  it("sends all ranges or none when the file is deleted during the request", async (t) => {
    const store = test.app.bytes;
    const { read: open } = store;
    t.after(() => Object.assign(store, { read: open }));
    for (const [opened, status] of [
      [2, 206],
      [0, 404],
    ]) {
      const { id } = await upload(test, owner.token, "/blobs", dataPart(bytes));
      let left = opened ?? 0;
      const remove = async () => {
        Object.assign(store, { read: open });
        await test.call(`DELETE /blobs/${id}`, { token: owner.token });
        await store.deleteAll(filePrefix(test.application.appid, id));
      };
      store.read = async (...given) => {
        if (left === 0) await remove();
        const stream = await open.apply(store, given);
        left -= 1;
        if (left === 0) await remove();
        return stream;
      };
      const headers = { range: "bytes=0-9999,20000-99999" };
      const answer = await download(test, `/blobs/${id}/file`, { token: owner.token, headers });
      assert.equal(answer.status, status, `${opened} opened`);
      if (status === 206) assert.equal(answer.headers.get("content-length"), `${answer.bytes.length}`);
    }
  });

  it("sends the complete file for an invalid range, and for ranges that exceed the file", async () => {
    const many = Array.from({ length: 17 }, (_, n) => `${n}-${n}`).join();
    for (const range of ["bytes=5-4", "bytes=", "bytes=-", "bytes=a-b", "items=0-1", "bytes=0-,0-", `bytes=${many}`]) {
      const { status, bytes: found } = await read({ range });
      assert.equal(status, 200, range);
      assert.ok(found.equals(bytes));
    }
  });

  it("answers 416 ParameterOutOfRange for a range outside of the file, in the envelope, with the length", async () => {
    for (const range of ["bytes=100000-", "bytes=-0", "bytes=200000-300000"]) {
      const answer = await test.call(`GET ${path}`, { token: owner.token, headers: { range } });
      assertError(answer, 416, "ParameterOutOfRange", 514, "The range is outside the file.");
      assert.equal(answer.headers["content-range"], "bytes */100000");
      assert.equal(answer.headers["content-type"], "application/json");
    }
  });

  it("answers 304 for a matching ETag, and If-Range prevents mixing ranges of two files", async () => {
    const etag = (await read()).headers.get("etag") ?? "";
    assert.match(etag, /^"[0-9a-f]{64}"$/);
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const { status, bytes: found } = await read({ "if-none-match": known });
      assert.deepEqual([status, found.length], [304, 0], known);
    }
    assert.equal((await read({ "if-none-match": '"x"' })).status, 200);
    assert.equal((await read({ range: "bytes=0-0", "if-range": etag })).status, 206);
    assert.equal((await read({ range: "bytes=0-0", "if-range": '"x"' })).status, 200);
  });

  it("answers HEAD with the headers of GET and no body", async () => {
    const [get, head] = [await read(), await read({}, "HEAD")];
    const ofFile = ({ headers }: typeof get) =>
      [...headers].filter(([name]) => !["date", "connection", "keep-alive"].includes(name));
    assert.deepEqual(ofFile(head), ofFile(get));
    assert.deepEqual([head.status, head.bytes.length], [200, 0]);
  });

  const player = "default-src 'none'; media-src 'self'; sandbox allow-same-origin";

  it("prevents browsers from executing a file: active types are sent as attachments, with nosniff (hostile.md 24)", async () => {
    for (const [type, kind] of [
      ["text/html", "attachment"],
      ["image/svg+xml", "attachment"],
      ["application/xml", "attachment"],
      ["text/javascript", "attachment"],
      ["application/pdf", "attachment"],
      ["application/xhtml+xml", "attachment"],
      ["multipart/x-mixed-replace", "attachment"],
      ["text/plain", "inline"],
      ["video/mp4", "inline"],
      ["image/jpeg", "inline"],
    ]) {
      const blob = await upload(test, owner.token, "/blobs", dataPart("<script>alert(1)</script>", type));
      const { headers } = await download(test, `/blobs/${blob.id}/file`, { token: owner.token });
      assert.equal(headers.get("content-disposition"), `${kind}; filename="a"; filename*=UTF-8''a`);
      assert.equal(headers.get("content-type"), type);
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      const policy = type === "video/mp4" ? player : "default-src 'none'; sandbox";
      assert.equal(headers.get("content-security-policy"), policy);
    }
    for (const type of ["nonsense", "a/b/c", "text/html\u00e9", "a b"]) {
      const blob = await upload(test, owner.token, "/blobs", dataPart("x", type));
      assert.equal(blob.contentType, "application/octet-stream", type);
    }
  });

  it("sends films and sounds so that browsers play them, and all files so that pages of other origins may show them", async () => {
    for (const type of ["video/webm", "audio/mpeg", "audio/x-m4a", "audio/wav; rate=8000"]) {
      const blob = await upload(test, owner.token, "/blobs", dataPart("x", type));
      const { headers } = await download(test, blob.signedUrl);
      assert.equal(headers.get("content-security-policy"), player, type);
      assert.match(headers.get("content-disposition") ?? "", /^inline/);
    }
    for (const given of [{}, { range: "bytes=0-0" }, { "if-none-match": "*" }]) {
      const { headers } = await read(given);
      assert.equal(headers.get("cross-origin-resource-policy"), "cross-origin");
    }
  });

  it("preserves the charset of a text type, and no other parameter", async () => {
    for (const [type, stored] of [
      ["text/plain; charset=UTF-8", "text/plain; charset=utf-8"],
      ['Text/CSV; header=present; charset="windows-1252"', "text/csv; charset=windows-1252"],
      ["text/plain; charset=a%20b", "text/plain"],
    ] as const) {
      const blob = await upload(test, owner.token, "/blobs", dataPart("x", type));
      assert.equal(blob.contentType, stored);
      const { headers } = await download(test, blob.signedUrl);
      assert.equal(headers.get("content-type"), stored);
      const kind = stored.startsWith("text/plain") ? "inline" : "attachment";
      assert.ok(headers.get("content-disposition")?.startsWith(kind));
    }
  });

  it("sends a file name that can neither inject a header nor escape the folder (hostile.md 23, 27)", async () => {
    for (const [fileName, shown] of [
      ['a\\"; x=y', `filename="a_; x=y"; filename*=UTF-8''a%22%3B%20x%3Dy`],
      ["../../etc/passwd", `filename="passwd"; filename*=UTF-8''passwd`],
      ["C:\\\\x\\\\y.txt", `filename="y.txt"; filename*=UTF-8''y.txt`],
      ["grüße 👍.txt", `filename="gr__e __.txt"; filename*=UTF-8''gr%C3%BC%C3%9Fe%20%F0%9F%91%8D.txt`],
      ["\u202etxt.exe", `filename="txt.exe"; filename*=UTF-8''txt.exe`],
      ["a'(*).b", `filename="a'(*).b"; filename*=UTF-8''a%27%28%2A%29.b`],
    ] as const) {
      const blob = await upload(test, owner.token, "/blobs", dataPart("x", "text/plain", fileName));
      const { headers } = await download(test, `/blobs/${blob.id}/file`, { token: owner.token });
      assert.equal(headers.get("content-disposition"), `inline; ${shown}`);
    }
  });

  it("stops reading when the client disconnects", async () => {
    const large = await upload(test, owner.token, "/blobs", dataPart(randomBytes(8_000_000)));
    for (let n = 0; n < 20; n += 1) {
      const connection = openRaw(test.port);
      connection.write(
        `GET /blobs/${large.id}/file HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${owner.token}\r\n\r\n`,
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
      connection.close();
    }
    const { bytes: found } = await download(test, `/blobs/${large.id}/file`, { token: owner.token });
    assert.equal(found.length, 8_000_000);
  });
});

describe("reading without an Authorization header", () => {
  // spec/authentication#query-token
  it("accepts the token in the query for file bytes only, and never logs it", async () => {
    const { token } = owner;
    const read = await download(test, `${path}?accessToken=${token}`);
    assert.ok(read.bytes.equals(bytes));
    assert.equal((await download(test, `${path}?accesstoken=${other.token}`)).status, 404);
    for (const operation of [`GET ${path}?accessToken=x`, `GET ${path}`, `GET /users/me?accessToken=${token}`]) {
      assertError(await test.call(operation), 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    }
    const deviceToken = await download(test, `${path}?accessToken=${owner.deviceToken}`);
    assert.equal(deviceToken.status, 403);
    assert.ok(!JSON.stringify(test.logLines).includes(token.slice(10, 40)));
  });

  // spec/files#signedurl
  it("opens only its own file with a signedUrl until it expires; the path stays the same", async () => {
    const [one, two] = [
      await upload(test, owner.token, "/blobs", dataPart("one")),
      await upload(test, owner.token, "/blobs", dataPart("two")),
    ];
    const read = await download(test, one.signedUrl);
    assert.equal(read.bytes.toString(), "one");
    const again = (await test.call(`GET /blobs/${one.id}`, { token: owner.token })).body.result.signedUrl;
    assert.equal(again.split("?")[0], one.signedUrl.split("?")[0]);

    const [from, query] = one.signedUrl.replace(test.url, "").split("?");
    const elsewhere = await test.createApplication();
    const later = (name: string, value: string) => query.replace(new RegExp(`${name}=[^&]*`), `${name}=${value}`);
    for (const forged of [
      `/blobs/${two.id}/file?${query}`,
      `${from}?${later("expires", `${test.now() + 10_000_000_000}`)}`,
      `${from}?${later("application", elsewhere.appid)}`,
      `${from}?${later("signature", "x")}`,
      `${from}?${later("signature", "x".repeat(300))}`,
      `${from}?${later("signature", "%ff")}`,
      `${from}?${later("signature", "%00")}`,
      `${from}?${later("signature", "")}`,
      ...["", "x", "1.5", "1e400", "-1", "%ff", "9".repeat(30)].map((text) => `${from}?${later("expires", text)}`),
      ...["", "x", one.id, "%ff"].map((text) => `${from}?${later("application", text)}`),
      `${from}?signature=x`,
      `${from}?${query.slice(0, -1)}`,
    ]) {
      const message = "The signature is wrong or has expired. Read the object again for a new signedUrl.";
      for (const options of [{}, { token: owner.token }]) {
        assertError(await test.call(`GET ${forged}`, options), 401, "AuthSignatureInvalid", 258, message);
      }
    }
    assertError(
      await test.call(`DELETE /blobs/${one.id}?${query}`),
      401,
      "AuthAccessTokenInvalid",
      261,
      "Incorrect token type.",
    );
    test.advance(3_600_000 - 1);
    assert.equal((await download(test, one.signedUrl)).status, 200);
    test.advance(300_001);
    assert.equal((await download(test, one.signedUrl)).status, 401);
    const fresh = (await test.call(`GET /blobs/${one.id}`, { token: owner.token })).body.result.signedUrl;
    await test.call(`DELETE /blobs/${one.id}`, { token: owner.token });
    assert.equal((await download(test, fresh)).status, 404);
    assert.ok(!JSON.stringify(test.logLines).includes("signature="));
  });
});

// spec/files#scaled-pictures
describe("GET /pictures/{pictureId}/file?size=", () => {
  it("scales to fit, never up, and refuses an invalid size", async () => {
    const { default: sharp } = await import("sharp");
    const picture = await upload(test, owner.token, "/pictures", dataPart(await png(400, 200)));
    for (const [size, width, height] of [
      ["100", 100, 50],
      ["100,10", 20, 10],
      ["401", 400, 200],
      ["9999", 400, 200],
      ["1", 1, 1],
      ["100", 100, 50],
      ["133", 133, 67],
    ] as const) {
      const read = await download(test, `/pictures/${picture.id}/file?size=${size}`, { token: owner.token });
      assert.equal(read.headers.get("content-type"), "image/png");
      const found = await sharp(read.bytes).metadata();
      assert.deepEqual([found.width, found.height], [width, height], size);
    }
    for (const [size, error, errorNumber, message] of [
      ["x", "ParameterIncorrectFormat", 515, "size must be <n> or <w>,<h>."],
      ["1,2,3", "ParameterIncorrectFormat", 515, "size must be <n> or <w>,<h>."],
      ["-1", "ParameterIncorrectFormat", 515, "size must be <n> or <w>,<h>."],
      ["0", "ParameterOutOfRange", 514, "size must be from 1 to 16384."],
      ["1,16385", "ParameterOutOfRange", 514, "size must be from 1 to 16384."],
    ] as const) {
      const answer = await test.call(`GET /pictures/${picture.id}/file?size=${size}`, { token: owner.token });
      assertError(answer, 400, error, errorNumber, message);
    }
  });

  it("sends an animated PNG unscaled, because it would lose its frames, and to other users without metadata", async () => {
    const shy = await test.signUp();
    await test.call("PATCH /users/me", { token: shy.token, body: { locationFuzzing: true } });
    const bytes = await animatedPng();
    const { id } = await upload(test, shy.token, "/pictures", dataPart(bytes), { readPermissions: "App" });
    for (const size of ["", "?size=4", "?size=4", "?size=100"]) {
      const own = await download(test, `/pictures/${id}/file${size}`, { token: shy.token });
      assert.ok(own.bytes.equals(bytes), size);
      const shown = await download(test, `/pictures/${id}/file${size}`, { token: owner.token });
      assert.equal(shown.headers.get("content-type"), "image/png");
      assert.deepEqual(
        chunkNames(shown.bytes).filter((name) => /acTL|fcTL|tEXt/.test(name)),
        ["acTL", "fcTL", "fcTL"],
      );
    }
  });

  it("sends a HEIC unchanged to callers with a token, and as JPEG when scaled or opened by signedUrl", async () => {
    const { default: sharp } = await import("sharp");
    const bytes = readFileSync(new URL("../../test/fixtures/photo.heic", import.meta.url));
    const data = dataPart(bytes, "image/heif", "IMG_1.HEIC");
    const picture = await upload(test, owner.token, "/pictures", data, { readPermissions: "App" });
    const { id, contentType, contentLength, size, signedUrl } = picture;
    assert.deepEqual(
      { contentType, contentLength, size },
      { contentType: "image/heic", contentLength: bytes.length, size: { w: 64, h: 48 } },
    );
    const original = await download(test, `/pictures/${id}/file`, { token: owner.token });
    assert.ok(original.bytes.equals(bytes));
    assert.equal(original.headers.get("content-type"), "image/heic");
    for (const [url, width] of [
      [signedUrl, 64],
      [`${signedUrl}&size=9999`, 64],
      [`${signedUrl}&size=16`, 16],
      [`/pictures/${id}/file?size=64`, 64],
      [`/pictures/${id}/file?size=32`, 32],
    ] as const) {
      const { headers, bytes: made } = await download(test, url, url === signedUrl ? {} : { token: owner.token });
      assert.equal(headers.get("content-type"), "image/jpeg");
      assert.equal(headers.get("content-disposition"), `inline; filename="IMG_1.jpg"; filename*=UTF-8''IMG_1.jpg`);
      const { format, width: found, exif } = await sharp(made).metadata();
      assert.deepEqual([format, found, exif], ["jpeg", width, undefined]);
    }
  });

  it("makes no pictures for disconnected clients, which hold no queue slots", notOnWindows, async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    const { token } = await app.signUp();
    const { id } = await upload(app, token, "/pictures", dataPart(await png(6_000, 6_000)));
    const [decoderPid] = app.app.pictures.decoderPids;
    assert.ok(decoderPid !== undefined);
    process.kill(decoderPid, "SIGSTOP");
    const gone = Array.from({ length: 40 }, (_, n) => {
      const connection = openRaw(app.port);
      const head = `GET /pictures/${id}/file?size=${10 * (n + 1)} HTTP/1.1\r\nHost: a\r\n`;
      connection.write(`${head}Authorization: Service ${token}\r\n\r\n`);
      return connection;
    });
    const first = await Promise.any(gone.map((connection) => connection.receive()));
    assert.equal(first?.status, 503); // every queue slot is in use
    for (const connection of gone) connection.close();
    process.kill(decoderPid, "SIGCONT");

    const deadline = Date.now() + 20_000;
    while ((await download(app, `/pictures/${id}/file?size=501`, { token })).status !== 200)
      assert.ok(Date.now() < deadline, "no slot is free");
    const prefix = `${filePrefix(app.application.appid, id)}v-`;
    const sizes = gone.map((_, n) => app.app.bytes.size(`${prefix}${10 * (n + 1)}x${10 * (n + 1)}px`));
    const made = (await Promise.all(sizes)).filter((length) => length !== undefined).length;
    assert.ok(made < 10, `${made} were made for disconnected clients`);
  });

  it("sends other users a picture without metadata while its owner has locationFuzzing", async () => {
    const { default: sharp } = await import("sharp");
    const shy = await test.signUp();
    await test.call("PATCH /users/me", { token: shy.token, body: { locationFuzzing: true } });
    const exif = { IFD3: { GPSLatitude: "48/1 12/1 0/1" } };
    const photo = await sharp(await png(20, 10))
      .withExif(exif)
      .jpeg()
      .toBuffer();
    const { id, signedUrl } = await upload(test, shy.token, "/pictures", dataPart(photo), { readPermissions: "App" });
    const mine = await download(test, `/pictures/${id}/file`, { token: shy.token });
    assert.ok(mine.bytes.equals(photo));
    for (const url of [`/pictures/${id}/file`, `/pictures/${id}/file?size=100`, signedUrl]) {
      const theirs = await download(test, url, { token: other.token });
      assert.equal(theirs.status, 200);
      assert.equal((await sharp(theirs.bytes).metadata()).exif, undefined, url);
    }
  });
});
