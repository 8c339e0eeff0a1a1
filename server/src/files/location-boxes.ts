/** A range of bytes of a file: from `start`, inclusive, to `end`, exclusive. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** Reads a range of a file; returns fewer bytes only at its end. */
export type ReadBytes = (start: number, end: number) => Promise<Buffer>;

/**
 * A box that may contain the location of a recording. Blanking sets its type to `free` and its content to zeros, and
 * keeps its length.
 */
export interface BlankedBox extends ByteSpan {
  /** The offset of its four-byte type. */
  readonly typeAt: number;
}

/** The types of the first box in MP4 and QuickTime files, including older ones. */
const firstTypes: ReadonlySet<string> = new Set([
  "ftyp",
  "styp",
  "moov",
  "mdat",
  "wide",
  "free",
  "skip",
  "pnot",
  "moof",
  "uuid",
]);

/** Whether a file begins like ISO base media (ISO 14496-12) or QuickTime: MP4, MOV, M4A, 3GP, HEIC. */
export function isIsoMedia(head: Buffer): boolean {
  return firstTypes.has(typeAt(head, 4));
}

/** Boxes with descriptions, or with remnants of them. */
const described: ReadonlySet<string> = new Set(["udta", "meta", "uuid", "free", "skip", "Xtra"]);
/** Boxes whose children are examined. */
const containers: ReadonlySet<string> = new Set(["moov", "trak", "mdia", "minf", "stbl", "moof", "traf"]);
/** Brands of still pictures (HEIC): their metadata lies among the picture's own bytes. */
const pictureBrands = /^(hei[cxms]|hev[cxms]|mif1|msf1|avi[fs]|jpeg)$/;
/** Tracks that record locations during the film, as action cameras, phones and dash cameras do. */
const placeTracks = /gpmd|camm|gps|location/i;

const boxesMax = 1_000;
const blankedMax = 500;
const sampleDescriptionBytesMax = 65_536;

/**
 * Finds the boxes of a film that may contain its location. Reads only the headers of boxes, and at most a thousand of
 * them.
 *
 * @returns undefined when other parts may contain locations: for a still picture, a location track, or a malformed film
 */
export async function findLocationBoxes(length: number, read: ReadBytes): Promise<readonly BlankedBox[] | undefined> {
  const found: BlankedBox[] = [];
  let boxes = 0;

  /** @returns false for a file that cannot be cleaned */
  async function walk({ start, end }: ByteSpan): Promise<boolean> {
    for (let at = start; at < end; ) {
      boxes += 1;
      if (boxes > boxesMax) return false;
      const head = await read(at, Math.min(end, at + 16));
      if (head.length < 8) return head.every((byte) => byte === 0); // QuickTime ends lists of boxes with zeros
      const type = typeAt(head, 4);
      const [headLength, given] = sizeOf(head, end - at);
      if (given < headLength) return false;
      const box = { start: at + headLength, end: Math.min(end, at + given) };
      if (type === "ftyp" && pictureBrands.test(typeAt(await read(box.start, box.start + 4), 0))) return false;
      if (type === "cmov" || type === "gps ") return false; // compressed boxes; locations of dash cameras
      if (type === "stsd" && !(await isPlaceless(box))) return false;
      if (described.has(type)) {
        if (found.length >= blankedMax) return false;
        found.push({ ...box, typeAt: at + 4 });
      } else if (containers.has(type) && !(await walk(box))) return false;
      at = box.end;
    }
    return true;
  }

  async function isPlaceless({ start, end }: ByteSpan): Promise<boolean> {
    if (end - start > sampleDescriptionBytesMax) return false;
    return !placeTracks.test((await read(start, end)).toString("latin1"));
  }

  return (await walk({ start: 0, end: length })) ? found : undefined;
}

/** @returns the length of a box's header, and of the whole box */
function sizeOf(head: Buffer, rest: number): [headLength: number, length: number] {
  const size = head.readUInt32BE(0);
  if (size === 0) return [8, rest]; // extends to the end of its parent
  if (size !== 1) return [8, size];
  return head.length < 16 ? [16, 0] : [16, Number(head.readBigUInt64BE(8))];
}

function typeAt(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at, at + 4);
}

const freeType = Buffer.from("free");

/** Blanks boxes in a part of a file that begins at the offset `at`. */
export function blankBoxes(bytes: Buffer, at: number, boxes: readonly BlankedBox[]): void {
  const end = at + bytes.length;
  for (const box of boxes) {
    if (box.typeAt >= end || box.end <= at) continue;
    bytes.fill(
      0,
      Math.max(0, Math.min(bytes.length, box.start - at)),
      Math.max(0, Math.min(bytes.length, box.end - at)),
    );
    for (let n = 0; n < freeType.length; n++) {
      const place = box.typeAt + n - at;
      if (place >= 0 && place < bytes.length) bytes[place] = freeType[n] ?? 0;
    }
  }
}
