import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  type CallOptions,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import { dataPart, download, type FormPart, png, postForm, upload } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { updateApplicationSettings } from "../tenancy/application-settings.ts";

let test: TestApp;
let other: TestUser;
let image: Buffer;
before(async () => {
  test = await startTestApp();
  other = await test.signUp();
  image = await png(40, 20);
});
after(() => test.close());

const path = "/users/me/profilepicture";

function post(user: TestUser, parts: readonly FormPart[] = [], options: CallOptions = {}, at = path): Promise<Answer> {
  return postForm(test, at, [...parts, dataPart(image, "image/png", "me.png")], { token: user.token, ...options });
}

// biome-ignore lint/suspicious/noExplicitAny: tests assert on results of many shapes
async function set(user: TestUser, caption?: string): Promise<any> {
  const answer = await post(user, caption === undefined ? [] : [{ name: "caption", value: caption }]);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.result;
}

function get(user: TestUser, operation = `GET ${path}`): Promise<Answer> {
  return test.call(operation, { token: user.token });
}

function assertMissing(answer: Answer): void {
  assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
}

/** Returns the picture fields of a user's profile as this reader sees them. */
async function pictureSeen(user: TestUser, reader: TestUser): Promise<[id: unknown, path: unknown]> {
  const { profilePictureID, profilePictureUrl } = (await get(reader, `GET /users/${user.id}`)).body.result;
  const found = (await get(reader, `GET /users?userName=${encodeURIComponent(user.userName)}`)).body.result.pageResults;
  assert.deepEqual(
    [found[0].profilePictureID, found[0].profilePictureUrl],
    [profilePictureID, profilePictureUrl],
    "searches say the same",
  );
  return [profilePictureID, profilePictureUrl?.split("?")[0]];
}

const none = [undefined, undefined];

function seenAt(id: string): [string, string] {
  return [id, `${test.url}/pictures/${id}/file`];
}

