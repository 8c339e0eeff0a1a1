import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  openRaw,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import { dataPart, download, formHeaders, formOf, png, postForm, upload } from "../../test/uploads.ts";

/** hostile.md 14, 18, 23, 26 and 27 for files: refused, nothing stored, nothing leaked, the process stays healthy. */

let test: TestApp;
/** A second process of the same deployment with a short REQUEST_TIMEOUT_MS, for tests that wait for it. */
let hasty: TestApp;
let owner: TestUser;
let other: TestUser;
before(async () => {
  const bounds = { FILE_BYTES_MAX: "300000", BODY_BYTES_MAX: "4096" };
  test = await startTestApp({ ...bounds, REQUEST_TIMEOUT_MS: "60000" });
  const { databaseUrl: DATABASE_URL, filesUrl: FILES_URL } = test.config;
  hasty = await startTestApp({ ...bounds, DATABASE_URL, FILES_URL, REQUEST_TIMEOUT_MS: "600" });
  owner = await test.signUp();
  other = await test.signUp();
});
after(async () => {
  const failures = [...test.logLines, ...hasty.logLines].filter(({ level }) => Number(level) >= 50);
  await hasty.close();
  await test.close();
  assert.deepEqual(failures, []);
});

async function countFiles(): Promise<number> {
  return (await test.app.database.reads.selectFrom("files").select("id").execute()).length;
}

async function assertNoOrphanedObject(): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const loose = await test.app.database.reads.selectFrom("loose_bytes").select("key").execute();
    const drafts = readdirSync(join(test.config.dataDir, "files", ".incoming"));
    if (loose.length + drafts.length === 0) return;
    assert.ok(Date.now() < deadline, "bytes are left");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Returns the response to these bytes, if one arrives before the server closes the connection. */
async function exchange(bytes: readonly (string | Buffer)[], { port } = test): Promise<Answer | undefined> {
  const connection = openRaw(port);
  for (const each of bytes) connection.write(each);
  const answer = await connection.receive();
  connection.close();
  return answer;
}

function headOf(length: string, path = "/blobs"): string {
  const { "content-type": contentType } = formHeaders;
  return `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${owner.token}\r\nContent-Type: ${contentType}\r\n${length}\r\n\r\n`;
}

describe("an upload whose connection closes while its caller is authenticated", () => {
  it("stops immediately, and does not count as an upload in progress until REQUEST_TIMEOUT_MS", async () => {
    const strict = await startTestApp({ CALLER_UPLOADS_MAX: "4", REQUEST_TIMEOUT_MS: "60000" });
    const { token } = await strict.signUp();
    const form = formOf([dataPart("the bytes of a file", "text/plain")]);
    const head = `POST /blobs HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${token}\r\nContent-Type: ${formHeaders["content-type"]}\r\nContent-Length: 5\r\n\r\n`;
    for (let index = 0; index < 12; index += 1) {
      const connection = openRaw(strict.port);
      connection.write(head);
      connection.write(form); // the bytes after the first five are not HTTP, so the server closes
      await connection.receive();
      connection.close();
    }
    const deadline = Date.now() + 60_000;
    const isTaken = async () => (await postForm(strict, "/blobs", [dataPart("x")], { token })).status === 201;
    while (!(await isTaken())) assert.ok(Date.now() < deadline, "an upload that has ended counts as under way");
    await strict.close();
  });
});

