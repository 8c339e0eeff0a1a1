// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { after, describe, it } from "node:test";
import { deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";
import { animatedPng, chunk, chunkNames } from "../../test/animated-png.ts";
import { asOneCaller, type PicturesOfOneCaller } from "../../test/picture-queue.ts";
import { rounds } from "../../test/rounds.ts";
import { createLog } from "../config/log.ts";
import { ApiError } from "../lib/errors.ts";
import type { PictureSize } from "./picture-job.ts";
import { createPictures, type ScaledPicture } from "./pictures.ts";

const pictures = asOneCaller(createPictures(createLog("silent")));
const { readPictureSize, scalePicture, stripPicture } = pictures;
after(() => pictures.close());

const isLinux = process.platform === "linux";
const formats = ["jpeg", "png", "gif", "webp", "avif"] as const;
type Format = (typeof formats)[number];

describe("pictures", () => {
  for (const format of formats) {
    it(`have a size, are scaled to fit and never up, and keep their format: ${format}`, async () => {
      const picture = await noise(64, 48).toFormat(format).toBuffer();
      assert.deepEqual(await readPictureSize(stream(picture)), { w: 64, h: 48 });
      for (const [fit, shown] of [
        [
          { w: 20, h: 1_000 },
          { w: 20, h: 15 },
        ],
        [
          { w: 1_000, h: 12 },
          { w: 16, h: 12 },
        ],
        [
          { w: 1, h: 1 },
          { w: 1, h: 1 },
        ],
        [
          { w: 64, h: 48 },
          { w: 64, h: 48 },
        ],
        [
          { w: 1_000_000, h: 1_000_000 },
          { w: 64, h: 48 },
        ],
      ] as const) {
        const { contentType, bytes, ...size } = await scaled(picture, `image/${format}`, fit);
        assert.deepEqual({ contentType, ...size }, { contentType: `image/${format}`, ...shown });
        assert.deepEqual(await readPictureSize(stream(bytes)), shown);
        assert.equal((await sharp(bytes).metadata()).format, format === "avif" ? "heif" : format);
      }
      const stripped = await stripPicture(stream(picture), `image/${format}`);
      assert.deepEqual(await readPictureSize(stream(stripped)), { w: 64, h: 48 });
    });

    it(`are refused or have a size with any damage, without another effect: ${format}`, async () => {
      const picture = await noise(12, 9).toFormat(format).toBuffer();
      for (let at = 0; at < picture.length; at += 7) {
        const damaged = Buffer.from(picture);
        damaged[at] = (damaged[at] ?? 0) ^ 0x55;
        await settle(readPictureSize(stream(damaged)));
        await settle(scalePicture(stream(damaged), `image/${format}`, { w: 5, h: 5 }));
      }
      for (let seed = 0; seed < 20; seed += 1) {
        await refused(readPictureSize(stream(Buffer.concat([picture.subarray(0, 16), garbage(seed, 500)]))));
      }
    });

    it(`are refused when they are truncated anywhere, except in their end mark: ${format}`, async () => {
      const picture = await noise(12, 9).toFormat(format).toBuffer();
      const pixelsEnd = picture.length - endMarkBytes[format];
      for (let length = 0; length < pixelsEnd; length += 1) {
        await refused(readPictureSize(stream(picture.subarray(0, length))), `${length} of ${picture.length}`);
      }
      for (let length = pixelsEnd; length < picture.length; length += 1) {
        const cut = picture.subarray(0, length);
        assert.deepEqual(await readPictureSize(stream(cut)), { w: 12, h: 9 });
        const { w, h } = await scaled(cut, `image/${format}`, { w: 4, h: 3 });
        assert.deepEqual({ w, h }, { w: 4, h: 3 });
      }
    });
  }

  for (const format of ["jpeg", "png", "webp", "avif"] as const) {
    it(`reveal no location or camera once they are scaled and stripped: ${format}`, async () => {
      const picture = await withLocation(noise(64, 48), format);
      const before = await sharp(picture).metadata();
      assert.ok(before.exif?.includes("Secret camera"));
      assert.ok(before.xmp?.includes("Secret place"));
      const small = await scaled(picture, `image/${format}`, { w: 32, h: 32 });
      for (const bytes of [small.bytes, await stripPicture(stream(picture), `image/${format}`)]) {
        await assertNoMetadata(bytes);
      }
    });
  }

  for (const format of ["jpeg", "png", "webp"] as const) {
    it(`are upright: ${format}`, async () => {
      const picture = await noise(64, 48).withMetadata({ orientation: 6 }).toFormat(format).toBuffer();
      assert.deepEqual(await readPictureSize(stream(picture)), { w: 48, h: 64 });
      const { w, h, bytes } = await scaled(picture, `image/${format}`, { w: 30, h: 32 });
      assert.deepEqual({ w, h }, { w: 24, h: 32 });
      const stripped = await stripPicture(stream(picture), `image/${format}`);
      for (const [result, size] of [[bytes, { w: 24, h: 32 }] as const, [stripped, { w: 48, h: 64 }] as const]) {
        assert.deepEqual(await readPictureSize(stream(result)), size);
        assert.equal((await sharp(result).metadata()).orientation, undefined);
      }
    });
  }

  for (const format of ["gif", "webp"] as const) {
    it(`stay animated, with a bounded number of frames: ${format}`, async () => {
      const frames = await Promise.all(Array.from({ length: 120 }, (_, seed) => noise(8, 6, seed).png().toBuffer()));
      const picture = await sharp(frames, { join: { animated: true } })
        .toFormat(format, { delay: frames.map(() => 70) })
        .toBuffer();
      assert.equal((await sharp(picture).metadata()).pages, 120);
      assert.deepEqual(await readPictureSize(stream(picture)), { w: 8, h: 6 });
      const { w, h, bytes } = await scaled(picture, `image/${format}`, { w: 4, h: 4 });
      assert.deepEqual({ w, h }, { w: 4, h: 3 });
      for (const result of [bytes, await stripPicture(stream(picture), `image/${format}`)]) {
        const { pages, delay } = await sharp(result).metadata();
        assert.deepEqual([pages, delay?.[1]], [100, 70]);
      }
    });
  }
});

describe("JPEG pictures without an end mark", () => {
  it("are accepted with the trailer of a camera in its place, and refused without all pixels, also with the end mark of a preview", async () => {
    for (const isProgressive of [false, true]) {
      const picture = await noise(60, 40).jpeg({ progressive: isProgressive }).toBuffer();
      const [whole, half] = [picture.subarray(0, -2), picture.subarray(0, picture.length / 2)];
      const accepted = [Buffer.concat([whole, Buffer.alloc(2)]), Buffer.concat([picture, Buffer.from("a trailer")])];
      if (!isProgressive) accepted.push(Buffer.concat([whole, Buffer.from("the trailer of a camera".repeat(50))]));
      accepted.push(whole);
      for (const bytes of accepted) assert.deepEqual(await readPictureSize(stream(bytes)), { w: 60, h: 40 });
      const preview = await noise(8, 6).jpeg().toBuffer();
      const withPreview = Buffer.concat([half.subarray(0, 2), segment(0xe1, preview), half.subarray(2)]);
      for (const bytes of [half, withPreview]) await refused(readPictureSize(stream(bytes)));
    }
  });
});

// spec/files#scaled-pictures
describe("the colours of scaled pictures", () => {
  it("are those that browsers show for CMYK without a profile", async () => {
    // Four fields from top to bottom: red, green, cyan with black, and black.
    const shown = [255, 0, 0, 0, 255, 0, 95, 191, 191, 0, 0, 0];
    const picture = fixture("cmyk.jpg");
    assert.deepEqual(await readPictureSize(stream(picture)), { w: 16, h: 64 });
    const { bytes } = await scaled(picture, "image/jpeg", { w: 8, h: 32 });
    for (const result of [bytes, await stripPicture(stream(picture), "image/jpeg")]) {
      const { data, info } = await sharp(result).raw().toBuffer({ resolveWithObject: true });
      const seen = [0, 1, 2, 3].flatMap((n) => {
        const at = (Math.floor(((n + 0.5) * info.height) / 4) * info.width + info.width / 2) * 3;
        return [...data.subarray(at, at + 3)];
      });
      for (const [at, value] of shown.entries()) assert.ok(Math.abs(value - (seen[at] ?? 0)) <= 6, `${seen}`);
    }
  });

  it("are converted from the profile of a HEIC to sRGB", async () => {
    const { bytes } = await scaled(phonePhoto, "image/heic", { w: 32, h: 24 });
    // The corner is (0, 255, 0) in Display P3, beyond sRGB: without the profile, its red would be 0.
    const [red = 0, green = 0] = await sharp(bytes).extract({ left: 4, top: 4, width: 1, height: 1 }).raw().toBuffer();
    assert.ok(red < 12 && green > 245, `${red} ${green}`);
  });
});

describe("HEIC pictures", () => {
  it("have a size, upright, and are made as JPEG in sRGB without metadata", async () => {
    for (const [picture, w, h] of [
      [phonePhoto, 64, 48],
      [fixture("turned.heic"), 48, 64],
    ] as const) {
      assert.deepEqual(await readPictureSize(stream(picture)), { w, h });
      const small = await scaled(picture, "image/heic", { w: w / 2, h });
      assert.deepEqual([small.contentType, small.w, small.h], ["image/jpeg", w / 2, h / 2]);
      const stripped = await stripPicture(stream(picture), "image/heic");
      assert.deepEqual(await readPictureSize(stream(stripped)), { w, h });
      for (const bytes of [small.bytes, stripped]) {
        assert.equal((await sharp(bytes).metadata()).format, "jpeg");
        await assertNoMetadata(bytes);
      }
    }
    assert.ok(phonePhoto.includes("Secret camera") && phonePhoto.includes("Secret place"));
  });

  it("are refused when they are truncated, and refused or read with any damage", async () => {
    // Each takes a thread and the library's start.
    const step = Math.ceil(phonePhoto.length / rounds(24));
    for (let at = 0; at < phonePhoto.length; at += step) {
      await refused(readPictureSize(stream(phonePhoto.subarray(0, at))), `${at}`);
      const damaged = Buffer.from(phonePhoto);
      damaged[at] = (damaged[at] ?? 0) ^ 0x55;
      await settle(readPictureSize(stream(damaged)));
    }
    await refused(readPictureSize(stream(phonePhoto.subarray(0, -1))));
  });

  it("are refused before they are decoded when they declare too many pixels, and when the declared size is wrong", async () => {
    for (const [w, h] of [
      [16_000, 16_000],
      [7_000, 7_000],
      [65_535, 700],
      [1, 1],
    ] as const) {
      const picture = Buffer.from(phonePhoto);
      for (let at = picture.indexOf("ispe"); at !== -1; at = picture.indexOf("ispe", at + 1)) {
        picture.writeUInt32BE(w, at + 8);
        picture.writeUInt32BE(h, at + 12);
      }
      await refused(readPictureSize(stream(picture)), `${w} x ${h}`);
    }
    assert.deepEqual(await readPictureSize(stream(phonePhoto)), { w: 64, h: 48 });
  });
});

describe("animated PNG pictures", () => {
  it("are not scaled, and keep all frames without metadata", async () => {
    const picture = await animatedPng();
    assert.deepEqual(await readPictureSize(stream(picture)), { w: 8, h: 6 });
    assert.equal(await scalePicture(stream(picture), "image/png", { w: 4, h: 3 }), undefined);
    const stripped = await stripPicture(stream(picture), "image/png");
    assert.ok(picture.includes("Secret") && !stripped.includes("Secret"));
    assert.deepEqual(chunkNames(stripped), ["IHDR", "acTL", "fcTL", "IDAT", "fcTL", "fdAT", "IEND"]);
    assert.deepEqual(await readPictureSize(stream(stripped)), { w: 8, h: 6 });
  });
});

// spec/files#valid-pictures
describe("the limits of pictures", () => {
  // A process that has not decoded a picture yet, so that earlier pictures do not count in its peak memory.
  const watched = asOneCaller(createPictures(createLog("silent")));
  after(() => watched.close());

  it("refuse a decompression bomb before it is decoded", { skip: !isLinux }, async () => {
    const before = await peakMemory(watched);
    await refused(watched.readPictureSize(stream(png(50_000, 50_000, 100))));
    await refused(watched.scalePicture(stream(png(50_000, 50_000, 100)), "image/png", { w: 10, h: 10 }));
    await refused(watched.stripPicture(stream(png(50_000, 50_000, 100)), "image/png"));
    assert.ok((await peakMemory(watched)) - before < 50_000_000);
  });

  it("decode a picture of many pixels row by row", { skip: !isLinux }, async () => {
    const picture = png(8_000, 8_000, 8_000); // 192 MB
    const before = await peakMemory(watched);
    assert.deepEqual(await watched.readPictureSize(stream(picture)), { w: 8_000, h: 8_000 });
    assert.ok((await peakMemory(watched)) - before < 100_000_000);
  });

  it("refuse bytes without an end", async () => {
    const endless = Readable.from(
      (function* () {
        yield Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
        for (;;) yield Buffer.alloc(1_000_000);
      })(),
    );
    await refused(readPictureSize(endless));
    assert.ok(endless.destroyed);
  });

  it("answer 503 to excess concurrent requests, and the others are processed", async () => {
    const picture = await noise(12, 9).png().toBuffer();
    const answers = await Promise.allSettled(Array.from({ length: 60 }, () => readPictureSize(stream(picture))));
    const [good, bad] = ["fulfilled", "rejected"].map((status) => answers.filter((one) => one.status === status));
    assert.deepEqual([good?.length, bad?.length], [18, 42]);
    for (const one of bad ?? []) {
      assert.ok(one.status === "rejected" && one.reason instanceof ApiError);
      assert.equal(one.reason.condition, "ServiceUnavailable");
    }
    assert.deepEqual(await readPictureSize(stream(picture)), { w: 12, h: 9 });
  });

  it("require bytes of the stored type, in one of the six formats", async () => {
    const picture = await noise(12, 9).png().toBuffer();
    await refused(scalePicture(stream(picture), "image/jpeg", { w: 10, h: 10 }));
    await refused(stripPicture(stream(picture), "text/html"));
    await refused(
      readPictureSize(stream(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'))),
    );
    await refused(readPictureSize(stream(await noise(12, 9).tiff().toBuffer())));
  });

  it("do not report a failing store as an invalid picture", async () => {
    const failing = new Readable({ read: () => failing.destroy(new Error("The disk is gone")) });
    await assert.rejects(readPictureSize(failing), /The disk is gone/);
  });

  it("are enforced outside of the server, which never loads the library", () => {
    const app = JSON.stringify(import.meta.resolve("../app/app.ts"));
    const picture = JSON.stringify(png(12, 9, 9).toString("base64"));
    const script = `
      import { Readable } from "node:stream";
      await import(${app});
      const { createPictures } = await import(${JSON.stringify(import.meta.resolve("./pictures.ts"))});
      const pictures = createPictures({ warn() {} });
      const ticket = { lane: "upload", application: "app", caller: "caller" };
      await pictures.readPictureSize(() => Readable.from([Buffer.from(${picture}, "base64")]), ticket);
      process.stdout.write(String(process.report.getReport().sharedObjects.some((file) => /sharp|vips/.test(file))));`;
    assert.equal(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }), "false");
  });
});

/** The peak memory of a new decoder process so far. */
async function peakMemory(watched: PicturesOfOneCaller): Promise<number> {
  if (watched.decoderPid === undefined) await watched.readPictureSize(stream(await noise(12, 9).png().toBuffer()));
  const [, kib] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${watched.decoderPid}/status`, "utf8")) ?? [];
  return Number(kib) * 1_024;
}

/** The length of the end mark, which a decoder does not need to read the last pixel. */
const endMarkBytes: Readonly<Record<Format, number>> = { jpeg: 2, png: 12, gif: 1, webp: 0, avif: 0 };

function fixture(name: string): Buffer {
  return readFileSync(new URL(`../../test/fixtures/${name}`, import.meta.url));
}

/** With the profile Display P3, EXIF and XMP. */
const phonePhoto = fixture("photo.heic");

async function scaled(picture: Buffer, contentType: string, fit: PictureSize): Promise<ScaledPicture> {
  const result = await scalePicture(stream(picture), contentType, fit);
  assert.ok(result !== undefined);
  return result;
}

async function assertNoMetadata(picture: Buffer): Promise<void> {
  const { exif, xmp, iptc, icc, comments } = await sharp(picture).metadata();
  assert.deepEqual({ exif, xmp, iptc, icc, comments }, noMetadata);
  for (const mark of ["Exif", "eXIf", "EXIF", "XMP ", "xmpmeta", "Secret"]) assert.ok(!picture.includes(mark), mark);
}

/** A segment of a JPEG. */
function segment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}

const noMetadata = { exif: undefined, xmp: undefined, iptc: undefined, icc: undefined, comments: undefined };

function stream(bytes: Buffer): Readable {
  return Readable.from([bytes]);
}

function noise(w: number, h: number, seed = 1): Sharp {
  return sharp(garbage(seed, w * h * 3), { raw: { width: w, height: h, channels: 3 } });
}

/** Pseudo-random bytes, the same for the same seed. */
function garbage(seed: number, length: number): Buffer {
  let state = seed + 1;
  return Buffer.from(
    Uint8Array.from({ length }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    }),
  );
}

function withLocation(picture: Sharp, format: Format): Promise<Buffer> {
  const gps = { GPSLatitudeRef: "N", GPSLatitude: "51/1 30/1 0/1", GPSLongitudeRef: "E", GPSLongitude: "7/1 0/1 0/1" };
  return picture
    .withExif({ IFD0: { Model: "Secret camera" }, IFD3: gps })
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/">Secret place</x:xmpmeta>')
    .withIccProfile("p3")
    .toFormat(format)
    .toBuffer();
}

/** A true-colour picture that declares `h` rows, and contains `rows` black ones. */
function png(w: number, h: number, rows: number): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  header.writeUInt32BE(w, 0);
  header.writeUInt32BE(h, 4);
  const pixels = deflateSync(Buffer.alloc((w * 3 + 1) * rows));
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
}

async function refused(work: Promise<unknown>, message = "It is no refusal"): Promise<void> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof ApiError, message);
  assert.equal(failure.condition, "FileUploadFailed", message);
}

/** Succeeds, or is refused. */
async function settle(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
  });
}
