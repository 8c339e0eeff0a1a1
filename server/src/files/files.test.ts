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

describe("POST /blobs: surface.md section 10", () => {
  it("201 the whole object, and the bytes come back identical, whatever their number", async () => {
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

  it("takes the parts in any order, as plain fields or as the part body, which is known by its name alone", async () => {
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

  it("reads each part by its charset; 400 ParameterIncorrectFormat for bytes that are not of it, and nothing is kept", async () => {
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
        const told = message === "" ? "The charset must be utf-8 or iso-8859-1." : `The part ${part.name} ${message}`;
        assertError(answer, 400, "ParameterIncorrectFormat", 515, told);
      }
    }
    assert.equal((await test.app.database.reads.selectFrom("loose_bytes").selectAll().execute()).length, 0);
  });

  it("a part that names no type is of none that a browser shows", async () => {
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

  it("400 FileUploadFailed for an empty file, for none, and for what is no form", async () => {
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
    refused(await test.call("POST /blobs", { token, body: cut, headers: formHeaders }), "The upload broke off.");
  });

  it("413 RequestTooLarge naming the limit, of the file and of the other parts; nothing is kept", async () => {
    const { token } = owner;
    const tooLarge = (answer: Parameters<typeof assertError>[0], message: string) =>
      assertError(answer, 413, "RequestTooLarge", 1281, message);
    const large = dataPart(Buffer.alloc(8_000_001));
    tooLarge(await postForm(test, "/blobs", [large], { token }), "The file is larger than 8000000 bytes.");
    const exact = await postForm(test, "/blobs", [dataPart(Buffer.alloc(8_000_000))], { token });
    assert.equal(exact.status, 201);
    const field = { name: "x", value: "y".repeat(5_000) };
    const message = "The parts beside data are larger than 4096 bytes.";
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
  it("reads the type and the size from the bytes, whatever was claimed", async () => {
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

  it("400 FileUploadFailed for HTML, SVG and text, whatever they are called (hostile.md 24)", async () => {
    const html = "<html><script>alert(1)</script>";
    for (const text of [html, html.repeat(100_000), "<svg xmlns='http://www.w3.org/2000/svg'/>", "x", "GIF"]) {
      const answer = await postForm(test, "/pictures", [dataPart(text, "image/png", "a.png")], { token: owner.token });
      const message = "A picture must be a JPEG, PNG, GIF, WebP or AVIF.";
      assertError(answer, 400, "FileUploadFailed", 1025, message);
    }
  });

  it("others read what is shared, and nothing else", async () => {
    const data = dataPart(await png(3, 2));
    const shared = await upload(test, owner.token, "/pictures", data, { readPermissions: "App" });
    const own = await upload(test, owner.token, "/pictures", data);
    const read = (id: string) => test.call(`GET /pictures/${id}/file?size=1`, { token: other.token });
    assert.equal((await read(shared.id)).status, 200);
    assertError(await read(own.id), 404, "ItemDoesNotExist", 769, "The item does not exist.");
  });
});
