import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, describe, it, type TestContext } from "node:test";
import { box, film, filmedAt, sampleDescription } from "../../test/films.ts";
import { assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";
import { type ApplicationSettings, updateApplicationSettings } from "../tenancy/application-settings.ts";

let test: TestApp;
let owner: TestUser;
let other: TestUser;
before(async () => {
  test = await startTestApp();
  owner = await test.signUp();
  other = await test.signUp();
  await setFuzzing(true);
});
after(() => test.close());

const media = randomBytes(100_000);

function setFuzzing(locationFuzzing: boolean) {
  return test.call("PATCH /users/me", { token: owner.token, body: { locationFuzzing } });
}

async function configure(t: TestContext, settings: Partial<ApplicationSettings>): Promise<void> {
  const set = (all: ApplicationSettings) =>
    test.app.database.write(({ queries }) => updateApplicationSettings(test.application.appid, all, queries));
  t.after(() => set({ oidc: {} }));
  await set({ oidc: {}, ...settings });
}

function share(collection: string, bytes: Buffer, type?: string) {
  return upload(test, owner.token, `/${collection}`, dataPart(bytes, type), { readPermissions: "App" });
}

async function photo(): Promise<Buffer> {
  const { default: sharp } = await import("sharp");
  const exif = { IFD3: { GPSLatitudeRef: "N", GPSLatitude: "48/1 12/1 30/1" } };
  return sharp(await png(8, 4))
    .jpeg()
    .withExif(exif)
    .toBuffer();
}

// spec/files#location-data-in-files
describe("videos and blobs of a user with locationFuzzing", () => {
  it("are sent to other users without location data in every range, by token and signedUrl, and to the owner unchanged", async () => {
    const bytes = film(media);
    const { id, signedUrl, contentHash } = await share("videos", bytes, "video/mp4");
    const path = `/videos/${id}/file`;
    const { bytes: own } = await download(test, path, { token: owner.token });
    assert.ok(own.equals(bytes));
    const whole = await download(test, path, { token: other.token });
    assert.deepEqual([whole.status, whole.bytes.length], [200, bytes.length]);
    assert.ok(!whole.bytes.includes(filmedAt));
    assert.ok(whole.bytes.includes(media));
    assert.ok(!whole.headers.get("etag")?.includes(contentHash));
    assert.ok((await download(test, signedUrl)).bytes.equals(whole.bytes));
    const places = [bytes.indexOf(filmedAt), bytes.lastIndexOf(filmedAt), bytes.indexOf("loci")];
    for (const [start, end] of places.flatMap((at) => [[at - 3, at + 9] as const, [at, bytes.length - 1] as const])) {
      const range = `bytes=${start}-${end}`;
      const part = await download(test, path, { token: other.token, headers: { range } });
      assert.equal(part.status, 206);
      assert.ok(part.bytes.equals(whole.bytes.subarray(start, end + 1)), range);
    }
    const head = await download(test, path, { token: other.token, method: "HEAD" });
    assert.equal(head.headers.get("content-length"), `${bytes.length}`);
  });

  it("are sent to other users without camera metadata if a blob is a picture", async () => {
    const { default: sharp } = await import("sharp");
    const bytes = await photo();
    const { id } = await share("blobs", bytes, "application/x-photo");
    const shown = await download(test, `/blobs/${id}/file`, { token: other.token });
    assert.equal(shown.status, 200);
    assert.equal((await sharp(shown.bytes).metadata()).exif, undefined);
    assert.ok((await download(test, `/blobs/${id}/file`, { token: owner.token })).bytes.equals(bytes));
  });

  it("are sent to other users as JPEG if a blob is a HEIC", async () => {
    const { default: sharp } = await import("sharp");
    const bytes = readFileSync(new URL("../../test/fixtures/photo.heic", import.meta.url));
    const { id } = await share("blobs", bytes, "image/heif");
    const shown = await download(test, `/blobs/${id}/file`, { token: other.token });
    assert.equal(shown.headers.get("content-type"), "image/jpeg");
    const { format, exif, width } = await sharp(shown.bytes).metadata();
    assert.deepEqual([format, exif, width], ["jpeg", undefined, 64]);
    const own = await download(test, `/blobs/${id}/file`, { token: owner.token });
    assert.ok(own.bytes.equals(bytes));
    assert.equal(own.headers.get("content-type"), "image/heif");
  });

  it("are refused if their location data cannot be removed; for unknown formats, the setting locationData decides", async (t) => {
    const start = box("ftyp", "isom");
    const located = [
      Buffer.from("II*\0raw"),
      Buffer.concat([box("ftyp", "heic"), box("meta", filmedAt)]),
      Buffer.concat([start, box("moov", sampleDescription("gpmd"))]),
    ];
    const unknown = [Buffer.from("\x1aE\xdf\xa3webm"), Buffer.from("text")];
    const read = async (bytes: Buffer) => {
      const { id } = await share("blobs", bytes);
      assert.equal((await download(test, `/blobs/${id}/file`, { token: owner.token })).status, 200);
      return test.call(`GET /blobs/${id}/file`, { token: other.token });
    };
    const message = "The file may contain the location, which its owner does not share.";
    for (const [locationData, isLocatedShown, isUnknownShown] of [
      [undefined, false, true],
      ["strip", false, true],
      ["refuse", false, false],
      ["keep", true, true],
    ] as const) {
      await configure(t, locationData === undefined ? {} : { locationData });
      for (const [all, isShown] of [
        [located, isLocatedShown],
        [unknown, isUnknownShown],
      ] as const) {
        for (const bytes of all) {
          const answer = await read(bytes);
          if (isShown) assert.equal(answer.status, 200);
          else assertError(answer, 403, "ObjectPermissionDenied", 771, message);
        }
      }
    }
    const film = await share("videos", Buffer.concat([start, box("udta", filmedAt)]));
    const kept = await download(test, `/videos/${film.id}/file`, { token: other.token });
    assert.ok(kept.bytes.includes(filmedAt)); // under the application's last setting
  });
});

describe("contentHash and contentLength of the original", () => {
  it("are hidden from other users while the owner has locationFuzzing, also in ETags", async (t) => {
    t.after(() => setFuzzing(true));
    for (const [collection, bytes] of [
      ["pictures", await photo()],
      ["videos", film(media)],
      ["blobs", Buffer.from("text")],
    ] as const) {
      const shared = { readPermissions: "App", writePermissions: "App" };
      const made = await upload(test, owner.token, `/${collection}`, dataPart(bytes), shared);
      const { contentHash, contentLength } = made;
      const at = `/${collection}/${made.id}`;
      const seen = async (reader: TestUser) => {
        const { token } = reader;
        const found = (await test.call(`GET /${collection}?userID=${owner.id}`, { token })).body.result.pageResults;
        const answers = [
          (await test.call(`GET ${at}`, { token })).body.result,
          found.find(({ id }: { id: string }) => id === made.id),
          (await test.call(`PATCH ${at}`, { token, body: { tag: "t" } })).body.result,
        ];
        return answers.map((file) => [file.contentHash, file.contentLength]);
      };
      for (const isFuzzing of [true, false]) {
        await setFuzzing(isFuzzing);
        const original = [contentHash, contentLength];
        assert.deepEqual(await seen(owner), [original, original, original]);
        const others = isFuzzing ? [undefined, undefined] : original;
        assert.deepEqual(await seen(other), [others, others, others], collection);
      }
      await setFuzzing(true);
      if (collection === "blobs") continue; // text has the same bytes for every reader
      for (const query of collection === "pictures" ? ["", "?size=4"] : [""]) {
        const { headers } = await download(test, `${at}/file${query}`, { token: other.token });
        assert.ok(!headers.get("etag")?.includes(contentHash));
      }
    }
  });
});
