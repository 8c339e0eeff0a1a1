import type { Database } from "../db/database.ts";
import { originalKey } from "../files/files.uploads.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { ArchiveError, type MissingObject, missingPerPart } from "./format.ts";
import type { ArchivedFile } from "./load.ts";

/** Writes the files of an archive into the store, after comparing key, length and digest with a loaded row. */
export class FileLoader {
  readonly #services: { readonly database: Database; readonly bytes: ByteStore };
  readonly #hasUploads: boolean;
  /** Keys of files that differ from their rows; the archive must list each of them as damaged. */
  readonly #damaged = new Set<string>();

  /** @param options.hasUploads whether the archive has tables of unfinished uploads */
  constructor(
    services: { readonly database: Database; readonly bytes: ByteStore },
    options: { readonly hasUploads: boolean },
  ) {
    this.#services = services;
    this.#hasUploads = options.hasUploads;
  }

  /** @throws ArchiveError if no row names the file, or it differs from its row */
  async write({ key, size, bytes, sha256 }: ArchivedFile): Promise<void> {
    const expected = await this.#find(key);
    if (expected === undefined) throw new ArchiveError(`The archive holds ${key}, which belongs to none of its files`);
    if (expected.length !== undefined && expected.length !== size) {
      throw new ArchiveError(`${key} has ${size} bytes in the archive, and ${expected.length} in its row`);
    }
    await this.#services.bytes.write(key, bytes);
    if (expected.sha256 === undefined || expected.sha256 === sha256()) return;
    this.#damaged.add(key);
    if (this.#damaged.size > missingPerPart) throw differingError(key);
  }

  /** Registers an object that the archive lists as missing or damaged. */
  note({ key, why }: MissingObject): void {
    if (why === "damaged" || why === "deleted") this.#damaged.delete(key);
  }

  /** @throws ArchiveError if a file differs from its row and the archive does not list it */
  finish(): void {
    for (const key of this.#damaged) throw differingError(key);
  }

  /** Finds the expected length and digest of an object; undefined if no row names it. */
  async #find(key: string): Promise<{ readonly length?: number; readonly sha256?: string } | undefined> {
    const [applicationId = "", id = ""] = key.split("/");
    const { reads } = this.#services.database;
    if (key === originalKey(applicationId, id)) {
      const file = await reads
        .selectFrom("files")
        .select(["content_length", "content_hash"])
        .where("application_id", "=", applicationId)
        .where("id", "=", id)
        .executeTakeFirst();
      if (file !== undefined) return { length: file.content_length, sha256: file.content_hash };
    }
    if (!this.#hasUploads) return undefined;
    const segment = await reads
      .selectFrom("upload_segments")
      .select("key")
      .where("application_id", "=", applicationId)
      .where("upload_id", "=", id)
      .where("key", "=", key)
      .executeTakeFirst();
    return segment === undefined ? undefined : {};
  }
}

function differingError(key: string): ArchiveError {
  return new ArchiveError(`${key} of the archive differs from what was uploaded: its digest is not that of its row`);
}
