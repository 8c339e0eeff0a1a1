import type { Readable } from "node:stream";
import type { Database } from "../db/database.ts";
import type { FileRow } from "../db/tables.ts";
import { essenceOf } from "../lib/media-types.ts";
import { type ExportOwner, ownedRows, type UserExporter } from "../owned/export.ts";
import { type ByteStore, BytesMissing } from "../storage/byte-store.ts";
import { presentFile } from "./files.contract.ts";
import { fileKinds } from "./files.kinds.ts";
import { originalKey } from "./files.uploads.ts";

/** Exports a user's files: the records first, then the stored bytes. */
export function filesExporter(services: {
  readonly database: Database;
  readonly bytes: Pick<ByteStore, "read">;
}): UserExporter {
  const { database, bytes } = services;

  const filesOf = (owner: ExportOwner) => ownedRows<FileRow>("files", owner, database.reads);

  async function* rows(owner: ExportOwner) {
    for await (const file of filesOf(owner)) {
      const kind = fileKinds.find(({ idKind }) => idKind === file.kind);
      if (kind === undefined) throw new Error("A file has one of the kinds");
      const { signedUrl: _, ...shown } = presentFile(kind, file, owner.userId, "");
      yield { entry: entryName(file), ...(file.file_name !== null && { fileName: file.file_name }), ...shown };
    }
  }

  return async function* (owner) {
    yield { name: "files.ndjson", rows: rows(owner) };
    for await (const file of filesOf(owner)) {
      const { application_id, id, content_length: contentLength } = file;
      const key = originalKey(application_id, id);
      yield { name: entryName(file), contentLength, open: () => openUnlessGone(key, bytes) };
    }
  };
}

async function openUnlessGone(key: string, bytes: Pick<ByteStore, "read">): Promise<Readable | undefined> {
  try {
    return await bytes.read(key);
  } catch (error) {
    if (error instanceof BytesMissing) return undefined;
    throw error;
  }
}

/** The id, with an extension for content types that the server recognizes. A claimed type gets none. */
function entryName({ id, content_type }: FileRow): string {
  return `files/${id}${extensions.get(essenceOf(content_type)) ?? ".bin"}`;
}

const extensions: ReadonlyMap<string, string> = new Map([
  ["image/jpeg", ".jpg"],
  ["image/png", ".png"],
  ["image/gif", ".gif"],
  ["image/webp", ".webp"],
  ["image/avif", ".avif"],
  ["image/heic", ".heic"],
  ["video/mp4", ".mp4"],
  ["video/webm", ".webm"],
  ["video/quicktime", ".mov"],
]);
