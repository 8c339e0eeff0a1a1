import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";
import { assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";
import { readZip } from "../../test/zips.ts";
import { forOwnedTables, ownedTableNames } from "../db/owned-tables.ts";
import { filePrefix } from "../storage/orphaned-objects.ts";

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator()).token;
});
after(async () => {
  const failures = test.logLines.filter(({ level }) => Number(level) >= 50);
  await test.close();
  assert.deepEqual(failures, []);
});

const pathOf = (userId: string, { appid } = test.application) => `/_/api/applications/${appid}/users/${userId}/export`;

interface Export {
  /** The files by name in the archive. */
  readonly files: ReadonlyMap<string, Buffer>;
  // biome-ignore lint/suspicious/noExplicitAny: rows of many shapes
  rows(name: string): any[];
  // biome-ignore lint/suspicious/noExplicitAny: the same
  readonly manifest: any;
}

/** Exports a user, and verifies every byte against the manifest. */
async function exportUser(userId: string, application = test.application): Promise<Export> {
  const { status, headers, bytes } = await download(test, pathOf(userId, application), {
    token: operator,
    method: "POST",
  });
  assert.equal(status, 200, bytes.toString());
  assert.equal(headers.get("content-type"), "application/zip");
  assert.equal(headers.get("content-disposition"), `attachment; filename="${userId}.zip"`);
  assert.equal(headers.get("cache-control"), "no-store");
  const files = await readZip(bytes);
  const rows = (name: string) => {
    const text = files.get(name)?.toString() ?? "";
    return text === ""
      ? []
      : text
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line));
  };
  const manifest = JSON.parse(`${files.get("manifest.json")}`);
  const written = [...files].filter(([name]) => name !== "manifest.json");
  assert.deepEqual(
    manifest.entries,
    written.map(([name, content]) => ({
      name,
      size: content.length,
      sha256: createHash("sha256").update(content).digest("hex"),
    })),
  );
  return { files, rows, manifest };
}

const date = (ms: number) => `/Date(${ms})/`;
const hostileText = '../../etc/passwd\r\nSet-Cookie: a=b "\u202E" <script>%00';

/** Signs up a user with data of every kind. */
async function signUpWithAll(neighbour: TestUser) {
  const user = await test.signUp();
  const { token } = user;
  await test.call("PATCH /users/me", { token, body: { email: "j@example.org", location: "48,16", tag: hostileText } });
  await test.call("PATCH /devices/current", { token, body: { pushToken: "push me", model: "M1" } });
  await test.call("POST /users/me/identities/crm", { token, body: { identityId: `id of ${user.id}` } });
  const permissions = { readPermissions: "App", writePermissions: "App" };
  const body = { location: "1,2", comment: hostileText, ...permissions };
  const checkin = (await test.call("POST /checkins", { token, body })).body.result;
  const theirs = (await test.call("POST /checkins", { token: neighbour.token, body: { ...body, comment: "theirs" } }))
    .body.result;
  const put = (path: string, value: unknown, by: string, visibility = "User") =>
    test.call(`PUT /metadata/${path}`, { token: by, body: { value, visibility } });
  await put("me/own", { deep: ["😀", 12345678901234567890n.toString()] }, token);
  await put("me/shared", 1.5, token, "App");
  await put(`${checkin.id}/noted`, "mine", token);
  await put(`${checkin.id}/noted`, "the neighbour's own", neighbour.token);
  await put(`${checkin.id}/said`, "of all", neighbour.token, "App");
  await put(`${theirs.id}/noted`, "mine elsewhere", token);
  await put(`${theirs.id}/said`, "the neighbour's", neighbour.token, "App");
  const picture = await png(3, 2);
  const files = {
    picture: await upload(test, token, "/pictures", dataPart(picture, "image/png", hostileText), {
      caption: hostileText,
    }),
    blob: await upload(test, token, "/blobs", dataPart("<html>", "text/html", "../up.html"), { location: "5,6" }),
  };
  await upload(test, neighbour.token, "/blobs", dataPart("the neighbour's bytes"));
  await test.call("POST /metrics/events/level", { token, body: { values: { world: "of mine" } } });
  await test.app.compactor.compact(test.application.appid);
  await test.call("POST /metrics/events/waits", { token, body: { value: 2 } });
  for (const key of ["level", "waits", "other"]) {
    await test.call(`POST /metrics/events/${key}`, { token: neighbour.token, body: { values: { world: "theirs" } } });
  }
  return { user, checkin, theirs, files, picture };
}

