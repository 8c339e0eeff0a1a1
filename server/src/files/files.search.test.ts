import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, png, upload } from "../../test/uploads.ts";

let test: TestApp;
let owner: TestUser;
let other: TestUser;
before(async () => {
  test = await startTestApp();
  owner = await test.signUp();
  other = await test.signUp();
});
after(() => test.close());

async function found(path: string, { token } = owner): Promise<string[]> {
  const { status, body } = await test.call(`GET ${path}`, { token });
  assert.equal(status, 200, body.message);
  return body.result.pageResults.map(({ id }: { id: string }) => id);
}

const kinds = {
  pictures: { caption: "A caption", title: "A title", watermark: "A watermark" },
  videos: {
    title: "A title",
    encoding: "h264",
    friendlyName: "A friend",
    bitRate: 0,
    lengthInSeconds: 1.5,
    thumbnailID: "pic_00000000000000000000000000",
  },
  blobs: { friendlyName: "A friend" },
} as const;

describe("the search of files: spec/files#file-operations", () => {
  it("returns the user's own files and shared ones of one kind, by every field of the kind, in every order", async () => {
    const data = dataPart(await png(1, 1));
    for (const [collection, fields] of Object.entries(kinds)) {
      const me = await test.signUp();
      const plain = await upload(test, me.token, `/${collection}`, data, { tag: "b" });
      test.advance(1_000);
      const full = await upload(test, me.token, `/${collection}`, data, { ...fields, tag: "a", location: "1,2" });
      await upload(test, me.token, collection === "blobs" ? "/videos" : "/blobs", data);
      test.advance(1_000);
      const more = { ...fields, readPermissions: "App" };
      const shared = await upload(test, other.token, `/${collection}`, data, more);
      await upload(test, other.token, `/${collection}`, data);

      assert.deepEqual(await found(`/${collection}`, me), [shared.id, full.id, plain.id]);
      assert.deepEqual(await found(`/${collection}?userID=me`, me), [full.id, plain.id]);
      assert.deepEqual(await found(`/${collection}?userID=${other.id}`, me), [shared.id]);
      assert.deepEqual(await found(`/${collection}?userID=me&sortOrder=tag`, me), [full.id, plain.id]);
      assert.deepEqual(await found(`/${collection}?userID=me&tag=b`, me), [plain.id]);
      for (const [name, value] of Object.entries(fields)) {
        assert.deepEqual(await found(`/${collection}?${name}=${encodeURIComponent(value)}`, me), [shared.id, full.id]);
        assert.deepEqual(await found(`/${collection}?sortOrder=${name}&userID=me`, me), [plain.id, full.id]);
        const another =
          name === "thumbnailID" ? test.app.ids.newId("Picture") : typeof value === "number" ? 77 : "else";
        assert.deepEqual(await found(`/${collection}?${name}=${another}`, me), []);
      }
      assert.deepEqual(await found(`/${collection}?locationRange=1,2,10&sortOrder=distance`, me), [full.id]);

      const first = await test.call(`GET /${collection}?pageSize=2`, { token: me.token });
      const next = await found(`/${collection}?pagingToken=${first.body.result.nextToken}`, me);
      assert.deepEqual(next, [plain.id]);
      await test.call(`DELETE /${collection}/${shared.id}`, { token: other.token });
    }
  });

  it("validates a number or an id as a filter of its type with 400, and ignores fields of another kind", async () => {
    const search = (query: string) => test.call(`GET ${query}`, { token: owner.token });
    const format = (name: string, message: string) => [name, 400, "ParameterIncorrectFormat", 515, message] as const;
    const range = (name: string, message: string) => [name, 400, "ParameterOutOfRange", 514, message] as const;
    for (const [query, status, error, errorNumber, message] of [
      format("bitRate=fast", "bitRate must be an integer."),
      format("bitRate=1.5", "bitRate must be an integer."),
      range("bitRate=-1", "bitRate must be at least 0."),
      format("lengthInSeconds=long", "lengthInSeconds must be a number."),
      range("lengthInSeconds=-0.1", "lengthInSeconds must be at least 0."),
      range("lengthInSeconds=1e400", "lengthInSeconds must be a finite number."),
      format("thumbnailID=none", "thumbnailID must be an id."),
      range(`thumbnailID=${owner.id}`, "Incorrect id type, expected Picture."),
    ]) {
      assertError(await search(`/videos?${query}`), status, error, errorNumber, message);
    }
    for (const collection of ["pictures", "blobs"]) {
      assert.equal((await search(`/${collection}?sortOrder=bitRate`)).body.error, "ParameterIncorrectFormat");
      assert.equal((await search(`/${collection}?bitRate=fast`)).status, 200); // unknown parameters are ignored
    }
  });

  it("orders by numbers: absent ones first, then by exact value, ties by creation, across pages", async () => {
    const me = await test.signUp();
    const ids: string[] = [];
    const bitRates = [Number.MAX_SAFE_INTEGER, 10, 9, 0, undefined, Number.MAX_SAFE_INTEGER - 1, 9, undefined];
    for (const [n, bitRate] of bitRates.entries()) {
      test.advance(1_000);
      const lengthInSeconds = [0.1 + 0.2, 0.3, 1e300, 5e-324][n % 4];
      ids.push((await upload(test, me.token, "/videos", dataPart("x"), { bitRate, lengthInSeconds })).id);
    }
    const sorted = async (sortOrder: string) => {
      const walked: number[] = [];
      let query = `userID=me&pageSize=3&sortOrder=${sortOrder}`;
      for (;;) {
        const { body } = await test.call(`GET /videos?${query}`, { token: me.token });
        walked.push(...body.result.pageResults.map(({ id }: { id: string }) => ids.indexOf(id)));
        if (body.result.nextToken === undefined) return walked;
        query = `pagingToken=${body.result.nextToken}`;
      }
    };
    const byBitRate = [4, 7, 3, 2, 6, 1, 5, 0];
    assert.deepEqual(await sorted("bitRate"), byBitRate);
    assert.deepEqual(await sorted("-bitRate"), byBitRate.toReversed());
    assert.deepEqual(await sorted("lengthInSeconds"), [3, 7, 1, 5, 0, 4, 2, 6]);
    const exact = await found(`/videos?userID=me&lengthInSeconds=${0.1 + 0.2}&sortOrder=created`, me);
    assert.deepEqual(exact, [ids[0], ids[4]]);
    assert.deepEqual(await found(`/videos?userID=me&bitRate=${Number.MAX_SAFE_INTEGER}`, me), [ids[0]]);
  });

  it("returns each file exactly as a single read does", async () => {
    const fields = { bitRate: 128_000, lengthInSeconds: 1.5, thumbnailID: test.app.ids.newId("Picture"), title: "t" };
    const video = await upload(test, owner.token, "/videos", dataPart("x", "video/mp4"), fields);
    const { bitRate, lengthInSeconds, thumbnailID, title } = video;
    assert.deepEqual({ bitRate, lengthInSeconds, thumbnailID, title }, fields);
    const page = await test.call("GET /videos?userID=me", { token: owner.token });
    assert.deepEqual(page.body.result.pageResults, [video]);
    assertResult(await test.call(`GET /videos/${video.id}`, { token: owner.token }), 200, video);
    const wrong = { bitRate: -1 };
    const refused = await test.call(`PATCH /videos/${video.id}`, { token: owner.token, body: wrong });
    assertError(refused, 400, "ParameterOutOfRange", 514, "bitRate must be at least 0.");
  });
});

