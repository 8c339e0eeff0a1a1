import { crc32 } from "node:zlib";
import { png } from "./uploads.ts";

/** A PNG of two frames of 8 x 6 pixels, with a text chunk and a trailer. */
export async function animatedPng(): Promise<Buffer> {
  const frames = await Promise.all(["#123456", "#654321"].map((colour) => png(8, 6, colour)));
  const dataOf = (png: Buffer) =>
    Buffer.concat(chunksOf(png).flatMap(({ name, data }) => (name === "IDAT" ? [data] : [])));
  const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = frames;
  const [header] = chunksOf(first);
  const control = (sequence: number) => {
    const data = Buffer.alloc(26);
    data.writeUInt32BE(sequence, 0);
    data.writeUInt32BE(8, 4);
    data.writeUInt32BE(6, 8);
    data.writeUInt16BE(1, 20);
    data.writeUInt16BE(10, 22);
    return chunk("fcTL", data);
  };
  return Buffer.concat([
    first.subarray(0, 8),
    chunk("IHDR", header?.data ?? Buffer.alloc(0)),
    chunk("tEXt", Buffer.from("Comment\0Secret")),
    chunk("acTL", Buffer.from([0, 0, 0, 2, 0, 0, 0, 0])),
    control(0),
    chunk("IDAT", dataOf(first)),
    control(1),
    chunk("fdAT", Buffer.concat([Buffer.from([0, 0, 0, 2]), dataOf(second)])),
    chunk("IEND", Buffer.alloc(0)),
    Buffer.from("Secret trailer"),
  ]);
}

function chunksOf(png: Buffer): { readonly name: string; readonly data: Buffer }[] {
  const chunks = [];
  for (let at = 8; at + 12 <= png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({ name: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return chunks;
}

/** The types of the chunks, in order. */
export const chunkNames = (png: Buffer) => chunksOf(png).map(({ name }) => name);

/** A chunk of a PNG, with its checksum. */
export function chunk(type: string, data: Buffer): Buffer {
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type), data]);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