describe("POST /users/{userId}/profilepicture: spec/users#set-a-profile-picture", () => {
  it("answers 201 with the Picture object as later reads return it, and every profile response names it", async () => {
    const user = await test.signUp();
    assert.deepEqual(await pictureSeen(user, other), none);
    test.advance(1_000);
    const picture = await set(user, "Me");
    const now = `/Date(${test.now()})/`;
    const { id, signedUrl, contentHash } = picture;
    assert.deepEqual(picture, {
      ...{ id, userID: user.id, contentType: "image/png", contentLength: image.length, contentHash, signedUrl },
      ...{ caption: "Me", size: { w: 40, h: 20 }, readPermissions: "App", created: now, lastModified: now },
    });
    assertResult(await get(user), 200, picture);
    assertResult(await get(user, `GET /users/${user.id}/profilepicture`), 200, picture);
    assertResult(await get(user, `GET /pictures/${id}`), 200, picture);
    assert.deepEqual((await get(user, "GET /pictures?userID=me")).body.result.pageResults, [picture]);

    const profile = (await get(user, "GET /users/me")).body.result;
    assert.deepEqual([profile.profilePictureID, profile.profilePictureUrl], [id, signedUrl]);
    assert.equal(profile.lastModified, now);
    for (const reader of [user, other]) assert.deepEqual(await pictureSeen(user, reader), seenAt(id));
    const body = { username: user.userName, password: user.password };
    const login = (await test.call("POST /users/login", { token: user.deviceToken, body })).body.result;
    assert.deepEqual([login.profilePictureID, login.profilePictureUrl], [id, signedUrl]);
    const changed = await test.call("PATCH /users/me", { token: user.token, body: { firstName: "Jane" } });
    assert.equal(changed.body.result.profilePictureID, id);
  });

  // spec/users#picture-fields-in-profiles
  it("lets other users read the picture like any shared one, and its bytes through profilePictureUrl", async () => {
    const user = await test.signUp();
    const picture = await set(user, "Me");
    assertResult(await get(other, `GET /pictures/${picture.id}`), 200, picture);
    const { profilePictureUrl } = (await get(other, `GET /users/${user.id}`)).body.result;
    for (const url of [profilePictureUrl, `${profilePictureUrl}&size=10`]) {
      const { status, headers, bytes } = await download(test, url);
      assert.deepEqual([status, headers.get("content-type")], [200, "image/png"]);
      assert.equal(bytes.equals(image), url === profilePictureUrl);
    }
    const stranger = await test.signUp("stranger", await test.createApplication());
    assertMissing(await get(stranger, `GET /pictures/${picture.id}`));
  });

  it("replaces the previous picture, its bytes and all data that belongs to it", async () => {
    const user = await test.signUp();
    const first = await set(user, "First");
    const metadata = { token: other.token, body: { value: 1 } };
    assert.equal((await test.call(`PUT /metadata/${first.id}/key`, metadata)).status, 201);
    const second = await set(user);
    assert.deepEqual(await pictureSeen(user, other), seenAt(second.id));
    assertMissing(await get(user, `GET /pictures/${first.id}`));
    assertMissing(await get(other, `GET /metadata/${first.id}`));
    assert.deepEqual((await get(user, "GET /pictures?userID=me")).body.result.pageResults, [second]);
    assert.equal((await download(test, first.signedUrl)).status, 404);
    await maintain(test.app);
    const { appid } = test.application;
    await assert.rejects(test.app.bytes.read(`${appid}/${first.id}/original`));
    const usage = await test.app.database.reads
      .selectFrom("file_usage")
      .select(["bytes", "files"])
      .where("user_id", "=", user.id)
      .execute();
    assert.deepEqual(
      [...usage].map(({ bytes, files }) => [bytes, files]),
      [[image.length, 1]],
    );
  });

  it("stores one picture after many concurrent uploads", async () => {
    const user = await test.signUp();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => post(user, [{ name: "caption", value: `${n}` }])),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    const now = (await get(user)).body.result;
    assert.deepEqual((await get(user, "GET /pictures?userID=me")).body.result.pageResults, [now]);
    const ids = answers.map(({ body }) => body.result.id);
    assert.ok(ids.includes(now.id));
    assert.deepEqual(await pictureSeen(user, other), seenAt(now.id));
  });

  it("accepts only caption and title, because clients cannot set permissions, location or an owner here", async () => {
    const user = await test.signUp();
    const fields = {
      readPermissions: "User",
      writePermissions: "App",
      location: "1,2",
      tag: "t",
      userID: other.id,
    };
    const body = { name: "body", value: JSON.stringify({ ...fields, caption: "c", id: "x", size: {} }) };
    const { result } = (await post(user, [body])).body;
    const { writePermissions, location, tag, readPermissions, userID, caption } = result;
    assert.deepEqual([writePermissions, location, tag], [undefined, undefined, undefined]);
    assert.deepEqual([readPermissions, userID, caption], ["App", user.id, "c"]);
  });

  it("accepts a title", async () => {
    const user = await test.signUp();
    const answer = await post(user, [{ name: "title", value: "Portrait" }]);
    assert.deepEqual([answer.status, answer.body.result.title], [201, "Portrait"]);
    assertResult(await get(user), 200, answer.body.result);
    const long = await post(user, [{ name: "title", value: "x".repeat(257) }]);
    assertError(long, 400, "ParameterOutOfRange", 514, "title must have at most 256 characters.");
  });

  it("answers FileUploadFailed if the upload is not a picture or not a form, and preserves the previous picture", async () => {
    const user = await test.signUp();
    const picture = await set(user);
    const send = (parts: FormPart[]) => postForm(test, path, parts, { token: user.token });
    for (const refused of [
      await send([dataPart("<svg/>", "image/png")]),
      await send([dataPart(image.subarray(0, image.length - 20), "image/png")]),
      await send([{ name: "caption", value: "x" }]),
      await test.call(`POST ${path}`, { token: user.token, body: {} }),
    ]) {
      assert.deepEqual([refused.status, refused.body.error], [400, "FileUploadFailed"]);
    }
    const long = await post(user, [{ name: "caption", value: "x".repeat(4_001) }]);
    assertError(long, 400, "ParameterOutOfRange", 514, "caption must have at most 4000 characters.");
    assertResult(await get(user), 200, picture);
  });

  it("refuses an invalid user id with 400 before the file has arrived", async () => {
    const user = await test.signUp();
    const large = dataPart(Buffer.alloc(20_000_000));
    const send = (id: string) => postForm(test, `/users/${id}/profilepicture`, [large], { token: user.token });
    assertError(await send("you"), 400, "ParameterIncorrectFormat", 515, "userId must be an id.");
    const wrongKind = await send(test.app.ids.newId("Picture"));
    assertError(wrongKind, 400, "ParameterOutOfRange", 514, "Incorrect id type, expected User.");
    assert.equal((await get(user, "GET /users/me")).status, 200);
  });

  it("answers a repeat with the same Idempotency-Key with the first response, and changes nothing", async () => {
    const user = await test.signUp();
    const headers = { "idempotency-key": "mine" };
    const first = await post(user, [], { headers });
    const repeat = await post(user, [], { headers });
    assert.deepEqual(repeat.body.result, first.body.result);
    assert.equal(repeat.headers["idempotent-replayed"], "true");
    assert.equal((await get(user)).body.result.id, first.body.result.id);
    const another = await post(user, [{ name: "caption", value: "another" }], { headers });
    assert.deepEqual([another.status, another.body.error], [409, "IdempotencyKeyReused"]);
  });

  it("accepts a replacement no larger than the replaced picture when the quota is full", async () => {
    const application = await test.createApplication();
    const user = await test.signUp("quota", application);
    const quotas = { filesPerUser: 1, bytesPerUser: image.length };
    await test.app.database.write(({ queries }) =>
      updateApplicationSettings(application.appid, { oidc: {}, quotas }, queries),
    );
    const first = await set(user);
    const second = await set(user);
    assert.notEqual(second.id, first.id);
    const larger = dataPart(Buffer.concat([image, Buffer.alloc(10)]), "image/png");
    const refused = await postForm(test, path, [larger], { token: user.token });
    assert.deepEqual([refused.status, refused.body.error], [413, "RequestTooLarge"]);
    assertResult(await get(user), 200, second);
  });
});