describe("a change of a file", () => {
  it("by PATCH preserves omitted fields, clears with the empty string, and does not touch the bytes and their properties", async () => {
    const { token } = owner;
    const data = dataPart(await png(4, 3));
    const picture = await upload(test, token, "/pictures", data, { ...kinds.pictures, tag: "t", location: "1,2" });
    test.advance(1_000);
    const lastModified = `/Date(${test.now()})/`;
    const change = (body: object) => test.call(`PATCH /pictures/${picture.id}`, { token, body });
    const ignored = { contentType: "text/html", size: { w: 9, h: 9 }, contentHash: "x", friendlyName: "x", id: "x" };
    const changed = { ...picture, title: "Another", lastModified };
    assertResult(await change({ title: "Another", ...ignored }), 200, changed);
    const { caption: _, tag: __, ...cleared } = changed;
    assertResult(await change({ caption: "", tag: "" }), 200, cleared);
    const moved = { ...cleared, location: { lat: 3, lng: 4 } };
    assertResult(await change({ location: "3,4" }), 200, moved);
    assertResult(await test.call(`GET /pictures/${picture.id}`, { token }), 200, moved);
  });

  it("follows the permissions of every owned object", async () => {
    const both = { readPermissions: "App", writePermissions: "App" };
    const { id } = await upload(test, owner.token, "/blobs", dataPart("x"), both);
    const { token } = other;
    const theirs = await test.call(`PATCH /blobs/${id}`, { token, body: { friendlyName: "theirs" } });
    assert.equal(theirs.body.result.friendlyName, "theirs");
    for (const denied of [
      await test.call(`PATCH /blobs/${id}`, { token, body: { readPermissions: "User" } }),
      await test.call(`DELETE /blobs/${id}`, { token }),
    ]) {
      assertError(denied, 403, "ObjectPermissionDenied", 771, "Only the owner may do this.");
    }
    assert.equal(
      (await test.call(`PATCH /blobs/${id}`, { token: owner.token, body: { writePermissions: "User" } })).status,
      200,
    );
  });

  it("shows other users the fuzzed location of a file, also after a change of the setting", async () => {
    const shy = await test.signUp();
    const fields = { location: "48,16", readPermissions: "App" };
    const { id } = await upload(test, shy.token, "/blobs", dataPart("x"), fields);
    const seen = async () => (await test.call(`GET /blobs/${id}`, { token: other.token })).body.result.location;
    const truth = { lat: 48, lng: 16 };
    assert.deepEqual(await seen(), truth);
    await test.call("PATCH /users/me", { token: shy.token, body: { locationFuzzing: true } });
    assert.notDeepEqual(await seen(), truth);
    assert.deepEqual(await found("/blobs?locationRange=48,16,100", other), []);
    assert.deepEqual(await found("/blobs?locationRange=48,16,100", shy), [id]);
    await test.call("PATCH /users/me", { token: shy.token, body: { locationFuzzing: false } });
    assert.deepEqual(await seen(), truth);
  });

  it("is accepted in a batch, as are the other operations except uploads and downloads", async () => {
    const { id } = await upload(test, owner.token, "/blobs", dataPart("x"));
    const requests = [
      { method: "POST", path: "/blobs" },
      { method: "GET", path: `/blobs/${id}/file` },
      { method: "GET", path: `/blobs/${id}` },
    ];
    const { body } = await test.call("POST /batch", { token: owner.token, body: { requests } });
    const statuses = body.result.responses.map(({ status, error }: { status: number; error?: string }) => [
      status,
      error,
    ]);
    assert.deepEqual(statuses, [
      [404, "OperationNotFound"],
      [404, "OperationNotFound"],
      [200, undefined],
    ]);
  });
});
