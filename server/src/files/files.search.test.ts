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
  pictures: { caption: "A caption", title: "A title" },
  videos: { title: "A title", encoding: "h264" },
  blobs: { friendlyName: "A friend" },
} as const;

describe("searching files: surface.md sections 3 and 10", () => {
  it("each kind by itself: one's own and those that others share, by every text of the kind, in every order", async () => {
    const data = dataPart(await png(1, 1));
    for (const [collection, texts] of Object.entries(kinds)) {
      const me = await test.signUp();
      const plain = await upload(test, me.token, `/${collection}`, data, { tag: "b" });
      test.advance(1_000);
      const full = await upload(test, me.token, `/${collection}`, data, { ...texts, tag: "a", location: "1,2" });
      await upload(test, me.token, collection === "blobs" ? "/videos" : "/blobs", data);
      test.advance(1_000);
      const more = { ...texts, readPermissions: "App" };
      const shared = await upload(test, other.token, `/${collection}`, data, more);
      await upload(test, other.token, `/${collection}`, data);

      assert.deepEqual(await found(`/${collection}`, me), [shared.id, full.id, plain.id]);
      assert.deepEqual(await found(`/${collection}?userID=me`, me), [full.id, plain.id]);
      assert.deepEqual(await found(`/${collection}?userID=${other.id}`, me), [shared.id]);
      assert.deepEqual(await found(`/${collection}?userID=me&sortOrder=tag`, me), [full.id, plain.id]);
      assert.deepEqual(await found(`/${collection}?userID=me&tag=b`, me), [plain.id]);
      for (const [name, text] of Object.entries(texts)) {
        assert.deepEqual(await found(`/${collection}?${name}=${encodeURIComponent(text)}`, me), [shared.id, full.id]);
        assert.deepEqual(await found(`/${collection}?sortOrder=${name}&userID=me`, me), [plain.id, full.id]);
        assert.deepEqual(await found(`/${collection}?${name}=else`, me), []);
      }
      assert.deepEqual(await found(`/${collection}?locationRange=1,2,10&sortOrder=distance`, me), [full.id]);

      const first = await test.call(`GET /${collection}?pageSize=2`, { token: me.token });
      const next = await found(`/${collection}?pagingToken=${first.body.result.nextToken}`, me);
      assert.deepEqual(next, [plain.id]);
      await test.call(`DELETE /${collection}/${shared.id}`, { token: other.token });
    }
  });

  it("finds each file as it is read alone", async () => {
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

describe("changing files", () => {
  it("PATCH: what is not sent stays, the empty text clears, the bytes and what was read of them stay", async () => {
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

  it("permissions are those of every owned object", async () => {
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

  it("others see a file where its owner's locationFuzzing shows it, also after the setting has changed", async () => {
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

  it("no batch takes an upload or bytes, and takes the rest", async () => {
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
