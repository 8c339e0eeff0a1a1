import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";

let test: TestApp;
let operator: string;
let jane: TestUser;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator()).token;
  jane = await test.signUp();
});
after(() => test.close());

const pathOf = (path: string, { appid } = test.application) => `/_/api/applications/${appid}${path}`;
const ask = (path: string, application = test.application): Promise<Answer> =>
  test.call(`GET ${pathOf(path, application)}`, { token: operator });

// spec/operators#operator-views
describe("files of an application, for operators", () => {
  it("are listed by kind, user and creation, private or not, without any URL that works without a token", async () => {
    const john = await test.signUp();
    const blobs = [];
    for (const [n, { token }] of [jane, john, jane].entries()) {
      test.advance(1_000);
      blobs.push(await upload(test, token, "/blobs", dataPart(`${n}`, "text/plain", `n${n}`), { location: "1,2" }));
    }
    const picture = await upload(test, jane.token, "/pictures", dataPart(await png(2, 1)), { caption: "%" });
    const find = async (query: string) =>
      (await ask(query)).body.result.pageResults.map(({ id }: { id: string }) => id);
    const [first, second, third] = blobs.map(({ id }) => id);
    assert.deepEqual(await find("/blobs"), [third, second, first]);
    assert.deepEqual(await find(`/blobs?userID=${jane.id}&sortOrder=created`), [first, third]);
    assert.deepEqual(await find(`/blobs?created=${test.now()}-`), [third]);
    assert.deepEqual(await find("/videos"), []);
    assert.deepEqual(await find("/pictures"), [picture.id]);
    const { signedUrl, ...shown } = picture;
    assert.ok(signedUrl !== undefined);
    assertResult(await ask(`/pictures/${picture.id}`), 200, { ...shown, fileName: "a" });
    assert.ok(!JSON.stringify((await ask("/blobs")).body).includes("signature"));
  });

  it("can be read with ranges, scaled if they are pictures, and are never executed by a browser", async () => {
    const bytes = await png(40, 20);
    const { id } = await upload(test, jane.token, "/pictures", dataPart(bytes));
    const whole = await download(test, pathOf(`/pictures/${id}/file`), { token: operator });
    assert.deepEqual([whole.status, whole.bytes], [200, bytes]);
    const part = await download(test, pathOf(`/pictures/${id}/file`), {
      token: operator,
      headers: { range: "bytes=1-3" },
    });
    assert.deepEqual([part.status, `${part.bytes}`], [206, "PNG"]);
    const small = await download(test, pathOf(`/pictures/${id}/file?size=10`), { token: operator });
    assert.ok(small.bytes.length > 0 && !small.bytes.equals(bytes));
    const page = await upload(test, jane.token, "/blobs", dataPart("<script>", "text/html", 'a"\r\nX: y.html'));
    const { headers } = await download(test, pathOf(`/blobs/${page.id}/file`), { token: operator });
    assert.match(`${headers.get("content-disposition")}`, /^attachment/);
    assert.equal(headers.get("content-security-policy"), "default-src 'none'; sandbox");
    assert.equal(headers.get("x"), null);
    for (const query of [`?accessToken=${operator}`, "?signature=a&application=b&expires=1"]) {
      assert.equal((await test.call(`GET ${pathOf(`/blobs/${page.id}/file${query}`)}`)).status, 401, query);
    }
  });

  // spec/operators#operator-roles
  it("are shown to viewers as scaled pictures without camera metadata, and never as original bytes", async () => {
    const { token } = await test.createOperator(undefined, "viewer");
    const { default: sharp } = await import("sharp");
    const camera = await sharp(await png(40, 20))
      .jpeg()
      .withExif({ IFD0: { Make: "a camera" } })
      .toBuffer();
    assert.ok(camera.includes("a camera"));
    const picture = await upload(test, jane.token, "/pictures", dataPart(camera, "image/jpeg"));
    const blob = await upload(test, jane.token, "/blobs", dataPart("x"));
    const read = (path: string) => download(test, pathOf(path), { token });
    for (const size of ["10", "40", "16384", "40,20"]) {
      const { status, bytes } = await read(`/pictures/${picture.id}/file?size=${size}`);
      assert.equal(status, 200, size);
      assert.ok(bytes.length > 0 && !bytes.includes("a camera"), size);
    }
    for (const path of [
      `/pictures/${picture.id}/file`,
      `/pictures/${picture.id}/file?size=`,
      `/blobs/${blob.id}/file`,
    ]) {
      const refused = await test.call(`GET ${pathOf(path)}`, { token });
      assertError(refused, 403, "ObjectPermissionDenied", 771, "This requires the role editor.");
    }
    const editor = await test.createOperator(undefined, "editor");
    const whole = await download(test, pathOf(`/pictures/${picture.id}/file`), { token: editor.token });
    assert.ok(whole.bytes.equals(camera));
  });

  it("are answered with 404 if they are of another kind or application, or if their owner is being erased", async () => {
    const other = await test.createApplication();
    const gone = await test.signUp("Gone", other);
    const { id } = await upload(test, gone.token, "/blobs", dataPart("x"));
    const paths = [`/blobs/${id}`, `/blobs/${id}/file`];
    for (const path of paths) assertError(await ask(path), 404, "ItemDoesNotExist", 769, "The item does not exist.");
    const wrongKind = await ask(`/pictures/${id}`, other);
    assertError(wrongKind, 400, "ParameterOutOfRange", 514, "Incorrect id type, expected Picture.");
    await test.app.database.write(({ queries }) =>
      queries.updateTable("users").set({ deleted_at: test.now() }).where("id", "=", gone.id).execute(),
    );
    for (const path of paths) assert.equal((await ask(path, other)).status, 404);
    assert.deepEqual((await ask("/blobs", other)).body.result.pageResults, []);
  });

  it("are summed up in usage, which also reports the limits", async () => {
    const application = await test.createApplication();
    assertResult(await ask("/file-usage", application), 200, { files: 0, bytes: 0 });
    const { token } = await test.signUp("Jane", application);
    for (const text of ["ab", "cde"]) await upload(test, token, "/blobs", dataPart(text));
    const settings = JSON.stringify({ quotas: { filesPerApplication: 7 } });
    await test.app.database.write(({ queries }) =>
      queries.updateTable("applications").set({ settings }).where("application_id", "=", application.appid).execute(),
    );
    assertResult(await ask("/file-usage", application), 200, { files: 2, bytes: 5, filesMax: 7 });
  });
});
