import type { StoredRow } from "../db/snapshot.ts";
import { type ArchiveEntry, readArchive } from "./archive-reader.ts";
import {
  type ArchiveEnd,
  ArchiveError,
  type ArchiveHead,
  endName,
  headName,
  isMissingName,
  keyOf,
  type MissingObject,
  parseEnd,
  parseHead,
  secretName,
  signingSecretName,
  tableOf,
} from "./format.ts";
import { partBytesMax, readRows } from "./rows.ts";

/** What is done with the parts of an archive, in their order: the head, secrets, tables, files, what is missing. */
export interface ArchiveLoad {
  /** What a part that is held in memory may have, and unpack to; where nothing is said, as much as memory can hold. */
  readonly partBytesMax?: number;
  head?(head: ArchiveHead): Promise<void>;
  secret?(content: string): Promise<void>;
  signingSecret?(content: string): Promise<void>;
  rows?(table: string, rows: readonly StoredRow[]): Promise<void>;
  file?(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  missing?(object: MissingObject): Promise<void>;
}

/** What was in an archive that is whole. */
export interface LoadedArchive {
  readonly head: ArchiveHead;
  readonly end: ArchiveEnd;
}

/**
 * Reads an archive to its end in one pass, and lets each part be loaded as it comes. What has been loaded counts only when
 * this resolves: until then the archive may turn out not to be whole.
 *
 * @throws ArchiveError when it is no archive, or not whole
 */
export async function loadArchive(source: AsyncIterable<Uint8Array>, load: ArchiveLoad): Promise<LoadedArchive> {
  let head: ArchiveHead | undefined;
  let end: ArchiveEnd | undefined;
  const rows: Record<string, number> = {};
  const missing = { deleted: 0, lost: 0, damaged: 0 };
  const done = { files: 0, bytes: 0 };
  const bytesMax = load.partBytesMax ?? partBytesMax;

  for await (const entry of readArchive(source)) {
    const { name } = entry;
    if (head === undefined) {
      if (name !== headName) throw new ArchiveError("This is no archive of Rollcall");
      head = parseHead(await contentOf(entry, bytesMax));
      await load.head?.(head);
      continue;
    }
    const table = tableOf(name);
    const key = keyOf(name);
    if (table !== undefined) {
      const part = await readRows(await contentOf(entry, bytesMax), bytesMax);
      rows[table] = (rows[table] ?? 0) + part.length;
      await load.rows?.(table, part);
    } else if (key !== undefined) {
      done.files += 1;
      done.bytes += entry.size;
      await load.file?.(key, entry.bytes);
    } else if (isMissingName(name)) {
      for (const object of readMissing(await contentOf(entry, bytesMax))) {
        missing[object.why] += 1;
        await load.missing?.(object);
      }
    } else if (name === secretName) {
      await load.secret?.((await contentOf(entry, bytesMax)).toString("utf8"));
    } else if (name === signingSecretName) {
      await load.signingSecret?.((await contentOf(entry, bytesMax)).toString("utf8"));
    } else if (name === endName) {
      end = parseEnd(await contentOf(entry, bytesMax));
    } else {
      throw new ArchiveError(`The archive holds ${name}, which this release does not know`);
    }
  }

  if (head === undefined || end === undefined) throw new ArchiveError("The archive ends before its end");
  const counted = Object.entries(end.rows).filter(([, count]) => count > 0);
  const isAsCounted =
    sorted(counted) === sorted(Object.entries(rows)) &&
    end.files === done.files &&
    end.bytes === done.bytes &&
    sorted(Object.entries(end.missing)) === sorted(Object.entries(missing));
  if (!isAsCounted) throw new ArchiveError("The archive does not hold what its end says");
  return { head, end };
}

function sorted(entries: readonly (readonly [string, number])[]): string {
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

async function contentOf({ name, size, bytes }: ArchiveEntry, bytesMax: number): Promise<Buffer> {
  if (size > bytesMax) throw new ArchiveError(`${name} of the archive is larger than any that we write`);
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

function* readMissing(content: Buffer): Generator<MissingObject> {
  for (const line of content.toString("utf8").split("\n")) {
    if (line === "") continue;
    let object: Partial<MissingObject>;
    try {
      object = JSON.parse(line);
    } catch (cause) {
      throw new ArchiveError("What is missing cannot be read", { cause });
    }
    const isRight =
      [object.key, object.applicationId, object.id].every((text) => typeof text === "string") &&
      ["deleted", "lost", "damaged"].includes(object.why ?? "");
    if (!isRight) throw new ArchiveError("What is missing cannot be read");
    yield object as MissingObject; // it is, by now
  }
}
