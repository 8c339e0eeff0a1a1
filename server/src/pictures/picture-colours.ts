/**
 * Converts CMYK without a profile as browsers do. The library would assume the inks of a printing press, whose colours differ
 * widely from those that browsers show.
 *
 * @param pixels four bytes each
 */
export function rgbOfCmyk(pixels: Uint8Array): Uint8Array {
  const rgb = new Uint8Array((pixels.length / 4) * 3);
  for (let from = 0, to = 0; from < pixels.length; from += 4, to += 3) {
    const white = 255 - (pixels[from + 3] ?? 0);
    for (let ink = 0; ink < 3; ink += 1) rgb[to + ink] = Math.round(((255 - (pixels[from + ink] ?? 0)) * white) / 255);
  }
  return rgb;
}

const startOfImage = Buffer.from([0xff, 0xd8]);
/** A segment has at most 65,535 bytes with its length; each part of a profile has a head of 14 bytes in it. */
const partBytesMax = 65_519;

/** Adds an ICC profile to a JPEG, in as many segments as it takes. */
export function withProfile(jpeg: Buffer, profile: Uint8Array): Buffer {
  const count = Math.ceil(profile.length / partBytesMax);
  const segments = Array.from({ length: count }, (_, index) => {
    const part = profile.subarray(index * partBytesMax, (index + 1) * partBytesMax);
    const head = Buffer.from("\xff\xe2..ICC_PROFILE\0..", "latin1");
    head.writeUInt16BE(head.length - 2 + part.length, 2);
    head.writeUInt8(index + 1, head.length - 2);
    head.writeUInt8(count, head.length - 1);
    return Buffer.concat([head, part]);
  });
  return Buffer.concat([startOfImage, ...segments, jpeg.subarray(startOfImage.length)]);
}