// spec/users#read-a-profile-picture
describe("GET /users/{userId}/profilepicture", () => {
  it("returns the scaled size for a requested size, never a larger one, and a signedUrl for exactly that size", async () => {
    const user = await test.signUp();
    const picture = await set(user);
    const { default: sharp } = await import("sharp");
    for (const [size, expected] of [
      ["20", { w: 20, h: 10 }],
      ["10,10", { w: 10, h: 5 }],
      [" 1000 , 7 ", { w: 14, h: 7 }],
      ["1", { w: 1, h: 1 }],
      ["33", { w: 33, h: 17 }],
      ["40,20", { w: 40, h: 20 }],
      ["16384", { w: 40, h: 20 }],
    ] as const) {
      const { result } = (await get(user, `GET ${path}?size=${encodeURIComponent(size)}`)).body;
      assert.deepEqual({ ...result, signedUrl: "" }, { ...picture, size: expected, signedUrl: "" }, size);
      assert.equal(result.signedUrl.split("?")[0], picture.signedUrl.split("?")[0]);
      const { status, bytes } = await download(test, result.signedUrl);
      const { width, height } = await sharp(bytes).metadata();
      assert.deepEqual([status, width, height], [200, expected.w, expected.h], size);
    }
  });

  it("answers 400 for an invalid size, even without a picture, and 404 without a picture", async () => {
    const user = await test.signUp();
    assertMissing(await get(user));
    assertMissing(await get(user, `GET ${path}?size=10`));
    await set(user);
    const format = ["a", "1,2,3", "-1", "1.5", "{}", "10,"];
    for (const size of format) {
      const answer = await get(user, `GET ${path}?size=${encodeURIComponent(size)}`);
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "size must be <n> or <w>,<h>.");
    }
    for (const size of ["0", "16385", "1,0"]) {
      const answer = await get(user, `GET ${path}?size=${size}`);
      assertError(answer, 400, "ParameterOutOfRange", 514, "size must be from 1 to 16384.");
    }
  });
});

