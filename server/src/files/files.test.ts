import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, download, type FormPart, formHeaders, formOf, png, postForm, upload } from "../../test/uploads.ts";

let test: TestApp;
let owner: TestUser;
let other: TestUser;
before(async () => {
  test = await startTestApp({ FILE_BYTES_MAX: "8000000", BODY_BYTES_MAX: "4096" });
  owner = await test.signUp();
  other = await test.signUp();
});
after(async () => {
  const failures = test.logLines.filter(({ level }) => Number(level) >= 50);
  await test.close();
  assert.deepEqual(failures, []);
});

describe("POST /blobs: spec/files#upload-forms", () => {
  // spec/files#file-fields
  it("answers 201 with the complete object, and returns files of any length unchanged", async () => {
    for (const length of [1, 2, 63, 64, 65, 4_096, 65_535, 65_536, 65_537, 1_000_003, 5_000_000]) {
      const bytes = randomBytes(length);
      const blob = await upload(test, owner.token, "/blobs", dataPart(bytes, "application/x-thing"), { tag: "a tag" });
      const { id, signedUrl } = blob;
      assert.match(id, /^blb_/);
      assert.deepEqual(blob, {
        id,
        userID: owner.id,
        contentType: "application/x-thing",
        contentLength: length,
        contentHash: createHash("sha256").update(bytes).digest("hex"),
        signedUrl,
        tag: "a tag",
        created: `/Date(${test.now()})/`,
        lastModified: `/Date(${test.now()})/`,
      });
      assert.ok(signedUrl.startsWith(`${test.url}/blobs/${id}/file?`));
      const read = await download(test, `/blobs/${id}/file`, { token: owner.token });
      assert.equal(read.status, 200);
      assert.ok(read.bytes.equals(bytes));
      assert.equal(read.headers.get("content-type"), "application/x-thing");
      assert.equal(read.headers.get("content-length"), `${length}`);
      assertResult(await test.call(`GET /blobs/${id}`, { token: owner.token }), 200, blob);
    }
  });

  it("accepts the parts in any order, as plain fields or as the part `body`, which is recognized only by its name", async () => {
    const fields: FormPart[] = [
      { name: "friendlyName", value: "A friend" },
      { name: "tag", value: "a tag" },
      { name: "location", value: "1,2" },
      { name: "readPermissions", value: "app" },
    ];
    const json = { friendlyName: "A friend", tag: "a tag", location: { lat: 1, lng: 2 }, readPermissions: "App" };
    const body = { name: "body", value: JSON.stringify(json) };
    const data = dataPart("bytes");
    const forms: FormPart[][] = [
      [data, ...fields],
      [...fields, data],
      [...fields.slice(0, 2), data, ...fields.slice(2).reverse()],
      [data, body],
      [body, data],
      [{ ...body, fileName: "body.json", contentType: "application/json" }, data],
      [data, { ...body, fileName: "x", contentType: "application/octet-stream" }],
      [data, { ...body, contentType: "text/plain; charset=utf-8" }],
    ];
    for (const form of forms) {
      const { status, body: answer } = await postForm(test, "/blobs", form, { token: owner.token });
      assert.equal(status, 201, answer.message);
      const { friendlyName, tag, location, readPermissions, contentLength } = answer.result;
      assert.deepEqual({ friendlyName, tag, location, readPermissions }, json);
      assert.equal(contentLength, 5);
    }
  });

  // spec/files#part-charsets
  it("decodes each part by its charset, and answers invalid bytes with 400 ParameterIncorrectFormat, storing nothing", async () => {
    const { token } = owner;
    const name = "friendlyName";
    const json = (text: string) => `{"friendlyName":"${text}"}`;
    for (const [value, contentType] of [
      [Buffer.from("J\u00fcrgen \ufffd \u{1f600}"), undefined],
      [Buffer.from("J\u00fcrgen \ufffd \u{1f600}"), "text/plain; charset=UTF-8"],
      [Buffer.from("J\u00fcrgen", "latin1"), "text/plain; charset=ISO-8859-1"],
      [Buffer.from("Jurgen"), "text/plain; charset=US-ASCII"],
    ] as const) {
      const text = value.toString(contentType?.includes("8859") ? "latin1" : "utf8");
      const encoded = contentType?.includes("8859") ? "latin1" : "utf8";
      const typed = contentType === undefined ? {} : { contentType };
      for (const part of [
        { name, value, ...typed },
        { name: "body", value: Buffer.from(json(text), encoded), ...typed },
      ]) {
        for (const form of [
          [part, dataPart("x")],
          [dataPart("x"), part],
        ]) {
          const { status, body } = await postForm(test, "/blobs", form, { token });
          assert.deepEqual([status, body.result?.friendlyName], [201, text], body.message);
        }
      }
    }
    for (const [value, contentType, message] of [
      [Buffer.from("J\u00fcrgen", "latin1"), "text/plain", "is not valid UTF-8."],
      [Buffer.from("J\u00fcrgen", "latin1"), "text/plain; charset=utf-8", "is not valid UTF-8."],
      [Buffer.from([0xed, 0xa0, 0x80]), "text/plain", "is not valid UTF-8."],
      [Buffer.from("ab"), "text/plain; charset=base64", ""],
      [Buffer.from("ab", "utf16le"), "text/plain; charset=utf-16le", ""],
    ] as const) {
      const quoted = Buffer.concat([Buffer.from('{"friendlyName":"'), value, Buffer.from('"}')]);
      for (const part of [
        { name, value, contentType },
        { name: "body", value: quoted, contentType },
        { name: "unknown", value, contentType },
      ]) {
        const answer = await postForm(test, "/blobs", [dataPart("x"), part], { token });
        const expected =
          message === "" ? "The charset must be utf-8 or iso-8859-1." : `The part ${part.name} ${message}`;
        assertError(answer, 400, "ParameterIncorrectFormat", 515, expected);
      }
    }
    assert.equal((await test.app.database.reads.selectFrom("loose_bytes").selectAll().execute()).length, 0);
  });

  it("assigns a part without a type one that browsers do not display", async () => {
    for (const part of [
      { name: "data", value: "<script>" },
      { name: "data", value: "<script>", fileName: "a.html" },
      { name: "data", value: "<script>", contentType: "" },
    ]) {
      const { body } = await postForm(test, "/blobs", [part], { token: owner.token });
      assert.equal(body.result.contentType, "application/octet-stream");
      const { headers } = await download(test, `/blobs/${body.result.id}/file`, { token: owner.token });
      assert.match(headers.get("content-disposition") ?? "", /^attachment/);
    }
  });

  it("tolerates a line break before the first boundary, and an empty last part without headers", async () => {
    const form = formOf([dataPart("bytes")]).toString();
    const withEmptyPart = form.replace(/--(\S+)--\r\n$/, "--$1\r\n\r\n\r\n--$1--\r\n");
    assert.notEqual(withEmptyPart, form);
    for (const body of [form, `\r\n${form}`, withEmptyPart, `\r\n${withEmptyPart}`]) {
      const answer = await test.call("POST /blobs", { token: owner.token, body, headers: formHeaders });
      assert.equal(answer.status, 201, answer.text);
      const { bytes } = await download(test, `/blobs/${answer.body.result.id}/file`, { token: owner.token });
      assert.equal(bytes.toString(), "bytes");
    }
  });

  // spec/files#failed-uploads
  it("answers 400 FileUploadFailed for an empty file, a missing file and an invalid form", async () => {
    const { token } = owner;
    const refused = (answer: Parameters<typeof assertError>[0], message: string) =>
      assertError(answer, 400, "FileUploadFailed", 1025, message);
    refused(await postForm(test, "/blobs", [dataPart("")], { token }), "The file is empty.");
    refused(await postForm(test, "/blobs", [{ name: "tag", value: "x" }], { token }), "The part data is missing.");
    const noForm = "The request must be multipart/form-data, with the file in the part data.";
    refused(await test.call("POST /blobs", { token }), noForm);
    refused(await test.call("POST /blobs", { token, body: { data: "x" } }), noForm);
    const headers = { "content-type": "multipart/form-data" };
    refused(await test.call("POST /blobs", { token, body: "x", headers }), noForm);
    const cut = formOf([dataPart("x".repeat(1_000))]).subarray(0, 600);
    refused(await test.call("POST /blobs", { token, body: cut, headers: formHeaders }), "The upload was interrupted.");
  });

  // spec/files#upload-limits
  it("answers 413 RequestTooLarge with the limit of the file or of the other parts, and stores nothing", async () => {
    const { token } = owner;
    const tooLarge = (answer: Parameters<typeof assertError>[0], message: string) =>
      assertError(answer, 413, "RequestTooLarge", 1281, message);
    const large = dataPart(Buffer.alloc(8_000_001));
    tooLarge(await postForm(test, "/blobs", [large], { token }), "The file is larger than 8000000 bytes.");
    const exact = await postForm(test, "/blobs", [dataPart(Buffer.alloc(8_000_000))], { token });
    assert.equal(exact.status, 201);
    const field = { name: "x", value: "y".repeat(5_000) };
    const message = "The parts other than data are larger than 4096 bytes.";
    for (const form of [
      [field, dataPart("x")],
      [dataPart("x"), field],
    ]) {
      tooLarge(await postForm(test, "/blobs", form, { token }), message);
    }
    const many = Array.from({ length: 101 }, () => ({ name: "x", value: "" }));
    tooLarge(await postForm(test, "/blobs", many, { token }), "The form has more than 100 parts.");
    assert.equal((await test.app.database.reads.selectFrom("loose_bytes").selectAll().execute()).length, 0);
  });
});

