import type { Background } from "../background.ts";
import type { Database, Transaction } from "../db/database.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { eraseLooseBytes, filePrefix, loosenBytes } from "../storage/loose-bytes.ts";
import { refundUsage } from "../storage/usage.ts";
import { deleteFile } from "./files.store.ts";

interface RemovalServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly background: Background;
}

/** Deletes a file with all that belongs to it; its bytes once that is on disk. @returns false when it was gone already */
export async function removeFile(
  applicationId: string,
  file: { readonly id: string; readonly user_id: string; readonly content_length: number },
  { queries, afterCommit }: Transaction,
  { database, bytes, background }: RemovalServices,
): Promise<boolean> {
  if (!(await deleteFile(applicationId, file.id, queries))) return false;
  await refundUsage(applicationId, file.user_id, { bytes: file.content_length, files: 1 }, queries);
  const prefix = filePrefix(applicationId, file.id);
  await loosenBytes(applicationId, [prefix], queries);
  afterCommit(() =>
    background.run("eraseLooseBytes", () => eraseLooseBytes(applicationId, prefix, 0, { database, bytes })),
  );
  return true;
}