// spec/users#read-a-profile-picture
describe("GET /users/{userId}/profilepicture/file", () => {
  it("answers 200 with the bytes, also by accessToken and scaled, with ranges, HEAD and If-None-Match as for every file", async () => {
    const user = await test.signUp();
    await set(user);
    const own = `${path}/file`;
    for (const [reader, at] of [
      [user, own],
      [user, `/users/${user.id}/profilepicture/file`],
      [other, `/users/${user.id}/profilepicture/file`],
    ] as const) {
      const { token } = reader;
      const whole = await download(test, at, { token });
      assert.deepEqual([whole.status, whole.headers.get("content-type")], [200, "image/png"]);
      assert.ok(whole.bytes.equals(image));
      const byQuery = await download(test, `${at}?AccessToken=${encodeURIComponent(token)}&size=20`);
      const { default: sharp } = await import("sharp");
      assert.deepEqual([byQuery.status, (await sharp(byQuery.bytes).metadata()).width], [200, 20]);
      const etag = whole.headers.get("etag") ?? "";
      assert.equal((await download(test, at, { token, headers: { "if-none-match": etag } })).status, 304);
      const range = await download(test, at, { token, headers: { range: "bytes=1-3" } });
      assert.deepEqual([range.status, `${range.bytes}`], [206, "PNG"]);
      const head = await download(test, at, { token, method: "HEAD" });
      assert.deepEqual(
        [head.status, head.headers.get("content-length"), head.bytes.length],
        [200, `${image.length}`, 0],
      );
    }
  });

  it("answers 404 without a picture, and for a private one, celebMode, another application and an unknown user", async () => {
    const user = await test.signUp();
    const at = `/users/${user.id}/profilepicture/file`;
    for (const operation of [`GET ${path}/file`, `GET ${at}`]) assertMissing(await get(user, operation));
    assertMissing(await get(other, `GET ${at}`));
    const { id } = await set(user);
    const stranger = await test.signUp("stranger", await test.createApplication());
    assertMissing(await get(stranger, `GET ${at}`));
    assertMissing(await get(other, `GET /users/${test.app.ids.newId("User")}/profilepicture/file`));
    const isShown = async () => {
      const answers = [
        await download(test, at, { token: other.token }),
        await download(test, at, { token: user.token }),
      ];
      return answers.map(({ status }) => status);
    };
    assert.deepEqual(await isShown(), [200, 200]);
    for (const [operation, body, back] of [
      ["PATCH /users/me", { celebMode: true }, { celebMode: false }],
      [`PATCH /pictures/${id}`, { readPermissions: "User" }, { readPermissions: "App" }],
    ] as const) {
      await test.call(operation, { token: user.token, body });
      assert.deepEqual(await isShown(), [404, 200], operation);
      assertMissing(await get(other, `GET ${at}`));
      await test.call(operation, { token: user.token, body: back });
      assert.deepEqual(await isShown(), [200, 200], operation);
    }
  });

  it("answers 401 without a token, with a wrong one or with a signature, which these URLs never have, and 403 with a device token", async () => {
    const user = await test.signUp();
    const { signedUrl } = await set(user);
    for (const query of ["", "?accessToken=x", "?accessToken="]) {
      const answer = await test.call(`GET ${path}/file${query}`);
      assert.deepEqual([answer.status, answer.body.error], [401, "AuthAccessTokenInvalid"]);
    }
    const signed = await test.call(`GET ${path}/file?${signedUrl.split("?")[1]}`);
    assert.deepEqual([signed.status, signed.body.error], [401, "AuthSignatureInvalid"]);
    const device = await test.call(`GET ${path}/file`, { token: user.deviceToken });
    assert.deepEqual([device.status, device.body.error], [403, "AuthUserAccessTokenRequired"]);
  });
});

