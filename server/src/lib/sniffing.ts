export type PictureType = "image/jpeg" | "image/png" | "image/gif" | "image/webp" | "image/avif" | "image/heic";

/** The number of bytes that identify a picture. */
export const sniffedBytes = 64;

const pngSignature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/**
 * Returns the type of a picture by its first bytes (spec/files#valid-pictures). HTML, SVG and XML are not pictures.
 */
export function sniffPicture(head: Uint8Array): PictureType | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, sniffedBytes));
  const text = bytes.toString("latin1");
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.subarray(0, pngSignature.length).equals(pngSignature)) return "image/png";
  if (/^GIF8[79]a/.test(text)) return "image/gif";
  if (/^RIFF.{4}WEBPVP8[ LX]/s.test(text)) return "image/webp";
  return text.slice(4, 8) === "ftyp" ? sniffBrands(bytes, text) : undefined;
}

/** The first box contains the brand and, after a version, the compatible brands, of four letters each. */
function sniffBrands(bytes: Buffer, text: string): PictureType | undefined {
  const brand = text.slice(8, 12);
  if (avif.test(brand)) return "image/avif";
  if (heic.test(brand)) return "image/heic";
  if (brand !== "mif1" && brand !== "msf1") return undefined; // for these generic brands, a compatible brand names the format
  const others = text.slice(16, bytes.readUInt32BE(0)).match(/.{4}/gs) ?? [];
  if (others.some((other) => heic.test(other))) return "image/heic";
  return others.some((other) => avif.test(other)) ? "image/avif" : undefined;
}

const avif = /^avi[fs]$/;
/** The brands of pictures that are coded with HEVC, which phones take. */
const heic = /^he(i[cxms]|v[cxms])$/;
