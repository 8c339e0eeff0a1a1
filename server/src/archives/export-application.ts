import { PlainFailure } from "../config/failure.ts";
import { build } from "../config/version.ts";
import { openSnapshot } from "../db/open.ts";
import type { Snapshot, StoredRow } from "../db/snapshot.ts";
import { originalKey } from "../files/files.uploads.ts";
import type { Clock } from "../lib/clock.ts";
import { listFingerprints, type Secrets } from "../lib/secret-ring.ts";
import { openSigningSecret } from "../tenancy/policies.ts";
import { type ArchiveProgress, type ArchiveServices, writeArchive } from "./archive.ts";
import { type ArchiveEnd, signingSecretName, smtpUrlName } from "./format.ts";
import { openSettingsRow } from "./settings-row.ts";
import { exportedTables } from "./tables.ts";

export interface ExportServices extends ArchiveServices {
  readonly region: string;
  /** Newest first. */
  readonly secrets: Secrets;
  readonly clock: Clock;
}

/** The application does not exist, or is being deleted. */
export class NoSuchApplication extends PlainFailure {
  override name = "NoSuchApplication";
}

/**
 * Archives a snapshot of one application with everything that it owns, for `importApplication` in another deployment on
 * either engine. The server can continue to serve it; suspend it first for a move, because the archive lacks later writes.
 *
 * The archive contains the shared secret of signed requests and the password of the mail server in plain text, and no
 * stored responses or unfinished uploads. User tokens stay valid in a deployment with the same secret and region.
 *
 * @returns a summary of the archive
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
    const { row: withoutSecrets, smtpUrl } = openSettingsRow(application, secrets);
    const head = {
      format: "rollcall-archive",
      version: 1,
      kind: "application",
      created: new Date(clock.now()).toISOString(),
      release: build,
      region,
      applicationId,
      ...(await findStoredKey(applicationId, snapshot)),
      secrets: listFingerprints(secrets),
      isWithoutFiles: false,
    } as const;
    const extras = [
      { name: signingSecretName, text: signing },
      { name: smtpUrlName, text: smtpUrl },
    ].flatMap(({ name, text }) => (text === undefined ? [] : [{ name, content: Buffer.from(text) }]));
    function change(table: string, row: StoredRow): StoredRow | undefined {
      if (table === "applications") return { ...withoutSecrets, signing_secret: null, moving_to: null };
      if (table === "webhooks") return withoutSecretsOf(row);
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

/** The usage of unfinished uploads by user id; the total has the key "". */
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

/** Pauses an exported webhook, so that it sends nothing until an operator of the other deployment resumes it. */
function withoutSecretsOf(webhook: StoredRow): StoredRow {
  const secrets = { secret: null, older_secret: null, older_secret_at: 0, older_secret_ends_at: 0, headers: null };
  const nowhere = { log: "", position: 0, event_id: "", wake_at: null, lease_holder: "", lease_ends_at: 0 };
  const calm = {
    failures: 0,
    failed_events: "",
    failing_since: null,
    probes: 0,
    probed: "",
    held_until: 0,
    held_since: null,
    mail_due_at: null,
  };
  return { ...webhook, state: "paused", ...secrets, ...nowhere, ...calm };
}

function without({ bytes, files }: Usage = { bytes: 0, files: 0 }, row: StoredRow): StoredRow {
  return { ...row, bytes: Number(row["bytes"]) - bytes, files: Number(row["files"]) - files };
}
