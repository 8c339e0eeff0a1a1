/** Builds a box of ISO base media: length, type and content. */
export function box(type: string, ...content: readonly (Buffer | string)[]): Buffer {
  const bytes = Buffer.concat(content.map((each) => (typeof each === "string" ? Buffer.from(each, "latin1") : each)));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + bytes.length);
  head.write(type, 4, "latin1");
  return Buffer.concat([head, bytes]);
}

/** The location in the metadata of test films. */
export const filmedAt = "+48.2082+016.3738/";

/** Builds the sample description of one track. */
export function sampleDescription(format: string): Buffer {
  return box("trak", box("mdia", box("minf", box("stbl", box("stsd", "\0\0\0\0\0\0\0\x01", box(format, "\0\0"))))));
}

/** Builds a film as phones write it, with the location in several boxes. */
export function film(media: Buffer): Buffer {
  return Buffer.concat([
    box("ftyp", "qt  \0\0\0\0qt  "),
    box("free", filmedAt),
    box("mdat", media),
    box(
      "moov",
      box("mvhd", Buffer.alloc(100)),
      sampleDescription("avc1"),
      box("trak", box("udta", box("loci", filmedAt))),
      box("udta", box("\xa9xyz", `\0\x12\x15\xc7${filmedAt}`), "\0\0\0\0"),
      box("meta", box("ilst", `com.apple.quicktime.location.ISO6709 ${filmedAt}`)),
    ),
    box("uuid", `0123456789abcdef<exif>${filmedAt}</exif>`),
  ]);
}
