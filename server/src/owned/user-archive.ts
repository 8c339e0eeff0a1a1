import { createHash } from "node:crypto";
import { finished, Readable } from "node:stream";
import yazl from "yazl";
import { formatDate } from "../lib/dates.ts";
import type { BytesEntry, ExportEntry, ExportOwner, RowsEntry, UserExporter } from "./export.ts";

/** The entry of a file in the manifest. */
interface WrittenEntry {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

/**
 * Rows beyond this size continue in another file, so that no file needs the ZIP64 format, which old programs cannot
 * read.
 */
const rowsBytesMaxDefault = 1024 ** 3;
const charactersPerChunk = 65_536;
/** Larger files in an archive need the ZIP64 format. */
const largeBytes = 0xffff_0000;

/**
 * Streams a ZIP archive of a user's data, which is read while it is written; destroy the stream to stop. The manifest
 * comes last, because it contains the sizes and SHA-256 digests of all other files.
 *
 * @param isThere returns false if the user has been deleted; then the archive is truncated, so that no reader mistakes
 * an incomplete export for a complete one
 */
export function archiveUser(
  owner: ExportOwner,
  exporters: readonly UserExporter[],
  options: { readonly now: number; readonly rowsBytesMax?: number; isThere(): Promise<boolean> },
): Readable {
  const { rowsBytesMax = rowsBytesMaxDefault } = options;
  const zip = new yazl.ZipFile();
  const output = zip.outputStream as Readable; // documented as a PassThrough
  const mtime = new Date(options.now);
  const entries: WrittenEntry[] = [];
  const missing: string[] = [];
  const counts = new Map<string, number>();

  /** Resolves when the bytes have been read to their end. */
  async function add(name: string, bytes: AsyncIterable<Uint8Array>, isCompressed: boolean, isLarge = false) {
    const hash = createHash("sha256");
    let size = 0;
    async function* measured() {
      for await (const chunk of bytes) {
        hash.update(chunk);
        size += chunk.length;
        yield chunk;
      }
    }
    const source = Readable.from(measured(), { objectMode: false });
    const stop = () => source.destroy(new ArchiveClosed());
    if (output.destroyed) stop();
    output.once("close", stop);
    try {
      const ended = new Promise<void>((resolve, reject) => {
        finished(source, { writable: false }, (error) => (error ? reject(error) : resolve()));
      });
      zip.addReadStream(source, name, { mtime, mode: 0o100600, compress: isCompressed, forceZip64Format: isLarge });
      await ended;
    } finally {
      output.off("close", stop);
    }
    entries.push({ name, size, sha256: hash.digest("hex") });
  }

  async function addRows({ name, rows }: RowsEntry): Promise<void> {
    const [noun = "", ending = ""] = name.split(".");
    const lines = linesOf(rows, Math.min(charactersPerChunk, rowsBytesMax), () =>
      counts.set(noun, (counts.get(noun) ?? 0) + 1),
    );
    counts.set(noun, 0);
    try {
      for (let part = 1, isDone = false; !isDone; part += 1) {
        async function* some() {
          for (let size = 0; size < rowsBytesMax; ) {
            const next = await lines.next();
            if (next.done === true) {
              isDone = true;
              return;
            }
            size += next.value.length;
            yield next.value;
          }
        }
        await add(part === 1 ? name : `${noun}-${part}.${ending}`, some(), true);
      }
    } finally {
      await lines.return(undefined);
    }
  }

  async function addBytes({ name, contentLength, open }: BytesEntry): Promise<void> {
    const bytes = await open();
    if (bytes === undefined) missing.push(name);
    else await add(name, bytes, false, contentLength >= largeBytes);
  }

  function* manifest(): Generator<Buffer> {
    const { applicationId, userId } = owner;
    const head = { format: "rollcall-user-export", version: 1, application: applicationId, user: userId };
    const about = { ...head, created: formatDate(options.now), counts: Object.fromEntries(counts), missing };
    yield Buffer.from(`${JSON.stringify(about).slice(0, -1)},"entries":[`);
    for (const [index, entry] of entries.entries()) {
      yield Buffer.from(`${index === 0 ? "\n" : ",\n"}${JSON.stringify(entry)}`);
    }
    yield Buffer.from("\n]}\n");
  }

  async function write(): Promise<void> {
    for (const exporter of exporters) {
      for await (const entry of exporter(owner)) {
        await (isRows(entry) ? addRows(entry) : addBytes(entry));
      }
    }
    if (!(await options.isThere())) throw new Error("The user was deleted while it was exported");
    const lines = manifest();
    await add("manifest.json", Readable.from(lines, { objectMode: false }), true);
    zip.end();
  }

  write().catch((error) => output.destroy(error instanceof ArchiveClosed ? undefined : error));
  return output;
}

/** The reader has closed the archive. */
class ArchiveClosed extends Error {}

function isRows(entry: ExportEntry): entry is RowsEntry {
  return "rows" in entry;
}

/** Yields the lines of some rows, many at a time, and yields to the event loop in between. */
async function* linesOf(
  rows: AsyncIterable<object> | Iterable<object>,
  charactersPerChunk: number,
  count: () => void,
): AsyncGenerator<Buffer, void, undefined> {
  let text = "";
  for await (const row of rows) {
    count();
    text += `${JSON.stringify(row)}\n`;
    if (text.length < charactersPerChunk) continue;
    yield Buffer.from(text);
    text = "";
    await new Promise(setImmediate);
  }
  if (text !== "") yield Buffer.from(text);
}
