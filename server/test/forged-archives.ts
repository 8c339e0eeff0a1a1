import { gunzipSync, gzipSync } from "node:zlib";
import { ArchiveWriter } from "../src/archives/archive.ts";
import { readArchive } from "../src/archives/archive-reader.ts";
import { endName, headName, keyOf, rowsName, tableOf } from "../src/archives/format.ts";

/** The parts of an archive, of which a test forges one. */
export interface ArchivePieces {
  readonly head: Readonly<Record<string, unknown>>;
  /** All entries between the head and the end, in order. */
  readonly entries: readonly ArchiveEntryPiece[];
  /** Members of the end that are not computed from the entries. */
  readonly end: Readonly<Record<string, unknown>>;
}

export interface ArchiveEntryPiece {
  readonly name: string;
  readonly content: Buffer;
}

export async function splitArchive(archive: AsyncIterable<Uint8Array>): Promise<ArchivePieces> {
  const all: ArchiveEntryPiece[] = [];
  for await (const { name, bytes } of readArchive(archive)) {
    const pieces: Uint8Array[] = [];
    for await (const piece of bytes) pieces.push(piece);
    all.push({ name, content: Buffer.concat(pieces) });
  }
  const parsed = (wanted: string) => JSON.parse(String(all.find(({ name }) => name === wanted)?.content));
  const { missing } = parsed(endName);
  return {
    head: parsed(headName),
    entries: all.filter(({ name }) => name !== headName && name !== endName),
    end: { missing },
  };
}

/** Builds an archive from these parts, with correct digests and counts. */
export function* putTogether({
  head,
  entries,
  end,
}: Omit<ArchivePieces, "entries"> & { readonly entries: Iterable<ArchiveEntryPiece> }): Generator<Uint8Array> {
  const rows: Record<string, number> = {};
  const files = { files: 0, bytes: 0 };
  const writer = new ArchiveWriter();
  yield* writer.entry(headName, Buffer.from(JSON.stringify(head)));
  for (const { name, content } of entries) {
    const table = tableOf(name);
    if (table !== undefined) rows[table] = (rows[table] ?? 0) + countLines(content);
    if (keyOf(name) !== undefined) {
      files.files += 1;
      files.bytes += content.length;
    }
    yield* writer.entry(name, content);
  }
  yield* writer.entry(endName, Buffer.from(JSON.stringify({ rows, ...files, ...end })));
  yield* writer.end();
}

/** Replaces the rows of a table, of which the archive has at most one part. */
export function withLines(
  pieces: ArchivePieces,
  table: string,
  change: (lines: readonly string[]) => readonly string[],
): ArchivePieces {
  const name = rowsName(table, 1);
  const found = pieces.entries.find((entry) => entry.name === name);
  const lines = found === undefined ? [] : gunzipSync(found.content).toString("utf8").slice(0, -1).split("\n");
  const changed = {
    name,
    content: gzipSync(
      change(lines)
        .map((line) => `${line}\n`)
        .join(""),
    ),
  };
  if (found !== undefined) {
    return { ...pieces, entries: pieces.entries.map((entry) => (entry === found ? changed : entry)) };
  }
  const lastTable = pieces.entries.findLastIndex((entry) => tableOf(entry.name) !== undefined);
  return { ...pieces, entries: pieces.entries.toSpliced(lastTable + 1, 0, changed) };
}

/** Replaces a member of the first row of a table. */
export function withValue(pieces: ArchivePieces, table: string, column: string, value: unknown): ArchivePieces {
  return withLines(pieces, table, ([first = "{}", ...others]) => [
    JSON.stringify({ ...JSON.parse(first), [column]: value }),
    ...others,
  ]);
}

function countLines(content: Buffer): number {
  try {
    return gunzipSync(content, { maxOutputLength: 10_000_000 }).toString("latin1").split("\n").length - 1;
  } catch {
    return 0;
  }
}