describe("an upload of the wrong length (26)", () => {
  const form = formOf([dataPart("the bytes of a file", "text/plain")]);
  // A form is complete with its last boundary; bytes after it do not belong to the file.
  const enough = form.length - 2;

  it("is refused when it is too short by any number of bytes, and nothing is stored", async () => {
    const before = await countFiles();
    for (let length = 0; length < enough; length += 1) {
      const answer = await exchange([headOf(`Content-Length: ${length}`), form]);
      assert.ok(answer !== undefined);
      // The error concerns the upload or the invalid HTTP that follows it, whichever is detected first.
      const { error } = answer.body;
      assert.ok(["FileUploadFailed", "OperationNotFound", "ParameterIncorrectFormat"].includes(error), error);
    }
    assert.equal(await countFiles(), before);
    await assertNoOrphanedObject();
  });

  it("is refused with 400 when it is too long and no more bytes arrive, and nothing is stored", async () => {
    const before = await countFiles();
    const cut = form.subarray(0, enough - 2);
    const lengths = [form.length + 1, form.length + 1_000_000].map((length) => `Content-Length: ${length}`);
    for (const length of [...lengths, "Transfer-Encoding: chunked"]) {
      const chunk = length.startsWith("T") ? [`${cut.length.toString(16)}\r\n`, cut] : [cut];
      const answer = await exchange([headOf(length), ...chunk], hasty);
      assert.ok(answer !== undefined, length);
      assertError(answer, 400, "FileUploadFailed", 1025, "The upload was interrupted.");
    }
    assert.equal(await countFiles(), before);
    await assertNoOrphanedObject();
  });

  it("is accepted when it is chunked without a length, and refused as invalid HTTP with both headers", async () => {
    const chunks = ["5\r\n", form.subarray(0, 5), "\r\n", `${(form.length - 5).toString(16)}\r\n`, form.subarray(5)];
    const taken = await exchange([headOf("Transfer-Encoding: chunked"), ...chunks, "\r\n0\r\n\r\n"]);
    assert.deepEqual([taken?.status, taken?.body.result.contentLength], [201, 19]);
    const both = `Transfer-Encoding: chunked\r\nContent-Length: ${form.length}`;
    const refused = await exchange([headOf(both), ...chunks]);
    assert.deepEqual([refused?.status, refused?.body.error], [400, "ParameterIncorrectFormat"]);
  });
});

describe("a slow store", () => {
  it("does not fail an upload, even if it is slower than REQUEST_TIMEOUT_MS", async (t) => {
    const { bytes } = hasty.app;
    const { write } = bytes;
    t.after(() => Object.assign(bytes, { write }));
    bytes.write = (key, source, options) => {
      async function* slowly() {
        let isFirst = true;
        for await (const chunk of source) {
          yield chunk;
          if (isFirst) await new Promise((resolve) => setTimeout(resolve, 1_500));
          isFirst = false;
        }
      }
      return write(key, slowly(), options);
    };
    const { contentLength } = await upload(hasty, owner.token, "/blobs", dataPart("x".repeat(290_000)));
    assert.equal(contentLength, 290_000);
  });
});

describe("slow readers of scaled pictures that are not stored", () => {
  it("share bounded memory: the next one is refused with 503 until one of them disconnects", async (t) => {
    const { pictures } = test.app;
    const { scalePicture } = pictures;
    t.after(() => Object.assign(pictures, { scalePicture }));
    const made = { contentType: "image/png", w: 33, h: 33, bytes: Buffer.alloc(60_000_000, "x") };
    pictures.scalePicture = async () => made;
    const { id } = await upload(test, owner.token, "/pictures", dataPart(await png(100, 100)));
    const path = `/pictures/${id}/file?size=33`;
    const headers = { authorization: `Service ${owner.token}` };
    const read = async () => {
      const [answer] = (await once(get(`${test.url}${path}`, { headers, agent: false }), "response")) as [
        IncomingMessage,
      ];
      return answer;
    };
    const idle = [await read(), await read()];
    assert.deepEqual(
      idle.map(({ statusCode }) => statusCode),
      [200, 200],
    );
    assertError(
      await test.call(`GET ${path}`, { token: owner.token }),
      ...([503, "ServiceUnavailable", 1284, "Too many pictures are in progress. Try again."] as const),
    );
    for (const answer of idle) answer.destroy();
    const deadline = Date.now() + 60_000;
    for (;;) {
      const { status, bytes } = await download(test, path, { token: owner.token });
      if (status === 200) {
        assert.ok(bytes.equals(made.bytes));
        break;
      }
      assert.ok(Date.now() < deadline, "memory is still held");
    }
    const part = await download(test, path, { token: owner.token, headers: { range: "bytes=10-99999" } });
    assert.deepEqual([part.status, part.bytes.length], [206, 99_990]);
  });
});