// spec/users#delete-a-profile-picture
describe("DELETE /users/{userId}/profilepicture", () => {
  it("answers true, deletes the picture and removes it from the profile; 404 without a picture", async () => {
    const user = await test.signUp();
    assertMissing(await get(user, `DELETE ${path}`));
    const { id } = await set(user);
    test.advance(1_000);
    assertResult(await get(user, `DELETE ${path}`), 200, true);
    for (const reader of [user, other]) assert.deepEqual(await pictureSeen(user, reader), none);
    assert.equal((await get(user, "GET /users/me")).body.result.lastModified, `/Date(${test.now()})/`);
    for (const operation of [`GET ${path}`, `DELETE ${path}`, `GET /pictures/${id}`]) {
      assertMissing(await get(user, operation));
    }
  });

  it("answers true to only one of many concurrent deletions", async () => {
    const user = await test.signUp();
    const { id } = await set(user);
    const operations = Array.from({ length: 12 }, (_, n) => `DELETE ${n % 2 === 0 ? path : `/pictures/${id}`}`);
    const answers = await Promise.all(operations.map((operation) => get(user, operation)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) assertMissing(answer);
    assert.deepEqual(await pictureSeen(user, other), none);
  });
});

// spec/users#delete-a-profile-picture
describe("another user's profile picture", () => {
  it("answers 403 for a visible user, 404 for celebMode, another application and an unknown user, and changes nothing", async () => {
    const user = await test.signUp();
    const picture = await set(user);
    const at = `/users/${user.id}/profilepicture`;
    const stranger = await test.signUp("stranger", await test.createApplication());
    const all = (reader: TestUser, where: string) =>
      Promise.all([post(reader, [], {}, where), get(reader, `GET ${where}`), get(reader, `DELETE ${where}`)]);
    for (const answer of await all(other, at)) {
      assertError(answer, 403, "ObjectPermissionDenied", 771, "Only the owner may do this.");
    }
    for (const answer of await all(stranger, at)) assertMissing(answer);
    for (const answer of await all(other, `/users/${test.app.ids.newId("User")}/profilepicture`)) assertMissing(answer);
    await test.call("PATCH /users/me", { token: user.token, body: { celebMode: true } });
    for (const answer of await all(other, at)) assertMissing(answer);
    assertResult(await get(user), 200, picture);
    assert.deepEqual((await get(other, "GET /pictures?userID=me")).body.result.pageResults, []);
    // Shared objects of a user with celebMode stay visible under the userID, as everywhere.
    assertResult(await get(other, `GET /pictures/${picture.id}`), 200, picture);
  });
});

describe("a profile picture is one of the user's pictures", () => {
  it("is removed from the profile when that picture is deleted", async () => {
    const user = await test.signUp();
    const { id } = await set(user);
    assertResult(await get(user, `DELETE /pictures/${id}`), 200, true);
    assertMissing(await get(user));
    for (const reader of [user, other]) assert.deepEqual(await pictureSeen(user, reader), none);
  });

  it("stays when another picture, or another user's picture, is deleted", async () => {
    const [user, another] = [await test.signUp(), await test.signUp()];
    const [mine, theirs] = [await set(user), await set(another)];
    const plain = await upload(test, user.token, "/pictures", dataPart(image));
    await get(user, `DELETE /pictures/${plain.id}`);
    await get(another, `DELETE ${path}`);
    assertMissing(await get(user, `GET /pictures/${theirs.id}`));
    assertResult(await get(user), 200, mine);
  });

  it("is hidden from other users when it becomes private, shown to its own user, and visible again when it is shared", async () => {
    const user = await test.signUp();
    const { id } = await set(user);
    const change = (body: object, { token } = user) => test.call(`PATCH /pictures/${id}`, { token, body });
    assert.equal((await change({ readPermissions: "User" })).status, 200);
    assert.deepEqual(await pictureSeen(user, other), none);
    assert.deepEqual(await pictureSeen(user, user), seenAt(id));
    assert.equal((await get(user)).body.result.readPermissions, "User");
    assertMissing(await get(other, `GET /pictures/${id}`));
    assert.equal((await change({ caption: "still private" })).status, 200);
    assert.deepEqual(await pictureSeen(user, other), none);
    assert.equal((await change({ readPermissions: "App" })).status, 200);
    assert.deepEqual(await pictureSeen(user, other), seenAt(id));
  });

  it("does not change for other users when a change of permissions is refused", async () => {
    const user = await test.signUp();
    const { id } = await set(user);
    const change = (body: object, { token } = user) => test.call(`PATCH /pictures/${id}`, { token, body });
    const both = { readPermissions: "App", writePermissions: "App" };
    assert.equal((await change(both)).status, 200);
    const refused = await change({ readPermissions: "User" });
    assert.deepEqual([refused.status, refused.body.error], [400, "ParameterOutOfRange"]);
    const denied = await change({ readPermissions: "User" }, other);
    assert.deepEqual([denied.status, denied.body.error], [403, "ObjectPermissionDenied"]);
    assert.deepEqual(await pictureSeen(user, other), seenAt(id));
    const plain = await upload(test, user.token, "/pictures", dataPart(image), { readPermissions: "App" });
    await test.call(`PATCH /pictures/${plain.id}`, { token: user.token, body: { readPermissions: "User" } });
    assert.deepEqual(await pictureSeen(user, other), seenAt(id));
  });

  it("is sent to other users without camera metadata while locationFuzzing is on, also through profilePictureUrl", async () => {
    const user = await test.signUp();
    const { default: sharp } = await import("sharp");
    const exif = { IFD3: { GPSLatitudeRef: "N", GPSLatitude: "48/1 12/1 30/1" } };
    const photo = await sharp(image).jpeg().withExif(exif).toBuffer();
    const answer = await postForm(test, path, [dataPart(photo, "image/jpeg")], { token: user.token });
    const { id } = answer.body.result;
    await test.call("PATCH /users/me", { token: user.token, body: { locationFuzzing: true } });
    const { profilePictureUrl } = (await get(other, `GET /users/${user.id}`)).body.result;
    const { token } = other;
    const reads = [
      download(test, profilePictureUrl),
      download(test, `/pictures/${id}/file`, { token }),
      download(test, `/users/${user.id}/profilepicture/file`, { token }),
    ];
    for (const { status, bytes } of await Promise.all(reads)) {
      assert.equal(status, 200);
      assert.equal((await sharp(bytes).metadata()).exif, undefined);
    }
    const own = await download(test, `/pictures/${id}/file`, { token: user.token });
    assert.ok(own.bytes.equals(photo));
  });
});

describe("fields that only the service sets (hostile.md 9)", () => {
  it("include profilePicture*, which no client can set at sign-up or later, with any type", async () => {
    const [user, another] = [await test.signUp(), await test.signUp()];
    const theirs = await set(another);
    const plain = await upload(test, user.token, "/pictures", dataPart(image));
    const columns = { profile_picture_id: plain.id, is_picture_shared: 1 };
    for (const id of [plain.id, theirs.id, {}, "x", null]) {
      const body = { profilePictureID: id, profilePictureUrl: theirs.signedUrl, ...columns };
      assert.equal((await test.call("PATCH /users/me", { token: user.token, body })).status, 200);
      const signUp = { ...body, username: `forger ${JSON.stringify(id)}`, password: "password" };
      const made = await test.call("POST /users", { token: user.deviceToken, body: signUp });
      assert.deepEqual([made.status, made.body.result.profilePictureID], [200, undefined]);
    }
    assert.deepEqual(await pictureSeen(user, user), none);
  });

  it("are absent after the deletion of the user", async () => {
    const user = await test.signUp();
    const { id, signedUrl } = await set(user);
    assertResult(await get(user, "DELETE /users/me"), 200, true);
    assertMissing(await get(other, `GET /pictures/${id}`));
    assertMissing(await get(other, `GET /users/${user.id}/profilepicture`));
    assert.equal((await download(test, signedUrl)).status, 404);
    await maintain(test.app);
    for (const table of ["users", "files"] as const) {
      const column = table === "users" ? "id" : "user_id";
      const rows = await test.app.database.reads.selectFrom(table).select("id").where(column, "=", user.id).execute();
      assert.deepEqual([...rows], []);
    }
  });
});

describe("concurrent changes and deletions of a profile picture", () => {
  it("result in the state of the last change: the profile names an existing picture, or none", async () => {
    for (let round = 0; round < 4; round += 1) {
      const user = await test.signUp();
      const { token } = user;
      const first = await set(user);
      const calls = [
        post(user),
        get(user, `DELETE ${path}`),
        test.call(`PATCH /pictures/${first.id}`, { token, body: { readPermissions: "User", location: "1,2" } }),
        test.call(`PUT /metadata/${first.id}/key`, { token, body: { value: 1 } }),
        test.call("PATCH /users/me", { token, body: { firstName: "Jane", location: "3,4" } }),
        get(user, `DELETE /pictures/${first.id}`),
        test.call(`PUT /metadata/${first.id}/key`, { token, body: { value: 2, visibility: "App", location: "5,6" } }),
        post(user),
        get(user, `DELETE ${path}`),
      ];
      for (const { status, text } of await Promise.all(calls)) assert.ok([200, 201, 404].includes(status), text);
      const { profilePictureID } = (await get(user, "GET /users/me")).body.result;
      const pictures = (await get(user, "GET /pictures?userID=me")).body.result.pageResults;
      assert.deepEqual(
        pictures.map(({ id }: { id: string }) => id),
        profilePictureID === undefined ? [] : [profilePictureID],
      );
      const rows = await test.app.database.reads
        .selectFrom("metadata")
        .select("key")
        .where("object_id", "=", first.id)
        .execute();
      assert.deepEqual([...rows], []);
    }
  });
});
