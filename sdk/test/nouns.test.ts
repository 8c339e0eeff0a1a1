import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { type Connection, connect } from "../src/nouns/connect.ts";
import { createAdmin } from "../src/parts/admin/admin.ts";
import { UnexpectedAnswer } from "../src/wire/errors.ts";
import { checkedFetch } from "./checked-fetch.ts";
import { onePixel } from "./pictures.ts";

let test: TestApp;
let ada: Connection;
let adaId: string;
let adaToken: string;
let device: Connection;

before(async () => {
  test = await startTestApp();
  const user = await test.signUp("ada");
  adaId = user.id;
  adaToken = user.token;
  ada = connect({ url: test.url, token: user.token, fetch: checkedFetch() });
  device = connect({ url: test.url, token: user.deviceToken, fetch: checkedFetch() });
});
after(() => test.close());

describe("the methods of the client", () => {
  it("create, read, search, change and delete check-ins", async () => {
    const created = await ada.checkins.create({ location: { lat: 48.2, lng: 16.37 }, comment: "Stephansplatz" });
    assert.ok(created.created instanceof Date);
    assert.deepEqual(created.location, { lat: 48.2, lng: 16.37 });
    assert.deepEqual(await ada.checkins.get(created.id), created);
    const changed = await ada.checkins.change(created.id, { tag: "lunch" });
    assert.equal(changed.tag, "lunch");
    const near = { lat: 48.2, lng: 16.37, meters: 500 };
    const found = await ada.checkins.search({ near, created: { from: new Date(0) } });
    assert.deepEqual(
      found.items.map(({ id }) => id),
      [created.id],
    );
    const box = { southWest: { lat: 40, lng: 10 }, northEast: { lat: 41, lng: 11 } };
    assert.deepEqual((await ada.checkins.search({ box })).items, []);
    assert.equal(await ada.checkins.delete(created.id), undefined);
    await assert.rejects(ada.checkins.get(created.id), { name: "ItemDoesNotExist", status: 404, outcome: "none" });
  });

  it("iterate over the pages of a listing, and continue from a token", async () => {
    for (const comment of ["a", "b", "c"]) await ada.checkins.create({ location: { lat: 1, lng: 2 }, comment });
    const query = { near: { lat: 1, lng: 2, meters: 100 }, sortOrder: "comment", pageSize: 2 } as const;
    const comments = [];
    for await (const { comment } of ada.checkins.search(query)) comments.push(comment);
    assert.deepEqual(comments, ["a", "b", "c"]);
    const first = await ada.checkins.search(query);
    const again = await ada.checkins.search({ pagingToken: first.tokens.next });
    assert.deepEqual(
      again.items.map(({ comment }) => comment),
      ["c"],
    );
  });

  it("read and change users", async () => {
    assert.equal((await ada.users.me()).userName, "ada");
    const dateOfBirth = new Date(Date.UTC(1981, 6, 9));
    const changed = await ada.users.change({ firstName: "Ada", dateOfBirth, gender: "Female" });
    assert.deepEqual([changed.firstName, changed.dateOfBirth, changed.gender], ["Ada", dateOfBirth, "Female"]);
    assert.equal((await ada.users.get(adaId)).firstName, "Ada");
    assert.deepEqual(
      (await ada.users.search({ userName: "ada" })).items.map(({ id }) => id),
      [adaId],
    );
    await ada.users.changePassword({ currentPassword: "correct horse", password: "battery staple" });
    const grace = await test.signUp("grace");
    const connection = connect({ url: test.url, token: grace.token, fetch: checkedFetch() });
    await connection.users.delete();
    await assert.rejects(connection.users.me(), { name: "AuthAccessTokenInvalid" });
  });

  it("add, list, find and remove identities", async () => {
    assert.equal(await ada.identities.add("mail", "ada@example.com"), undefined);
    await ada.identities.add("chess", "ada1815");
    assert.deepEqual((await ada.identities.list()).items.map((identity) => identity.identityProviderID).sort(), [
      "ada1815",
      "ada@example.com",
    ]);
    assert.equal((await ada.identities.list("chess")).items.length, 1);
    assert.equal(await ada.identities.findUser("chess", "ada1815"), adaId);
    await ada.identities.remove("chess", "ada1815");
    await ada.identities.remove("mail");
    assert.equal(await ada.identities.findUser("chess", "ada1815"), undefined);
  });

  it("describe, share and report locations", async () => {
    const created = await ada.locations.create({ name: "Naschmarkt", location: { lat: 48.19, lng: 16.36 } });
    assert.equal((await ada.locations.change(created.id, { city: "Wien" })).city, "Wien");
    assert.deepEqual(
      (await ada.locations.search({ city: "Wien" })).items.map(({ id }) => id),
      [created.id],
    );
    assert.equal((await ada.locations.get(created.id)).name, "Naschmarkt");
    const checkin = await ada.checkins.create({ location: created.id });
    assert.equal(checkin.location.id, created.id);
    assert.equal(await ada.locations.flag(created.id, { flagReason: "Closed" }), undefined);
    await ada.locations.delete(created.id);
  });

  it("store values on objects, users, devices and the application", async () => {
    const value = { since: "/Date(5)/", nested: [{ at: null }] };
    await ada.metadata.ofMe().put("mood", value);
    assert.deepEqual(await ada.metadata.ofMe().get("mood"), value);
    assert.equal(await ada.metadata.ofMe().get("nothing"), undefined);
    assert.equal(await ada.metadata.of("chk_00000000000000000000000000").get("mood"), undefined);
    const checkin = await ada.checkins.create({ location: { lat: 1, lng: 1 } });
    await ada.metadata.of(checkin).putMany({ stars: 4, "a/b": "slash" });
    assert.equal((await ada.metadata.of(checkin).increment("stars", 2)).value, 6);
    assert.equal(await ada.metadata.of(checkin.id).get("a/b"), "slash");
    const items = await ada.metadata.of(checkin).getMany({ keyPrefix: "st" });
    assert.deepEqual(
      items.items.map(({ key, visibility }) => [key, visibility]),
      [["stars", "User"]],
    );
    await ada.metadata.of(checkin).delete("stars");
    assert.equal(await ada.metadata.of(checkin).get("stars"), undefined);
    await device.metadata.ofDevice().put("firmware", 3);
    assert.equal(await device.metadata.ofDevice().get<number>("firmware"), 3);
    await device.metadata.ofApp().increment("starts");
    assert.equal(await ada.metadata.ofApp().get("starts"), 1);
  });

  it("read and change the device, and report crashes", async () => {
    assert.equal((await device.device.get()).platform, "test");
    assert.equal((await device.device.change({ model: "M1" })).model, "M1");
    const report = await device.device.reportCrash({ stackTrace: "Error\n  at f (a.js:1:1)" });
    assert.equal(typeof report.id, "string");
  });

  it("record events, and measure the duration of timed events", async () => {
    await device.metrics.record("started", { values: { version: "1.4", cold: true }, timestamp: new Date(test.now()) });
    const { accepted } = await device.metrics.recordMany([{ key: "a" }, { key: "b", value: 5 }]);
    assert.equal(accepted, 2);
    const { id } = await device.metrics.start("upload", { timeoutInSeconds: 60 });
    assert.ok(id !== undefined);
    test.advance(1500);
    assert.deepEqual(await device.metrics.end(id), { elapsedTimeInMs: 1500 });
  });

  it("upload and download files", async () => {
    const source = new File([onePixel], "one.png", { type: "image/png" });
    const picture = await ada.pictures.create(source, { title: "One pixel", location: { lat: 1, lng: 2 } });
    assert.deepEqual(
      [picture.title, picture.contentType, picture.contentLength],
      ["One pixel", "image/png", onePixel.length],
    );
    const progress: number[] = [];
    const file = await ada.pictures.download(picture.id, {
      verify: true,
      onProgress: ({ done }) => progress.push(done),
    });
    assert.deepEqual([file.contentType, file.contentLength], ["image/png", onePixel.length]);
    assert.deepEqual(new Uint8Array(await (await file.blob()).arrayBuffer()), onePixel);
    assert.equal(progress.at(-1), onePixel.length);
    const part = await ada.pictures.download(picture.id, { range: { from: 1, to: 3 } });
    assert.equal(await part.text(), "PNG");
    assert.equal(ada.pictures.url(picture), picture.signedUrl);
    const scaled = await fetch(ada.pictures.url(picture, { size: { w: 1, h: 1 } }));
    assert.equal(scaled.status, 200);
    await scaled.arrayBuffer();
    assert.equal((await ada.pictures.change(picture.id, { title: "Changed" })).title, "Changed");
    await ada.pictures.delete(picture.id);
    await assert.rejects(ada.pictures.download(picture.id), { name: "ItemDoesNotExist" });
  });

  it("upload bytes from any source, and report the progress", async () => {
    const bytes = new TextEncoder().encode("firmware ".repeat(20_000));
    const open = () => new Blob([bytes]).stream();
    const progress: number[] = [];
    const onProgress = ({ done }: { readonly done: number }) => progress.push(done);
    const blob = await ada.blobs.create({ open, length: bytes.length, name: "f.bin" }, { tag: "fw" }, { onProgress });
    assert.deepEqual([blob.contentLength, blob.tag], [bytes.length, "fw"]);
    assert.ok((progress.at(-1) ?? 0) >= bytes.length);
    assert.deepEqual(
      progress,
      [...progress].sort((a, b) => a - b),
    );
    assert.equal(await (await ada.blobs.download(blob.id)).text(), "firmware ".repeat(20_000));
    progress.length = 0;
    let lost = 1;
    const network: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (lost-- > 0) throw new TypeError("fetch failed");
      return answer;
    };
    const again = connect({ url: test.url, token: adaToken, fetch: network });
    await again.blobs.create(new Blob([bytes]), {}, { onProgress });
    assert.ok(lost < 0 && progress.length > 0);
    assert.equal(new Set(progress).size, progress.length, `${progress}`);
    assert.deepEqual(
      progress,
      [...progress].sort((a, b) => a - b),
    );
    for (const source of [bytes, Buffer.from(bytes)]) {
      const copy = await ada.blobs.create(source);
      assert.equal(copy.contentHash, blob.contentHash);
    }
    const empty = await ada.videos.create(new ArrayBuffer(4), { title: "Short" });
    assert.equal((await ada.videos.search({ title: "Short" })).items[0]?.id, empty.id);
  });

  it("reject a source without bytes, and a missing id, before any request", async () => {
    const wrong: unknown[] = [undefined, null, "hello", {}, 5];
    for (const source of wrong) {
      const upload = ada.blobs.create(source as Blob);
      await assert.rejects(upload, { name: "ConfigurationError", message: /createBlob: .*data must be a Blob/ });
    }
    for (const id of [undefined, null, "", { id: "chk_1" }]) {
      const read = ada.checkins.get(id as string);
      await assert.rejects(read, { name: "ConfigurationError", message: /getCheckin: .*ids and keys/ });
    }
    for (const object of [undefined, {}] as never[]) {
      const read = ada.metadata.of(object).get("mood");
      await assert.rejects(read, { name: "ConfigurationError", message: /getMetadata: .*ids and keys/ });
    }
    assert.equal((await ada.checkins.search({ near: undefined, pageSize: 1 })).items.length, 1);
  });

  it("reject downloaded bytes that differ from the bytes of the object", async () => {
    const blob = await ada.blobs.create(new Blob(["abc"]));
    const altered = connect({
      url: test.url,
      token: (await test.signUp()).token,
      fetch: async (url, init) => (String(url).endsWith("/file") ? new Response("abd") : fetch(url, init)),
    });
    await ada.blobs.change(blob.id, { readPermissions: "App" });
    await assert.rejects(altered.blobs.download(blob.id, { verify: true }), UnexpectedAnswer);
  });

  it("set and remove the profile picture", async () => {
    const picture = await ada.users.setProfilePicture(new Blob([onePixel], { type: "image/png" }), { title: "Me" });
    assert.equal((await ada.users.profilePicture()).id, picture.id);
    assert.equal((await ada.users.profilePicture({ userId: adaId, size: { w: 1, h: 1 } })).id, picture.id);
    const file = await ada.users.downloadProfilePicture();
    assert.deepEqual(new Uint8Array(await (await file.blob()).arrayBuffer()), onePixel);
    await ada.users.deleteProfilePicture();
    await assert.rejects(ada.users.profilePicture(), { name: "ItemDoesNotExist" });
  });

  it("work without a store and a registration: an invalid token is an error and has no further effect", async () => {
    const dead = connect({ url: test.url, token: "nonsense", fetch: checkedFetch() });
    await assert.rejects(dead.users.me(), { name: "AuthAccessTokenInvalid", attempts: 1 });
    for (const wrong of [undefined, {}] as never[]) {
      assert.throws(() => connect(wrong), { name: "ConfigurationError", message: /^connect: url or root must be / });
      assert.throws(() => createAdmin(wrong), { name: "ConfigurationError", message: /^createAdmin: url must be / });
    }
    assert.throws(() => connect({ url: "http://service.example", token: "t" }), { name: "ConfigurationError" });
    for (const token of ["", "two\nlines", "tok\u0439n", undefined]) {
      const wrong = { url: test.url, token: token as string };
      assert.throws(() => connect(wrong), { name: "ConfigurationError", message: /^connect: token / });
      if (token)
        assert.throws(() => createAdmin(wrong), { name: "ConfigurationError", message: /^createAdmin: token / });
    }
  });
});