// spec/files#upload-limits
describe("an endless form", () => {
  const boundary = /boundary=(.+)$/.exec(formHeaders["content-type"])?.[1];

  for (const [part, beginning, message] of [
    ["the file", formOf([dataPart("x")]).subarray(0, -21), "The file is larger than 300000 bytes."],
    ["another part", `--${boundary}\r\nContent-Disposition: form-data; name="x"\r\n\r\n`, tooLong()],
    ["the head of a part", `--${boundary}\r\nX: `, tooLong()],
    ["what comes before the first part", "", tooLong()],
    ["what comes after the last part", formOf([dataPart("x")]), tooLong()],
  ] as const) {
    it(`is refused with 413 RequestTooLarge in ${part} once it exceeds any valid size, and nothing is stored`, async () => {
      const before = await countFiles();
      const connection = openRaw(test.port);
      connection.write(headOf("Transfer-Encoding: chunked"));
      connection.write(`${beginning.length.toString(16)}\r\n`.slice(beginning.length === 0 ? 3 : 0));
      if (beginning.length > 0) connection.write(Buffer.concat([Buffer.from(beginning), Buffer.from("\r\n")]));
      const chunk = `10000\r\n${"y".repeat(65_536)}\r\n`;
      const writing = setInterval(() => connection.write(chunk), 1);
      try {
        const answer = await connection.receive();
        assert.ok(answer !== undefined, "the server closed without an answer");
        assertError(answer, 413, "RequestTooLarge", 1281, message);
      } finally {
        clearInterval(writing);
        connection.close();
      }
      assert.equal(await countFiles(), before);
      await assertNoOrphanedObject();
    });
  }

  function tooLong(): string {
    return "The form is larger than 1352672 bytes.";
  }
});

