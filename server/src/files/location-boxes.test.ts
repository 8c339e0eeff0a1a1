// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { box, film, filmedAt, sampleDescription } from "../../test/films.ts";
import { findLocationBoxes, isIsoMedia, redactBoxes } from "./files.without-location.ts";

function find(bytes: Buffer) {
  return findLocationBoxes(bytes.length, async (start, end) => bytes.subarray(start, end));
}

describe("location boxes in films", () => {
  it("are redacted without changing the length of the film, its media, or other boxes", async () => {
    const media = Buffer.from(`media ${"m".repeat(5_000)}`);
    const bytes = film(media);
    assert.ok(isIsoMedia(bytes));
    const boxes = await find(bytes);
    assert.equal(boxes?.length, 5);
    const redacted = Buffer.from(bytes);
    redactBoxes(redacted, 0, boxes ?? []);
    assert.equal(redacted.length, bytes.length);
    for (const text of [filmedAt, "xyz", "loci", "ISO6709", "udta"]) assert.ok(!redacted.includes(text), text);
    for (const text of [media, "ftypqt  ", "moov", "mvhd", "avc1"]) {
      assert.equal(redacted.indexOf(text), bytes.indexOf(text));
    }
  });

  it("are redacted consistently in every part of the film that is read", async () => {
    const bytes = film(Buffer.from("media"));
    const boxes = (await find(bytes)) ?? [];
    const whole = Buffer.from(bytes);
    redactBoxes(whole, 0, boxes);
    fc.assert(
      fc.property(fc.nat(bytes.length), fc.nat(bytes.length), (a, b) => {
        const [start, end] = [Math.min(a, b), Math.max(a, b)];
        const part = Buffer.from(bytes.subarray(start, end));
        redactBoxes(part, start, boxes);
        assert.ok(part.equals(whole.subarray(start, end)));
      }),
    );
  });

  it("are found after boxes with 64-bit lengths, and in a box that extends to the end of the file", async () => {
    const large = Buffer.concat([Buffer.from("\0\0\0\x01mdat\0\0\0\0\0\0\0\x14", "latin1"), Buffer.from("half")]);
    const last = box("udta", filmedAt);
    last.writeUInt32BE(0);
    const bytes = Buffer.concat([box("ftyp", "isom"), large, last]);
    const boxes = await find(bytes);
    redactBoxes(bytes, 0, boxes ?? []);
    assert.equal(boxes?.length, 1);
    assert.ok(!bytes.includes(filmedAt));
  });

  it("cannot be removed from still pictures, location tracks and malformed films", async () => {
    const start = box("ftyp", "isom");
    for (const bytes of [
      box("ftyp", "heic"),
      Buffer.concat([box("ftyp", "mif1"), box("meta", "")]),
      ...["gpmd", "camm"].map((format) => Buffer.concat([start, box("moov", sampleDescription(format))])),
      Buffer.concat([start, box("moov", box("gps ", "here"))]),
      Buffer.concat([start, box("moov", box("cmov", ""))]),
      Buffer.concat([start, Buffer.from("\0\0\0\x03udta", "latin1")]),
      Buffer.concat([start, Buffer.from("tail")]),
      Buffer.concat([start, ...Array.from({ length: 1_001 }, () => box("mdat", ""))]),
    ]) {
      assert.equal(await find(bytes), undefined, bytes.toString("latin1").slice(0, 60));
    }
  });

  it("are searched for in bounded time in any bytes", async () => {
    const type = fc.constantFrom("moov", "trak", "udta", "mdat", "stsd", "ftyp", "\0\0\0\0");
    const piece = fc.tuple(fc.nat(40), type).map(([size, name]) => {
      const head = Buffer.alloc(8);
      head.writeUInt32BE(size);
      head.write(name, 4, "latin1");
      return head;
    });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const bytes = Buffer.concat(pieces);
        for (const { typeAt, start, end } of (await find(bytes)) ?? []) {
          assert.ok(typeAt < start && start <= end && end <= bytes.length);
        }
      }),
    );
  });
});
