import { createHash, hash } from "node:crypto";
import { PlainFailure } from "../config/failure.ts";
import { restoringName } from "../db/migrate.ts";
import { openSnapshot } from "../db/open.ts";
import type { Snapshot, StoredRow } from "../db/snapshot.ts";
import { originalKey } from "../files/files.uploads.ts";
import { type ByteStore, BytesMissing } from "../storage/byte-store.ts";
import { type BufferFile, createBufferFile } from "./buffer-file.ts";
import { Checks, entriesPerCheck } from "./checks.ts";
import {
  type ArchiveEnd,
  type ArchiveHead,
  endName,
  fileName,
  headName,
  type MissingObject,
  missingName,
  missingPerPart,
  rowsName,
} from "./format.ts";
import { writeRows } from "./rows.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar.ts";
import type { Throttle } from "./throttle.ts";

/** The contents of an archive. */
export interface ArchiveContents {
  readonly head: Omit<ArchiveHead, "migrations">;
  /** In load order: a row comes after the rows that it refers to. */
  readonly tables: readonly string[];
  /** Entries between the head and the tables. */
  readonly extras: readonly { readonly name: string; readonly content: Buffer }[];
  /** Changes a row before it is written; undefined omits it. */
  readonly change?: (table: string, row: StoredRow) => StoredRow | undefined;
}

export interface ArchiveServices {
  readonly databaseUrl: string;
  readonly bytes: ByteStore;
  /** The folder of a temporary file with the keys of files. */
  readonly bufferFolder?: string | undefined;
  /** Without a throttle, the archive is written at full speed. */
  readonly throttle?: Throttle | undefined;
}

/** The progress of an archive. */
export interface ArchiveProgress {
  readonly rows: number;
  /** An estimate; undefined if the engine has none. */
  readonly rowsTotal?: number | undefined;
  readonly files: number;
  /** Bytes of files. */
  readonly bytes: number;
  /** Set after the rows are written. The bytes exclude unfinished uploads. */
  readonly filesTotal?: { readonly files: number; readonly bytes: number };
}

/** An object of the store that a row of the snapshot refers to. */
interface NamedObject extends Omit<MissingObject, "why"> {
  /** Absent for an unfinished upload. */
  readonly length?: number;
  readonly sha256?: string;
}

/**
 * Yields the bytes of an archive. All rows come from one snapshot, which is closed before the first file is read, so that
 * the database can vacuum old row versions. Stored objects never change, so the files match the snapshot. A file that is
 * deleted after the snapshot is listed as deleted, and loading the archive removes it.
 *
 * @param snapshot is closed after its rows are read
 */
export async function* writeArchive(
  snapshot: Snapshot,
  contents: ArchiveContents,
  services: ArchiveServices,
  onProgress?: (progress: ArchiveProgress) => void,
): AsyncGenerator<Uint8Array, ArchiveEnd> {
  const { head, extras } = contents;
  if (snapshot.migrations.includes(restoringName)) {
    await snapshot.close();
    throw new PlainFailure("A restore into the database is not finished. Run it again before making an archive.");
  }
  const writer = new ArchiveWriter();
  const buffer = await createBufferFile<NamedObject>(services.bufferFolder);
  try {
    yield* writer.entry(headName, toJson({ ...head, migrations: snapshot.migrations }));
    for (const { name, content } of extras) yield* writer.entry(name, content);
    const filesTotal = { files: 0, bytes: 0 };
    async function note(object: NamedObject): Promise<void> {
      filesTotal.files += 1;
      filesTotal.bytes += object.length ?? 0;
      await buffer.add(object);
    }
    const rowsTotal = onProgress && (await estimateRows(snapshot, contents));
    const rows = yield* writeTables(writer, snapshot, contents, { note, throttle: services.throttle }, (written) =>
      onProgress?.({ rows: written, rowsTotal, files: 0, bytes: 0 }),
    );
    await snapshot.close();

    const written = Object.values(rows).reduce((sum, count) => sum + count, 0);
    const files = yield* writeFiles(writer, buffer, services, (done) =>
      onProgress?.({ ...done, filesTotal, rows: written, rowsTotal: written }),
    );
    const end: ArchiveEnd = { rows, ...files };
    yield* writer.entry(endName, toJson(end));
    yield* writer.end();
    return end;
  } finally {
    await snapshot.close();
    await buffer.close();
  }
}

/** @returns undefined if a table has no estimate */
async function estimateRows(
  snapshot: Snapshot,
  { head: { applicationId }, tables }: ArchiveContents,
): Promise<number | undefined> {
  const having = applicationId === undefined ? {} : { application_id: applicationId };
  let total = 0;
  for (const table of tables) {
    if (!snapshot.tables.includes(table)) continue;
    const rows = await snapshot.estimateRows(table, having);
    if (rows !== undefined) total += rows;
    else if (applicationId !== undefined) return undefined;
  }
  return total;
}

async function* writeTables(
  writer: ArchiveWriter,
  snapshot: Snapshot,
  { head: { applicationId, isWithoutFiles }, tables, change = (_table, row) => row }: ArchiveContents,
  services: { note(object: NamedObject): Promise<void>; readonly throttle: Throttle | undefined },
  onProgress: (rows: number) => void,
): AsyncGenerator<Uint8Array, ArchiveEnd["rows"]> {
  const having = applicationId === undefined ? {} : { application_id: applicationId };
  const counts: Record<string, number> = {};
  let total = 0;
  for (const table of tables) {
    if (!snapshot.tables.includes(table)) continue; // missing in an older schema
    async function* changed() {
      for await (const stored of snapshot.rows(table, having)) {
        const row = change(table, stored);
        if (row === undefined) continue;
        const object = isWithoutFiles ? undefined : objectOf(table, row);
        if (object !== undefined) await services.note(object);
        yield row;
      }
    }
    counts[table] = 0;
    let part = 0;
    for await (const { content, rows } of writeRows(changed(), services.throttle)) {
      part += 1;
      yield* writer.entry(rowsName(table, part), content);
      counts[table] += rows;
      total += rows;
      onProgress(total);
    }
  }
  return counts;
}

