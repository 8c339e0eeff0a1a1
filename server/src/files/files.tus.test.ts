import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { Upload, type UploadOptions } from "tus-js-client";
import { assertError, openRaw, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import {
  begin,
  bytesHeaders,
  createUpload,
  findUpload,
  metadataOf,
  offsetOf,
  pathOf,
  sendBytes,
  tusHeaders,
} from "../../test/tus.ts";
import { png } from "../../test/uploads.ts";

let test: TestApp;
let jane: TestUser;
before(async () => {
  test = await startTestApp({ AUTH_SCHEMES: "Service,Bearer", REQUEST_TIMEOUT_MS: "3000" });
  jane = await test.signUp();
});
after(() => test.close());

const notThere = [404, "ItemDoesNotExist", 769, "The item does not exist."] as const;
const invalidToken = [401, "AuthAccessTokenInvalid", 261, "Incorrect token type."] as const;

function checksum(algorithm: string, bytes: string): string {
  return `${algorithm} ${createHash(algorithm).update(bytes).digest("base64")}`;
}

// spec/uploads#tus
describe("the tus protocol", () => {
  it("answers OPTIONS with the capabilities, without a token", async () => {
    for (const path of ["/files/uploads", "/files/uploads/", "/files/uploads/x?y", "/files/uploads/pic_1"]) {
      const { status, headers } = await test.call(`OPTIONS ${path}`);
      assert.equal(status, 204);
      const names = ["tus-resumable", "tus-version", "tus-extension", "tus-max-size", "tus-checksum-algorithm"];
      assert.deepEqual(
        names.map((name) => headers[name]),
        [
          "1.0.0",
          "1.0.0",
          "creation,creation-with-upload,expiration,checksum,termination",
          "1073741824",
          "sha1,sha256,md5",
        ],
      );
    }
    assert.equal((await test.call("OPTIONS /files")).headers["tus-version"], undefined);
  });

  it("answers OPTIONS with the URL of the server in the same way, as a proxy sends it", async () => {
    const { headers } = await test.call("OPTIONS http://a.example:8080/files/uploads?x=1");
    assert.equal(headers["tus-version"], "1.0.0");
  });

  it("lets web pages send and read its headers", async () => {
    const headers = {
      origin: "https://a.example",
      "access-control-request-method": "PATCH",
      "access-control-request-headers": "upload-offset",
    };
    const preflight = await test.call("OPTIONS /files/uploads/x", { headers });
    assert.match(`${preflight.headers["access-control-allow-methods"]}`, /PATCH/);
    assert.equal(preflight.headers["access-control-allow-headers"], "upload-offset");
    const answer = await createUpload(
      test,
      jane.token,
      1,
      { kind: "blob" },
      { headers: { origin: "https://a.example" } },
    );
    const exposed = `${answer.headers["access-control-expose-headers"]}`.split(", ");
    for (const name of [
      "Location",
      "Upload-Offset",
      "Upload-Length",
      "Upload-Expires",
      "Content-Location",
      "Tus-Resumable",
    ])
      assert.ok(exposed.includes(name), name);
  });

  it("answers 412 with the supported version to another version or none; every response names the version", async () => {
    for (const headers of [{}, { "tus-resumable": "0.2.2" }, { "tus-resumable": "1.0.0, 1.0.0" }]) {
      const answer = await test.call("POST /files/uploads", { token: jane.token, headers });
      assertError(answer, 412, "ParameterOutOfRange", 514, "Tus-Resumable must be 1.0.0.");
      assert.deepEqual([answer.headers["tus-version"], answer.headers["tus-resumable"]], ["1.0.0", "1.0.0"]);
    }
    assert.equal((await createUpload(test, undefined, 1)).headers["tus-resumable"], "1.0.0");
  });

  it("answers 415 to bytes of another type, and 400 without an offset", async () => {
    const path = await begin(test, jane.token, 3);
    for (const type of ["application/octet-stream", "text/plain", ""]) {
      const headers = { ...tusHeaders, "upload-offset": "0", "content-type": type };
      const answer = await test.call(`PATCH ${path}`, { token: jane.token, headers, body: "abc" });
      const message = "Content-Type must be application/offset+octet-stream.";
      assertError(answer, 415, "ParameterOutOfRange", 514, message);
    }
    const answer = await test.call(`PATCH ${path}`, { token: jane.token, headers: bytesHeaders, body: "abc" });
    assertError(answer, 400, "ParameterMissingRequiredValue", 513, "Upload-Offset is required.");
    for (const offset of ["-1", "x", "1.0", "0x0", "1e400", "99999999999999999999"]) {
      const headers = { ...bytesHeaders, "upload-offset": offset };
      const wrong = await test.call(`PATCH ${path}`, { token: jane.token, headers, body: "abc" });
      assertError(wrong, 400, "ParameterIncorrectFormat", 515, "Invalid upload-offset.");
    }
    assert.equal(await offsetOf(test, jane.token, path), 0);
  });

  it("requires Upload-Length as an integer that is not deferred, and supports no concatenation", async () => {
    const post = (headers: Record<string, string>) =>
      test.call("POST /files/uploads", {
        token: jane.token,
        headers: { ...tusHeaders, "upload-metadata": metadataOf({ kind: "blob" }), ...headers },
      });
    const missing = "Upload-Length is required.";
    assertError(await post({}), 400, "ParameterMissingRequiredValue", 513, missing);
    assertError(await post({ "upload-defer-length": "1" }), 400, "ParameterMissingRequiredValue", 513, missing);
    for (const length of ["-1", "1.5", "x", "1e3", "9e999", "0x10"]) {
      assertError(
        await post({ "upload-length": length }),
        ...([400, "ParameterIncorrectFormat", 515, "Invalid upload-length."] as const),
      );
    }
    assertError(
      await post({ "upload-length": "1", "upload-concat": "partial" }),
      ...([400, "ParameterOutOfRange", 514, "Upload-Concat is not supported."] as const),
    );
  });

  it("replaces the method by X-HTTP-Method-Override", async () => {
    const path = await begin(test, jane.token, 3);
    const override = (method: string, headers: Record<string, string> = {}, body?: string) =>
      test.call(`POST ${path}`, {
        token: jane.token,
        headers: { ...tusHeaders, "x-http-method-override": method, ...headers },
        ...(body !== undefined && { body }),
      });
    const sent = await override("patch", { ...bytesHeaders, "upload-offset": "0" }, "ab");
    assert.deepEqual([sent.status, sent.headers["upload-offset"]], [204, "2"]);
    const head = await override("HEAD");
    assert.deepEqual([head.status, head.headers["upload-offset"], head.text], [200, "2", ""]);
    assert.equal((await override("DELETE")).status, 204);
    assert.equal((await override("HEAD")).status, 404);
    for (const method of ["GET", "PUT", "OPTIONS", "CONNECT", "", "__proto__"]) {
      assertError(await override(method), 404, "OperationNotFound", 516, "There is no such operation.");
    }
  });

  it("ignores an Idempotency-Key, because the offset already prevents repetition", async () => {
    const headers = { "idempotency-key": "one" };
    const first = await createUpload(test, jane.token, 3, { kind: "blob" }, { headers });
    const second = await createUpload(test, jane.token, 3, { kind: "blob" }, { headers });
    assert.deepEqual([first.status, second.status], [201, 201]);
    assert.notEqual(pathOf(first), pathOf(second));
  });

  it("answers OperationNotFound to any other verb or path", async () => {
    const path = await begin(test, jane.token, 3);
    const headers = tusHeaders;
    for (const operation of [
      `GET ${path}`,
      `PUT ${path}`,
      `POST ${path}`,
      "GET /files/uploads",
      "HEAD /files/uploads",
    ]) {
      assert.equal((await test.call(operation, { token: jane.token, headers })).status, 404, operation);
    }
  });

  it("is refused in a batch", async () => {
    const body = {
      items: [
        { method: "POST", path: "/files/uploads" },
        { method: "DELETE", path: "/files/uploads/x" },
      ],
    };
    const { body: answer } = await test.call("POST /batch", { token: jane.token, body });
    assert.ok(!JSON.stringify(answer).includes('"success":true,"key"'));
  });
});

// spec/uploads#upload-errors
describe("Upload-Checksum", () => {
  it("stores the bytes when it is correct", async () => {
    for (const algorithm of ["sha1", "sha256", "md5"]) {
      const path = await begin(test, jane.token, 6);
      for (const [offset, bytes] of ["abc", "def"].entries()) {
        const headers = { "upload-checksum": checksum(algorithm, bytes) };
        assert.equal((await sendBytes(test, jane.token, path, offset * 3, bytes, headers)).status, 204);
      }
      assert.equal((await test.call(`GET /blobs/${path.split("/").at(-1)}`, { token: jane.token })).status, 200);
    }
  });

  it("answers 460 when it is wrong, and discards the bytes of that request", async () => {
    const path = await begin(test, jane.token, 6);
    await sendBytes(test, jane.token, path, 0, "abc");
    for (const algorithm of ["sha1", "sha256", "md5"]) {
      const headers = { "upload-checksum": checksum(algorithm, "xyz") };
      const answer = await sendBytes(test, jane.token, path, 3, "def", headers);
      assertError(
        answer,
        460,
        "FileUploadFailed",
        1025,
        "The checksum does not match the received bytes. They were discarded.",
      );
      assert.equal(await offsetOf(test, jane.token, path), 3);
    }
    const headers = { "content-type": "application/offset+octet-stream", "upload-checksum": checksum("md5", "x") };
    assert.equal((await createUpload(test, jane.token, 6, { kind: "blob" }, { headers, body: "abc" })).status, 460);
  });

  it("discards all bytes of a truncated request", async () => {
    const path = await begin(test, jane.token, 6);
    const connection = openRaw(test.port);
    connection.write(
      `PATCH ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Service ${jane.token}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nUpload-Checksum: ${checksum("sha1", "abc")}\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: 6\r\n\r\nabc`,
    );
    await new Promise((resolve) => setTimeout(resolve, 60));
    connection.close();
    await new Promise((resolve) => setTimeout(resolve, 60));
    assert.equal(await offsetOf(test, jane.token, path), 0);
  });

  it("answers 400 before any byte counts when its algorithm is unknown or it is malformed", async () => {
    const path = await begin(test, jane.token, 6);
    const unknown = "The algorithm of Upload-Checksum must be one of sha1,sha256,md5.";
    for (const algorithm of ["crc32", "SHA1", "__proto__", "constructor"]) {
      const headers = { "upload-checksum": `${algorithm} ${btoa("abc")}` };
      assertError(await sendBytes(test, jane.token, path, 0, "abc", headers), 400, "ParameterOutOfRange", 514, unknown);
    }
    for (const text of ["", "sha1", "sha1 %%%", "sha1 a b"]) {
      const answer = await sendBytes(test, jane.token, path, 0, "abc", { "upload-checksum": text });
      assert.deepEqual([answer.status, answer.body.error], [400, "ParameterIncorrectFormat"], text);
    }
    const short = await sendBytes(test, jane.token, path, 0, "abc", { "upload-checksum": `sha1 ${btoa("abc")}` });
    assertError(short, 400, "ParameterOutOfRange", 514, "A checksum of sha1 has 20 bytes.");
    assert.equal(await offsetOf(test, jane.token, path), 0);
  });
});

// spec/uploads#upload-metadata
describe("Upload-Metadata", () => {
  it("is validated by the schemas of the kind before any byte, and errors name the parameter", async () => {
    const long = "x".repeat(257);
    const wrong: [values: Record<string, string>, error: string, message: string][] = [
      [{}, "ParameterMissingRequiredValue", "kind is required."],
      [{ kind: "" }, "ParameterMissingRequiredValue", "kind is required."],
      [{ kind: "song" }, "ParameterIncorrectFormat", "kind must be one of picture, video, blob."],
      [{ kind: "blob", friendlyName: long }, "ParameterOutOfRange", "friendlyName must have at most 256 characters."],
      [{ kind: "video", bitRate: "fast" }, "ParameterIncorrectFormat", "bitRate must be an integer."],
      [
        { kind: "blob", writePermissions: "App" },
        ...(["ParameterOutOfRange", "writePermissions App needs readPermissions App."] as const),
      ],
      [{ kind: "blob", filename: "a\0b" }, "ParameterIncorrectFormat", "filename must be Unicode text without NUL."],
    ];
    for (const [values, error, message] of wrong) {
      const answer = await createUpload(test, jane.token, 5, values);
      assert.deepEqual([answer.status, answer.body.error, answer.body.message], [400, error, message]);
    }
  });

  it("is refused with ParameterIncorrectFormat when it is malformed", async () => {
    const kind = `kind ${btoa("blob")}`;
    for (const text of [
      `${kind},`,
      `${kind},,a`,
      `${kind},a ?`,
      `${kind},a b c`,
      `${kind},a YQ`,
      `${kind},tag /w==`,
      `${kind},${kind}`,
    ]) {
      const answer = await createUpload(test, jane.token, 5, {}, { headers: { "upload-metadata": text } });
      assert.deepEqual([answer.status, answer.body?.error], [400, "ParameterIncorrectFormat"], text);
    }
  });

  it("accepts names in any case, and ignores unknown ones, including __proto__ and constructor (hostile.md 15)", async () => {
    const values = { KIND: "BLOB", friendlyname: "N", relativePath: "null", constructor: "x", toString: "y" };
    const text = `${metadataOf(values)},__proto__ ${btoa("z")},flag`;
    const created = await createUpload(test, jane.token, 1, {}, { headers: { "upload-metadata": text } });
    assert.equal(created.status, 201, created.text);
    const path = pathOf(created);
    assert.equal((await findUpload(test, jane.token, path)).headers["upload-metadata"], text);
    await sendBytes(test, jane.token, path, 0, "x");
    const { result } = (await test.call(`GET /blobs/${path.split("/").at(-1)}`, { token: jane.token })).body;
    assert.deepEqual([result.friendlyName, result.tag], ["N", undefined]);
  });

  it("accepts the watermark of a picture and the friendlyName of a video", async () => {
    const image = await png(2, 1);
    for (const [collection, bytes, values] of [
      ["pictures", image, { kind: "picture", watermark: "mine", title: "T" }],
      ["videos", Buffer.from("x"), { kind: "video", friendlyName: "F", title: "T" }],
    ] as const) {
      const path = await begin(test, jane.token, bytes.length, values);
      await sendBytes(test, jane.token, path, 0, bytes);
      const { result } = (await test.call(`GET /${collection}/${path.split("/").at(-1)}`, { token: jane.token })).body;
      const { watermark, friendlyName, title } = result;
      const { kind: _, ...expected } = values;
      assert.deepEqual(
        { watermark, friendlyName, title },
        { watermark: undefined, friendlyName: undefined, ...expected },
      );
    }
  });

  it("stores text of any script, and injects no line into a header (hostile.md 19, 23)", async () => {
    const friendlyName = "\u202eℕ😀\r\nX-Evil: 1";
    const path = await begin(test, jane.token, 1, {
      kind: "blob",
      friendlyName,
      filename: "a\r\nX-Evil: 1/..\\b\r\n.txt",
    });
    await sendBytes(test, jane.token, path, 0, "x");
    const file = `/blobs/${path.split("/").at(-1)}`;
    assert.equal((await test.call(`GET ${file}`, { token: jane.token })).body.result.friendlyName, friendlyName);
    const { headers } = await test.call(`HEAD ${file}/file`, { token: jane.token });
    assert.equal(headers["x-evil"], undefined);
    assert.match(`${headers["content-disposition"]}`, /filename="b\.txt"/);
  });
});

describe("permission to upload", () => {
  it("is granted to user tokens of any of AUTH_SCHEMES; other callers receive the errors of every operation", async () => {
    const path = await begin(test, jane.token, 3);
    const calls = ["POST /files/uploads", `HEAD ${path}`, `PATCH ${path}`, `DELETE ${path}`];
    for (const operation of calls.filter((each) => !each.startsWith("HEAD"))) {
      assertError(await test.call(operation, { headers: tusHeaders }), ...invalidToken);
      assertError(await test.call(operation, { token: "garbage", headers: bytesHeaders, body: "x" }), ...invalidToken);
      assertError(await test.call(operation, { token: jane.deviceToken }), 403, "AuthUserAccessTokenRequired", 263);
    }
    assert.equal((await test.call(`HEAD ${path}`, { headers: tusHeaders })).status, 401);
    const bearer = { ...tusHeaders, authorization: `bearer ${jane.token}` };
    assert.equal((await test.call(`HEAD ${path}`, { headers: bearer })).status, 200);
  });

  it("is limited to the user: for other users and applications the upload does not exist, and they cannot change it", async () => {
    const path = await begin(test, jane.token, 3);
    await sendBytes(test, jane.token, path, 0, "a");
    const others = [await test.signUp(), await test.signUp("Jane", await test.createApplication())];
    for (const { token } of others) {
      for (const where of [
        path,
        `/files/uploads/${test.app.ids.newId("Blob")}`,
        "/files/uploads/x",
        "/files/uploads/%00",
      ]) {
        assert.equal((await findUpload(test, token, where)).status, 404);
        assertError(await sendBytes(test, token, where, 1, "bc"), ...notThere);
        assertError(await test.call(`DELETE ${where}`, { token, headers: tusHeaders }), ...notThere);
      }
    }
    const last = await sendBytes(test, jane.token, path, 1, "bc");
    assert.equal(last.status, 204);
    for (const { token } of others) assert.equal((await findUpload(test, token, path)).status, 404); // not their upload
  });

  it("is lost with a revoked token on the next request, and the upload resumes with a new one", async () => {
    const user = await test.signUp();
    const path = await begin(test, user.token, 3);
    await sendBytes(test, user.token, path, 0, "a");
    await test.call("POST /users/me/logout", { token: user.token });
    assertError(await sendBytes(test, user.token, path, 1, "b"), ...invalidToken);
    const body = { username: user.userName, password: user.password };
    const login = await test.call("POST /users/login", { token: user.deviceToken, body });
    assert.equal((await sendBytes(test, login.body.result.accessToken, path, 1, "bc")).status, 204);
  });

  it("is refused for paths that lead outside the collection (hostile.md 18)", async () => {
    for (const id of ["..%2f..%2fetc", "%2e%2e", "pic_%2e%2e", "a%5cb", `blb_${"0".repeat(3_000)}`, "%ff"]) {
      const answer = await sendBytes(test, jane.token, `/files/uploads/${id}`, 0, "x");
      assert.ok([400, 404].includes(answer.status), `${id} ${answer.status}`);
    }
  });
});

describe("slow senders", () => {
  it("may take long while bytes arrive, and are answered with the stored offset after REQUEST_TIMEOUT_MS of silence", async () => {
    const path = await begin(test, jane.token, 20);
    const connection = openRaw(test.port);
    connection.write(
      `PATCH ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Service ${jane.token}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: 20\r\n\r\n`,
    );
    for (let n = 0; n < 8; n += 1) {
      connection.write("x");
      await new Promise((resolve) => setTimeout(resolve, 450)); // in total longer than the timeout
    }
    const answer = await connection.receive();
    assert.deepEqual([answer?.status, answer?.headers["upload-offset"]], [204, "8"]);
    connection.close();
    assert.equal(await offsetOf(test, jane.token, path), 8);
  });
});

describe("tus-js-client", () => {
  function uploadWith(bytes: Buffer, options: Partial<UploadOptions>): Promise<Upload> {
    return new Promise((resolve, reject) => {
      const upload: Upload = new Upload(bytes, {
        endpoint: `${test.url}/files/uploads`,
        headers: { Authorization: `Service ${jane.token}` },
        metadata: { kind: "blob", filename: "a.bin", friendlyName: "ünï" },
        retryDelays: [0, 10, 50, 100],
        onError: reject,
        onSuccess: () => resolve(upload),
        ...options,
      });
      upload.start();
    });
  }

  it("uploads in one request, in pieces, with the creation, and by POST only", async () => {
    const bytes = randomBytes(1_500_000);
    const ways: Partial<UploadOptions>[] = [
      {},
      { chunkSize: 400_000 },
      { uploadDataDuringCreation: true },
      { uploadDataDuringCreation: true, chunkSize: 1_000_000 },
      { overridePatchMethod: true },
    ];
    for (const way of ways) {
      const { url } = await uploadWith(bytes, way);
      const file = `/blobs/${url?.split("/").at(-1)}`;
      const { result } = (await test.call(`GET ${file}`, { token: jane.token })).body;
      assert.equal(result.contentHash, createHash("sha256").update(bytes).digest("hex"), JSON.stringify(way));
      assert.equal(result.friendlyName, "ünï");
    }
  });

  it("resumes after an interruption, and terminates", async () => {
    const bytes = randomBytes(2_000_000);
    let url: string | null = null;
    await new Promise<void>((resolve) => {
      const upload: Upload = new Upload(bytes, {
        endpoint: `${test.url}/files/uploads`,
        headers: { Authorization: `Service ${jane.token}` },
        metadata: { kind: "blob" },
        chunkSize: 300_000,
        onChunkComplete(_size, sent) {
          if (sent < 900_000) return;
          url = upload.url;
          upload.abort().then(resolve);
        },
      });
      upload.start();
    });
    assert.ok(url !== null);
    assert.ok((await offsetOf(test, jane.token, new URL(url).pathname)) >= 900_000);
    await uploadWith(bytes, { uploadUrl: url });
    const again = await uploadWith(bytes, { uploadUrl: url }); // finds it complete
    assert.equal(again.url, url);
    const path = await begin(test, jane.token, 5);
    await Upload.terminate(`${test.url}${path}`, { headers: { Authorization: `Service ${jane.token}` } });
    assert.equal((await findUpload(test, jane.token, path)).status, 404);
  });
});
