import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { StoredRow } from "../db/snapshot.ts";
import { ArchiveError } from "./format.ts";
import type { Pace } from "./pace.ts";

/** A part of a table has so many characters of text, or one row more: they are compressed in one go. */
const charactersPerPart = 262_144;
const rowsPerPart = 5_000;
/** Nothing that we write comes near it; what would grow beyond it is no archive of ours. */
export const partBytesMax = 536_870_912;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Some rows of a table, as an entry holds them: one JSON object on each line, compressed. */
export interface RowsPart {
  readonly content: Buffer;
  readonly rows: number;
}

/** Rows in parts of a bounded size. */
export async function* writeRows(rows: AsyncIterable<StoredRow>, pace?: Pace): AsyncGenerator<RowsPart> {
  let text = "";
  let count = 0;
  for await (const row of rows) {
    text += `${JSON.stringify(row, encode)}\n`;
    count += 1;
    if (pace?.isOver()) await pace.rest();
    if (text.length < charactersPerPart && count < rowsPerPart) continue;
    yield { content: await compress(text, { level: 1 }), rows: count };
    text = "";
    count = 0;
  }
  if (count > 0) yield { content: await compress(text, { level: 1 }), rows: count };
}

/**
 * @param bytesMax what it may unpack to
 * @throws ArchiveError
 */
export async function readRows(content: Buffer, bytesMax: number = partBytesMax): Promise<StoredRow[]> {
  const lines = await decompress(content, { maxOutputLength: bytesMax }).catch((cause: unknown) => {
    throw new ArchiveError("A part of a table cannot be unpacked", { cause });
  });
  // Before anything is made of them: rows of two characters each would be many times as large in memory.
  let count = 0;
  for (let at = lines.indexOf("\n"); at !== -1; at = lines.indexOf("\n", at + 1)) {
    count += 1;
    if (count > rowsPerPart) throw new ArchiveError("A part of a table holds more rows than any that we write");
  }
  const text = lines.toString("utf8");
  if (!text.endsWith("\n")) throw new ArchiveError("A part of a table ends in the middle of a row");
  return text.slice(0, -1).split("\n").map(decodeRow);
}

/** JSON has neither bytes nor all doubles; no column holds an object, so these cannot be taken for anything else. */
function encode(this: unknown, name: string, value: unknown): unknown {
  const stored = (this as Record<string, unknown>)[name]; // before toJSON, which a Buffer has
  if (stored instanceof Uint8Array) return { base64: Buffer.from(stored).toString("base64") };
  if (typeof value === "number" && !Number.isFinite(value)) return { number: String(value) };
  return value;
}

function decodeRow(line: string): StoredRow {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (cause) {
    throw new ArchiveError("A row cannot be read", { cause });
  }
  if (typeof row !== "object" || row === null || Array.isArray(row)) throw new ArchiveError("A row cannot be read");
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, decode(value)]));
}

function decode(value: unknown): StoredRow[string] {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  const { base64, number } = value as { base64?: unknown; number?: unknown }; // whatever it is, it may have them
  if (typeof base64 === "string") return Buffer.from(base64, "base64");
  if (typeof number === "string") return Number(number);
  throw new ArchiveError("A row holds a value that no column has");
}