/** The stored object of a row. Scaled pictures are not archived, because they can be generated again. */
function objectOf(table: string, row: StoredRow): NamedObject | undefined {
  const text = (column: string) => String(row[column]);
  const applicationId = text("application_id");
  if (table === "files") {
    const id = text("id");
    const key = originalKey(applicationId, id);
    return { applicationId, id, key, length: Number(row["content_length"]), sha256: text("content_hash") };
  }
  if (table === "upload_segments") return { applicationId, id: text("upload_id"), key: text("key") };
  return undefined;
}

async function* writeFiles(
  writer: ArchiveWriter,
  buffer: BufferFile<NamedObject>,
  { databaseUrl, bytes, throttle }: ArchiveServices,
  onProgress: (done: { files: number; bytes: number }) => void,
): AsyncGenerator<Uint8Array, Omit<ArchiveEnd, "rows">> {
  const done = { files: 0, bytes: 0 };
  const counts = { deleted: 0, lost: 0, damaged: 0 };
  let missing: MissingObject[] = [];
  let part = 0;
  async function* writeMissing(): AsyncGenerator<Uint8Array> {
    if (missing.length === 0) return;
    part += 1;
    const settled = await markDeleted(missing, databaseUrl);
    for (const { why } of settled) counts[why] += 1;
    yield* writer.entry(missingName(part), Buffer.from(settled.map((each) => `${JSON.stringify(each)}\n`).join("")));
    missing = [];
  }

  for await (const { length, sha256, ...object } of buffer.items()) {
    const size = await bytes.size(object.key);
    const isThere = size !== undefined && size === (length ?? size);
    const content = isThere ? await bytes.read(object.key).catch(orMissing) : undefined;
    if (size === undefined || content === undefined) {
      missing.push({ ...object, why: "lost" });
    } else {
      let read = 0;
      const onChunk = (length: number) => {
        read += length;
        onProgress({ files: done.files, bytes: done.bytes + read });
      };
      const found = yield* writer.stream(fileName(object.key), size, paced(content, throttle, onChunk));
      if (sha256 !== undefined && found !== sha256) missing.push({ ...object, why: "damaged" });
      done.files += 1;
      done.bytes += size;
      onProgress(done);
    }
    if (missing.length >= missingPerPart) yield* writeMissing();
  }
  yield* writeMissing();
  return { ...done, missing: counts };
}

async function* paced(
  chunks: AsyncIterable<Uint8Array>,
  throttle: Throttle | undefined,
  onChunk: (length: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    onChunk(chunk.length);
    await throttle?.rest();
  }
}

/** Marks a missing object as deleted if its row is missing as well: both were deleted after the snapshot. */
async function markDeleted(missing: readonly MissingObject[], databaseUrl: string): Promise<MissingObject[]> {
  const now = await openSnapshot(databaseUrl);
  const settled: MissingObject[] = [];
  try {
    for (const object of missing) {
      const { applicationId, id, key, why } = object;
      const named =
        key === originalKey(applicationId, id)
          ? now.rows("files", { application_id: applicationId, id })
          : now.rows("upload_segments", { application_id: applicationId, upload_id: id, key });
      settled.push({ ...object, why: (await isEmpty(named)) ? "deleted" : why });
    }
  } finally {
    await now.close();
  }
  return settled;
}

async function isEmpty(rows: AsyncIterable<StoredRow>): Promise<boolean> {
  for await (const _ of rows) return false;
  return true;
}

function orMissing(error: unknown): undefined {
  if (!(error instanceof BytesMissing)) throw error;
}

function toJson(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** Encodes the entries of an archive; each method yields the next bytes. */
export class ArchiveWriter {
  readonly #checks = new Checks();

  *entry(name: string, content: Uint8Array): Generator<Uint8Array> {
    yield* this.#write(name, content);
    this.#checks.add(name, hash("sha256", content, "hex"));
    if (this.#checks.waiting >= entriesPerCheck) yield* this.#check();
  }

  /**
   * @returns the SHA-256 of the bytes
   * @throws Error if their number is not `size`
   */
  async *stream(name: string, size: number, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, string> {
    const digest = createHash("sha256");
    let left = size;
    yield tarHeader(name, size);
    for await (const chunk of bytes) {
      left -= chunk.length;
      if (left < 0) break;
      digest.update(chunk);
      yield chunk;
    }
    if (left !== 0) throw new Error(`${name} has changed while it was read`);
    yield tarPadding(size);
    const sha256 = digest.digest("hex");
    this.#checks.add(name, sha256);
    if (this.#checks.waiting >= entriesPerCheck) yield* this.#check();
    return sha256;
  }

  /** Yields the remaining digests and the end of the archive. */
  *end(): Generator<Uint8Array> {
    yield* this.#check();
    yield tarEnd;
  }

  *#check(): Generator<Uint8Array> {
    const { name, content } = this.#checks.take();
    yield* this.#write(name, content);
  }

  *#write(name: string, content: Uint8Array): Generator<Uint8Array> {
    yield tarHeader(name, content.length);
    if (content.length > 0) yield content;
    yield tarPadding(content.length);
  }
}