// spec/operators#export-a-user
describe("POST /_/api/applications/{appid}/users/{userId}/export", () => {
  it("returns all data of the user, byte by byte, and nothing else", async () => {
    const neighbour = await test.signUp("the neighbour");
    const { user, checkin, theirs, files, picture } = await signUpWithAll(neighbour);
    const { id } = user;
    const now = date(test.now());
    const { files: entries, rows, manifest } = await exportUser(id);
    const pictureName = `files/${files.picture.id}.png`;
    const blobName = `files/${files.blob.id}.bin`;
    assert.deepEqual(
      [...entries.keys()],
      [
        ...[
          "profile.json",
          "tokens.ndjson",
          "devices.ndjson",
          "identities.ndjson",
          ...ownedTableNames.filter((table) => table !== "files").map((table) => `${table}.ndjson`),
          "flags.ndjson",
          "metadata.ndjson",
        ],
        ...["metrics.ndjson", "files.ndjson", ...[pictureName, blobName].sort(), "manifest.json"],
      ],
    );
    const { entries: _, ...about } = manifest;
    assert.deepEqual(about, {
      format: "rollcall-user-export",
      version: 1,
      application: test.application.appid,
      user: id,
      created: now,
      counts: {
        ...forOwnedTables(() => 0),
        ...{
          profile: 1,
          tokens: 1,
          devices: 1,
          identities: 1,
          checkins: 1,
          metadata: 5,
          metrics: 2,
          files: 2,
          flags: 0,
        },
      },
      missing: [],
    });

    const { counts: __, ...profile } = (
      await test.call(`GET ${pathOf(id).replace("/export", "")}`, { token: operator })
    ).body.result;
    assert.deepEqual(rows("profile.json"), [profile]);
    assert.equal(profile.tag, hostileText);
    const [token] = (await test.call("GET /users/me/tokens", { token: user.token })).body.result.pageResults;
    const { current: ___, ...listed } = token;
    assert.deepEqual(rows("tokens.ndjson"), [listed]);
    assert.deepEqual(rows("devices.ndjson"), [
      { id: token.deviceID, platform: "test", model: "M1", created: now, lastModified: now },
    ]);
    assert.deepEqual(rows("identities.ndjson"), [
      { identityProviderName: "crm", identityProviderID: `id of ${id}`, created: now, verified: false },
    ]);
    assert.deepEqual(rows("checkins.ndjson"), [checkin]);
    assert.deepEqual(
      rows("metadata.ndjson")
        .map(({ objectID, key, visibility, value }) => [objectID, key, visibility, value])
        .sort(),
      [
        [id, "own", "User", { deep: ["😀", "12345678901234567890"] }],
        [id, "shared", "App", 1.5],
        [checkin.id, "noted", "User", "mine"],
        [checkin.id, "said", "App", "of all"],
        [theirs.id, "noted", "User", "mine elsewhere"],
      ].sort(),
    );
    assert.deepEqual(
      rows("metrics.ndjson").map(({ key, values }) => [key, values]),
      [
        ["level", { world: "of mine" }],
        ["waits", { value: 2 }],
      ],
    );
    const { signedUrl: ____, ...shownPicture } = files.picture;
    const { signedUrl: _____, ...shownBlob } = files.blob;
    // Hostile file names appear as data, never as names of entries.
    const fileNames = new Map(rows("files.ndjson").map((row) => [row.entry, row.fileName]));
    const described = [
      { entry: pictureName, fileName: fileNames.get(pictureName), ...shownPicture },
      { entry: blobName, fileName: fileNames.get(blobName), ...shownBlob },
    ];
    assert.deepEqual(
      rows("files.ndjson"),
      described.sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    assert.deepEqual(entries.get(pictureName), picture);
    assert.equal(`${entries.get(blobName)}`, "<html>");
    for (const name of entries.keys())
      assert.match(name, /^(files\/[a-z]{3}_[0-9a-z]{26}\.[a-z]{3}|[a-z]+\.(nd)?json)$/);
  });

  it("contains no data of another user, and no secrets", async () => {
    const neighbour = await test.signUp();
    const { user } = await signUpWithAll(neighbour);
    const { files } = await exportUser(user.id);
    const all = Buffer.concat([...files.values()]).toString("latin1");
    const { reads } = test.app.database;
    const [row] = await reads.selectFrom("users").selectAll().where("id", "=", user.id).execute();
    const keys = await reads.selectFrom("application_keys").selectAll().execute();
    const secrets = [
      ...[user.token, user.deviceToken, user.password, row?.password_hash, "$argon2", "push me"],
      ...keys.map(({ digest }) => digest),
      test.application.appkey,
    ];
    for (const secret of secrets) assert.ok(!all.includes(`${secret}`), `${secret}`);
    for (const theirs of [neighbour.id, neighbour.userName, "the neighbour's", "theirs"]) {
      assert.ok(!all.includes(theirs), theirs);
    }
  });

  it("answers 404 for a user who is unknown, of another application, or deleted", async () => {
    const other = await test.createApplication();
    const jane = await test.signUp("Jane", other);
    const answer = (userId: string, application = test.application) =>
      test.call(`POST ${pathOf(userId, application)}`, { token: operator, body: {} });
    const gone = [jane.id, test.app.ids.newId("User")];
    for (const id of gone) assertError(await answer(id), 404, "ItemDoesNotExist", 769, "The item does not exist.");
    assert.equal((await exportUser(jane.id, other)).manifest.counts.profile, 1);
    await test.call("DELETE /users/me", { token: jane.token });
    assertError(await answer(jane.id, other), 404, "ItemDoesNotExist", 769, "The item does not exist.");
  });

  it("exports a disabled user, and lists a file whose bytes are lost as missing", async () => {
    const jane = await test.signUp();
    const blob = await upload(test, jane.token, "/blobs", dataPart("x"));
    await test.app.bytes.deleteAll(filePrefix(test.application.appid, blob.id));
    await test.call(`POST ${pathOf(jane.id).replace("/export", "/disable")}`, { token: operator, body: {} });
    const { manifest, files, rows } = await exportUser(jane.id);
    assert.deepEqual(manifest.missing, [`files/${blob.id}.bin`]);
    assert.ok(!files.has(`files/${blob.id}.bin`));
    assert.equal(rows("profile.json")[0].disabled, date(test.now()));
  });

  it("exports thousands of rows completely, despite concurrent writes", async () => {
    const jane = await test.signUp();
    const { token } = jane;
    const requests = Array.from({ length: 200 }, (_, n) => ({
      method: "POST",
      path: "/checkins",
      parameters: { location: "1,2", comment: `${n}` },
    }));
    for (let n = 0; n < 6; n += 1) await test.call("POST /batch", { token, body: { requests } });
    const exporting = exportUser(jane.id);
    await Promise.all(
      Array.from({ length: 20 }, () => test.call("POST /checkins", { token, body: { location: "3,4" } })),
    );
    const { rows } = await exporting;
    const ids = rows("checkins.ndjson").map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.length >= 1_200 && ids.length <= 1_220);
  });

  it("stops when the client disconnects, without counting as a failure", async () => {
    const jane = await test.signUp();
    for (let n = 0; n < 4; n += 1) await upload(test, jane.token, "/blobs", dataPart(Buffer.alloc(4_000_000, n)));
    for (let n = 0; n < 5; n += 1) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const headers = { authorization: `Service ${operator}` };
      const outgoing = request(`${test.url}${pathOf(jane.id)}`, { method: "POST", headers }, (incoming) => {
        incoming.once("data", () => incoming.destroy());
        incoming.once("close", resolve);
      });
      outgoing.on("error", () => {});
      outgoing.end();
      await promise;
    }
    assert.equal((await exportUser(jane.id)).manifest.counts.files, 4);
  });
});
