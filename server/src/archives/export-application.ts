import { openSnapshot } from "../db/open-snapshot.ts";
import type { Snapshot, StoredRow } from "../db/snapshot.ts";
import { PlainFailure } from "../failure.ts";
import { originalKey } from "../files/files.uploads.ts";
import type { Clock } from "../lib/clock.ts";
import { openSigningSecret } from "../tenancy/policies.ts";
import { version } from "../version.ts";
import { type ArchiveProgress, type ArchiveServices, writeArchive } from "./archive.ts";
import { type ArchiveEnd, fingerprintOf, signingSecretName } from "./format.ts";
import { exportedTables } from "./tables.ts";

export interface ExportServices extends ArchiveServices {
  readonly region: string;
  /** Newest first. */
  readonly secrets: readonly string[];
  readonly clock: Clock;
}

/** There is no such application, or it is being deleted. */
export class NoSuchApplication extends PlainFailure {
  override name = "NoSuchApplication";
}

/**
 * An archive of one application with everything that it owns, which `importApplication` reads in another deployment, on either
 * engine: the application as it was when the reading begins. Its neighbours and itself are served meanwhile; for a move
 * suspend it first, since what is written later is not in it.
 *
 * It holds the shared secret of signed requests in clear. Left out are kept replies, and uploads that are not finished.
 * User tokens are good wherever secret and region are the same.
 *
 * @returns what there was
 * @throws NoSuchApplication
 */
export async function* archiveApplication(
  applicationId: string,
  { region, secrets, clock, ...services }: ExportServices,
  onProgress?: (progress: ArchiveProgress) => void,
): AsyncGenerator<Uint8Array, ArchiveEnd> {
  const snapshot = await openSnapshot(services.databaseUrl);
  try {
    const application = await findApplication(applicationId, snapshot);
    const unfinished = await sumUnfinishedUploads(applicationId, snapshot);
    const sealed = application["signing_secret"];
    const signing = typeof sealed === "string" ? openSigningSecret(applicationId, sealed, secrets) : undefined;
    const head = {
      format: "rollcall-archive",
      version: 1,
      kind: "application",
      created: new Date(clock.now()).toISOString(),
      release: version,
      region,
      applicationId,
      ...(await findStoredKey(applicationId, snapshot)),
      secrets: secrets.map(fingerprintOf),
      isWithoutFiles: false,
    } as const;
    const extras = signing === undefined ? [] : [{ name: signingSecretName, content: Buffer.from(signing) }];
    function change(table: string, row: StoredRow): StoredRow | undefined {
      if (table === "applications") return { ...row, signing_secret: null, moving_to: null };
      if (table === "file_usage") return without(unfinished.get(String(row["user_id"])), row);
      return row;
    }
    const contents = { head, tables: exportedTables, extras, change };
    return yield* writeArchive(snapshot, contents, services, onProgress);
  } finally {
    await snapshot.close();
  }
}

/** @throws NoSuchApplication */
async function findApplication(applicationId: string, snapshot: Snapshot): Promise<StoredRow> {
  for await (const row of snapshot.rows("applications", { application_id: applicationId })) {
    if (row["deleted_at"] === null) return row;
  }
  throw new NoSuchApplication(`there is no application ${applicationId}`);
}

async function findStoredKey(applicationId: string, snapshot: Snapshot): Promise<{ readonly storedKey?: string }> {
  for await (const { id } of snapshot.rows("files", { application_id: applicationId })) {
    return { storedKey: originalKey(applicationId, String(id)) };
  }
  return {};
}

interface Usage {
  bytes: number;
  files: number;
}

/** What uploads that are not finished have been charged with, by user; under "" all of them. */
async function sumUnfinishedUploads(applicationId: string, snapshot: Snapshot): Promise<ReadonlyMap<string, Usage>> {
  const sums = new Map<string, Usage>();
  for await (const row of snapshot.rows("resumable_uploads", { application_id: applicationId })) {
    for (const owner of [String(row["user_id"]), ""]) {
      const sum = sums.get(owner) ?? { bytes: 0, files: 0 };
      sums.set(owner, { bytes: sum.bytes + Number(row["length"]), files: sum.files + 1 });
    }
  }
  return sums;
}

function without({ bytes, files }: Usage = { bytes: 0, files: 0 }, row: StoredRow): StoredRow {
  return { ...row, bytes: Number(row["bytes"]) - bytes, files: Number(row["files"]) - files };
}
