import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { type Entry, fromBuffer, type ZipFile } from "yauzl";

const openZip = promisify<Buffer, object, ZipFile>(fromBuffer);

/** Reads all entries of an archive, in its order. */
export async function readZip(bytes: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const zip = await openZip(bytes, { lazyEntries: true, validateEntrySizes: true });
  const entries = new Map<string, Buffer>();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  zip.on("entry", (entry: Entry) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error !== null) return reject(error);
      buffer(stream).then((content) => {
        entries.set(entry.fileName, content);
        zip.readEntry();
      }, reject);
    });
  });
  zip.on("end", resolve);
  zip.on("error", reject);
  zip.readEntry();
  await promise;
  return entries;
}