describe("POST /pictures", () => {
  it("reads the type and the size from the bytes, not from the claimed type", async () => {
    const bytes = await png(30, 20);
    const fields = { title: "A title", caption: "A caption" };
    const picture = await upload(test, owner.token, "/pictures", dataPart(bytes, "image/jpg"), fields);
    const { id, contentType, size, title, caption } = picture;
    assert.match(id, /^pic_/);
    assert.deepEqual(
      { contentType, size, title, caption },
      { contentType: "image/png", size: { w: 30, h: 20 }, ...fields },
    );
    const read = await download(test, `/pictures/${id}/file`, { token: owner.token });
    assert.ok(read.bytes.equals(bytes));
  });

  it("answers 400 FileUploadFailed for HTML, SVG and text under any name or type (hostile.md 24)", async () => {
    const html = "<html><script>alert(1)</script>";
    for (const text of [html, html.repeat(100_000), "<svg xmlns='http://www.w3.org/2000/svg'/>", "x", "GIF"]) {
      const answer = await postForm(test, "/pictures", [dataPart(text, "image/png", "a.png")], { token: owner.token });
      const message = "A picture must be a JPEG, PNG, GIF, WebP, AVIF or HEIC.";
      assertError(answer, 400, "FileUploadFailed", 1025, message);
    }
  });

  // spec/files#file-fields
  it("stores, returns, changes and clears the title and watermark of a picture and the friendlyName of a video", async () => {
    const tooLong = "x".repeat(257);
    for (const [collection, data, fields] of [
      ["pictures", dataPart(await png(2, 1)), { title: "A title", watermark: "© ℕ😀\u202e" }],
      ["videos", dataPart("x", "video/mp4"), { title: "A title", friendlyName: "A friend" }],
    ] as const) {
      const ownFields = ({ title, watermark, friendlyName }: Record<string, unknown>) => ({
        title,
        watermark,
        friendlyName,
      });
      const made = await upload(test, owner.token, `/${collection}`, data, fields);
      const at = `/${collection}/${made.id}`;
      const whole = { watermark: undefined, friendlyName: undefined, ...fields };
      assert.deepEqual(ownFields(made), whole);
      assert.deepEqual(ownFields((await test.call(`GET ${at}`, { token: owner.token })).body.result), whole);
      const [, last = ["", ""]] = Object.entries(fields);
      const query = new URLSearchParams([last]);
      const listed = (await test.call(`GET /${collection}?${query}`, { token: owner.token })).body.result;
      assert.deepEqual(listed.pageResults.map(ownFields), [whole]);
      const { token: operatorToken } = await test.createOperator();
      const operated = `/_/api/applications/${test.application.appid}${at}`;
      assert.deepEqual(ownFields((await test.call(`GET ${operated}`, { token: operatorToken })).body.result), whole);

      for (const name of Object.keys(fields)) {
        const change = (text: string) => test.call(`PATCH ${at}`, { token: owner.token, body: { [name]: text } });
        assert.deepEqual(ownFields((await change("another")).body.result), { ...whole, [name]: "another" });
        assert.deepEqual(ownFields((await change("")).body.result), { ...whole, [name]: undefined });
        const message = `${name} must have at most 256 characters.`;
        assertError(await change(tooLong), 400, "ParameterOutOfRange", 514, message);
        await change(String(fields[name as keyof typeof fields]));
      }
    }
  });

  it("lets other users read shared files and nothing else", async () => {
    const data = dataPart(await png(3, 2));
    const shared = await upload(test, owner.token, "/pictures", data, { readPermissions: "App" });
    const own = await upload(test, owner.token, "/pictures", data);
    const read = (id: string) => test.call(`GET /pictures/${id}/file?size=1`, { token: other.token });
    assert.equal((await read(shared.id)).status, 200);
    assertError(await read(own.id), 404, "ItemDoesNotExist", 769, "The item does not exist.");
  });
});