// spec/files#file-names
describe("a file name, a type or a field of an upload (23, 27)", () => {
  it("adds no header to a response or a URL, and writes no file outside the folder", async () => {
    const names = [
      "a\\r\\nSet-Cookie: x=y",
      "a%0d%0aSet-Cookie: x=y",
      "a\u2028b\u0085c",
      "a\u0000b",
      "../../../../tmp/rollcall-was-here",
      "..",
      "/etc/passwd",
      "..\\\\..\\\\windows\\\\system32",
      "%2e%2e%2fsecret",
      "\u2024\u2024/\uff0fetc",
      "x".repeat(5_000),
      ".incoming",
      "CON",
    ];
    for (const fileName of names) {
      const { id } = await upload(test, owner.token, "/blobs", dataPart("x", "text/plain", fileName));
      const { status, headers } = await download(test, `/blobs/${id}/file`, { token: owner.token });
      assert.equal(status, 200, fileName);
      assert.equal(headers.get("set-cookie"), null);
      const disposition = headers.get("content-disposition") ?? "";
      assert.match(disposition, /^inline(; filename="[ -~]*"; filename\*=UTF-8''[\w!#$&+.^`|~%-]*)?$/, fileName);
      assert.ok(disposition.length < 5_000);
      assert.doesNotMatch(disposition, /[/\\]|%2F|%5C|%0D|%0A|%00/i, fileName);
    }
    assert.deepEqual(readdirSync(join(test.config.dataDir, "files")).sort(), [".incoming", test.application.appid]);
    assert.ok(!existsSync("/tmp/rollcall-was-here"));
  });

  it("cannot terminate the header of a part early by a line break: the rest stays in the part and never reaches a response", async () => {
    const form = formOf([dataPart("x", "text/plain\r\nSet-Cookie: x=y", 'a"\r\nLocation: http://elsewhere/\r\nX: "')]);
    const answer = await test.call("POST /blobs", { token: owner.token, body: form, headers: formHeaders });
    assert.equal(answer.status, 201);
    const { headers } = await download(test, `/blobs/${answer.body.result.id}/file`, { token: owner.token });
    for (const name of ["set-cookie", "location", "x"]) assert.equal(headers.get(name), null);
  });
});

describe("a path that leads outside the collection (18, 27)", () => {
  it("names no file, is never read, and is answered with 404 or 400 in the envelope", async () => {
    const { id } = await upload(test, owner.token, "/blobs", dataPart("here"));
    const ways = [
      ...["../secret", "..%2fsecret", "%2e%2e/secret", "%2e%2e%2fsecret", "%252e%252e%252fsecret", "..%5csecret"],
      ...[`../${id}`, `%2e%2e%2f${id}`, `${id}%00`, `${id}%2f`, `${id}%2foriginal`, `${id}/../${id}x`, `.${id}`],
      ...["%00", "%", "%zz", "%c0%af", "%ef%bc%8f", ".", "..", ".incoming", "\u2024\u2024".normalize("NFC")],
      ...["x".repeat(8_192), `${test.application.appid}%2f${id}`, "rollcall.db", "..%2frollcall.db"],
    ];
    for (const way of ways) {
      for (const kind of ["blobs", "pictures", "videos"]) {
        for (const end of ["/file", "/file/..", "", "/file%00", "/file/original"]) {
          const path = encodeURI(`/${kind}/${way}${end}`).replaceAll("%25", "%");
          const request = `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${owner.token}\r\n\r\n`;
          const answer = await exchange([request]);
          assert.ok(answer !== undefined, path.slice(0, 100));
          assert.ok([400, 404].includes(answer.status), `${answer.status} ${path.slice(0, 100)}`);
          assert.equal(answer.body.success, false);
        }
      }
    }
    assertResult(await test.call("GET /_/health/ready"), 200, "ready");
  });
});

describe("a signedUrl (14)", () => {
  it("opens one file of one application under one path, and grants no access to other data of its owner", async () => {
    const elsewhere = await test.createApplication();
    const stranger = await test.signUp("Jane", elsewhere);
    const mine = await upload(test, owner.token, "/pictures", dataPart(await png(4, 4)));
    const theirs = await upload(test, stranger.token, "/pictures", dataPart(await png(5, 5)));
    const queryOf = (url: string) => url.split("?")[1] ?? "";
    const query = queryOf(mine.signedUrl);
    const swapped = (url: string, appid: string) => queryOf(url).replace(/application=[^&]*/, `application=${appid}`);
    const message = "The signature is wrong or has expired. Read the object again for a new signedUrl.";
    for (const path of [
      `/pictures/${theirs.id}/file?${query}`,
      `/pictures/${theirs.id}/file?${swapped(mine.signedUrl, elsewhere.appid)}`,
      `/pictures/${mine.id}/file?${swapped(theirs.signedUrl, test.application.appid)}`,
      `/pictures/${mine.id}/file?${queryOf(theirs.signedUrl)}`,
      `/pictures/${mine.id}/file?${query}&application=${elsewhere.appid}`,
      `/pictures/${mine.id}/file?${query}&expires=${Number.MAX_SAFE_INTEGER}`,
    ]) {
      for (const method of ["GET", "HEAD"]) {
        const answer = await test.call(`${method} ${path}`);
        if (method === "HEAD") assert.equal(answer.status, 401, path);
        else assertError(answer, 401, "AuthSignatureInvalid", 258, message);
      }
    }
    for (const [operation, status] of [
      [`GET /pictures/${mine.id}?${query}`, 401],
      [`PATCH /pictures/${mine.id}?${query}`, 401],
      [`GET /users/me?${query}`, 401],
      [`GET /blobs/${mine.id}/file?${query}`, 400], // not the id of a blob
      [`GET /pictures/${mine.id}/file?${query}`, 200],
    ] as const) {
      assert.equal((await test.call(operation)).status, status, operation);
    }
  });
});

describe("an idempotency key of an upload (14)", () => {
  it("belongs to its user: an upload by another user with the same key creates another file", async () => {
    const headers = { "idempotency-key": "the same" };
    const parts = [dataPart("the same bytes")];
    const [first, second] = [
      await postForm(test, "/blobs", parts, { token: owner.token, headers }),
      await postForm(test, "/blobs", parts, { token: other.token, headers }),
    ];
    assert.deepEqual([first.status, second.status], [201, 201]);
    assert.notEqual(first.body.result.id, second.body.result.id);
    assert.equal(second.body.result.userID, other.id);
    const read = await download(test, `/blobs/${first.body.result.id}/file`, { token: other.token });
    assert.equal(read.status, 404);
  });
});
