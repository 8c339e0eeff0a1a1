import { restoringName } from "../db/migrate.ts";
import { openSnapshot } from "../db/open-snapshot.ts";
import type { Snapshot, StoredRow } from "../db/snapshot.ts";
import { PlainFailure } from "../failure.ts";
import { originalKey } from "../files/files.uploads.ts";
import { type ByteStore, BytesMissing } from "../storage/byte-store.ts";
import { ArchiveWriter } from "./archive-writer.ts";
import {
  type ArchiveEnd,
  type ArchiveHead,
  endName,
  fileName,
  headName,
  type MissingObject,
  missingName,
  rowsName,
} from "./format.ts";
import type { Pace } from "./pace.ts";
import { writeRows } from "./rows.ts";
import { createSpool, type Spool } from "./spool.ts";

/** What goes into an archive. */
export interface ArchiveContents {
  readonly head: Omit<ArchiveHead, "migrations">;
  /** In the order in which they can be loaded. */
  readonly tables: readonly string[];
  /** Entries between the head and the tables. */
  readonly extras: readonly { readonly name: string; readonly content: Buffer }[];
  /** Changes a row before it is written; undefined leaves it out. */
  readonly change?: (table: string, row: StoredRow) => StoredRow | undefined;
}

export interface ArchiveServices {
  readonly databaseUrl: string;
  readonly bytes: ByteStore;
  /** Without one it is written as fast as can be. */
  readonly pace?: Pace;
}

/** How far an archive has come. */
export interface ArchiveProgress {
  readonly rows: number;
  readonly files: number;
  /** Of files. */
  readonly bytes?: number;
}

/** An object of the store that a row of the snapshot names. */
interface NamedObject extends Omit<MissingObject, "why"> {
  /** Of an upload that is not finished it is not known. */
  readonly length?: number;
  readonly sha256?: string;
}

const missingPerPart = 1_000;

/**
 * All bytes of an archive. Rows are those of one moment; the snapshot ends before the first file is read, so that the database
 * keeps nothing for it. What a key names never changes, so that files are those of the same moment; one that is deleted in
 * the meantime is named as deleted, and goes when the archive is loaded, as if that had been a moment earlier.
 *
 * @param snapshot is closed when its rows have been read
 */
export async function* writeArchive(
  snapshot: Snapshot,
  contents: ArchiveContents,
  services: ArchiveServices,
  onProgress: (progress: ArchiveProgress) => void = () => {},
): AsyncGenerator<Uint8Array, ArchiveEnd> {
  const { head, extras } = contents;
  if (snapshot.migrations.includes(restoringName)) {
    await snapshot.close();
    throw new PlainFailure("The database is half restored: there is nothing to archive yet.");
  }
  const writer = new ArchiveWriter();
  const spool = await createSpool<NamedObject>();
  try {
    yield* writer.entry(headName, toJson({ ...head, migrations: snapshot.migrations }));
    for (const { name, content } of extras) yield* writer.entry(name, content);
    const rows = yield* writeTables(writer, snapshot, contents, { spool, pace: services.pace }, onProgress);
    await snapshot.close();

    const files = yield* writeFiles(writer, spool, services, (done) =>
      onProgress({ ...done, rows: Object.values(rows).reduce((sum, count) => sum + count, 0) }),
    );
    const end: ArchiveEnd = { rows, ...files };
    yield* writer.entry(endName, toJson(end));
    yield* writer.end();
    return end;
  } finally {
    await snapshot.close();
    await spool.close();
  }
}

async function* writeTables(
  writer: ArchiveWriter,
  snapshot: Snapshot,
  { head: { applicationId, isWithoutFiles }, tables, change = (_table, row) => row }: ArchiveContents,
  { spool, pace }: { readonly spool: Spool<NamedObject>; readonly pace: Pace | undefined },
  onProgress: (progress: ArchiveProgress) => void,
): AsyncGenerator<Uint8Array, ArchiveEnd["rows"]> {
  const having = applicationId === undefined ? {} : { application_id: applicationId };
  const counts: Record<string, number> = {};
  let total = 0;
  for (const table of tables) {
    if (!snapshot.tables.includes(table)) continue; // of an older schema
    async function* changed() {
      for await (const stored of snapshot.rows(table, having)) {
        const row = change(table, stored);
        if (row === undefined) continue;
        const object = isWithoutFiles ? undefined : objectOf(table, row);
        if (object !== undefined) await spool.add(object);
        yield row;
      }
    }
    counts[table] = 0;
    let part = 0;
    for await (const { content, rows } of writeRows(changed(), pace)) {
      part += 1;
      yield* writer.entry(rowsName(table, part), content);
      counts[table] += rows;
      total += rows;
      onProgress({ rows: total, files: 0 });
    }
  }
  return counts;
}

/** The bytes that a row stands for. Scaled pictures are made again. */
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
  spool: Spool<NamedObject>,
  { databaseUrl, bytes, pace }: ArchiveServices,
  onProgress: (done: { files: number; bytes: number }) => void,
): AsyncGenerator<Uint8Array, Omit<ArchiveEnd, "rows">> {
  const done = { files: 0, bytes: 0 };
  const counts = { deleted: 0, lost: 0, damaged: 0 };
  let missing: MissingObject[] = [];
  let part = 0;
  async function* writeMissing(): AsyncGenerator<Uint8Array> {
    if (missing.length === 0) return;
    part += 1;
    const settled = await tellDeleted(missing, databaseUrl);
    for (const { why } of settled) counts[why] += 1;
    yield* writer.entry(missingName(part), Buffer.from(settled.map((each) => `${JSON.stringify(each)}\n`).join("")));
    missing = [];
  }

  for await (const { length, sha256, ...object } of spool.items()) {
    const size = await bytes.size(object.key);
    const isThere = size !== undefined && size === (length ?? size);
    const content = isThere ? await bytes.read(object.key).catch(orMissing) : undefined;
    if (size === undefined || content === undefined) {
      missing.push({ ...object, why: "lost" });
    } else {
      const found = yield* writer.stream(fileName(object.key), size, paced(content, pace));
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

async function* paced(chunks: AsyncIterable<Uint8Array>, pace: Pace | undefined): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    await pace?.rest();
  }
}

/** What is not in the store any more, and not in the database either, has been deleted since the snapshot. */
async function tellDeleted(missing: readonly MissingObject[], databaseUrl: string): Promise<MissingObject[]> {
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
