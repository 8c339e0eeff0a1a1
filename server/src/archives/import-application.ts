import { setImmediate } from "node:timers/promises";
import { deleteApplicationRows } from "../applications/applications.store.ts";
import { PlainFailure } from "../config/failure.ts";
import type { Database, Transaction } from "../db/database.ts";
import { isUniqueViolation } from "../db/dialect.ts";
import { migrations } from "../db/migrations/list.ts";
import type { StoredRow } from "../db/snapshot.ts";
import type { Clock } from "../lib/clock.ts";
import { trimAddress } from "../lib/mail-addresses.ts";
import { listFingerprints, type Secrets } from "../lib/secret-ring.ts";
import { signingSecretCharacters } from "../lib/secrets.ts";
import { type ByteStore, isKey } from "../storage/byte-store.ts";
import { sealSigningSecret } from "../tenancy/policies.ts";
import { FileLoader } from "./file-loader.ts";
import { type ArchiveEnd, ArchiveError, type ArchiveHead, signingSecretName } from "./format.ts";
import {
  findAnyApplication,
  giveUpImport,
  hiddenColumns,
  type Import,
  renewImport,
  showImported,
  updateUserUnfinished,
} from "./imports.store.ts";
import { loadArchive } from "./load.ts";
import { removeDeleted } from "./missing-objects.ts";
import { isBoundedHash, type PasswordCosts } from "./password-hashes.ts";
import { type LoadedRows, piecesOf, RowLoader } from "./row-loader.ts";
import type { ArchiveSchema } from "./schema.ts";
import { sealSettingsRow } from "./settings-row.ts";

export interface ImportServices extends PasswordCosts {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly clock: Clock;
  /** The name of this region; tokens are valid only in the region that issued them. */
  readonly region: string;
  /** Newest first. */
  readonly secrets: Secrets;
}

export interface ImportOptions {
  /** Replaces the name of the application. */
  readonly name?: string | undefined;
  /** Called before anything is written. @throws to refuse the import */
  readonly admit?: (applicationId: string) => Promise<void>;
  /** Called in the transaction that makes the application visible. */
  readonly finish?: (applicationId: string, transaction: Transaction) => Promise<void>;
}

export interface ImportedApplication {
  readonly applicationId: string;
  readonly rows: number;
  readonly end: ArchiveEnd;
  /** False if the exporting deployment has another secret or region, so that users have to sign in again. */
  readonly hasTokens: boolean;
}

/** An application with this id exists, or is still being erased. */
export class ApplicationExists extends PlainFailure {
  override name = "ApplicationExists";
}

const renewMs = 30_000;
/**
 * The limit of a part, which bounds the memory of a server that imports from another region. Usual parts have a few MB.
 */
const applicationPartBytesMax = 67_108_864;
/** The maximum number of users with unfinished background work at the time of the export; typically at most one. */
const unfinishedUsersMax = 100_000;

/**
 * Imports an application that `archiveApplication` wrote, under the same ids, in one pass and in small transactions that do
 * not block other applications. The application is invisible until the complete archive has been read and verified.
 * A failed import deletes its rows and files; after a crash, maintenance erases them within some minutes.
 *
 * @throws ArchiveError if the input is not such an archive, has another schema, or is incomplete or damaged
 * @throws ApplicationExists
 */
export async function importApplication(
  source: AsyncIterable<Uint8Array>,
  services: ImportServices,
  options: ImportOptions = {},
): Promise<ImportedApplication> {
  const { database, bytes, region, secrets } = services;
  const files = new FileLoader(services, { hasUploads: false });
  const imported = new ImportedRows(services);
  const unfinished = new Map<string, UnfinishedUser>();
  let applicationId = "";
  let hasTokens = false;
  let signingSecret: string | null = null;
  let smtpUrl: string | undefined;

  try {
    const { end } = await loadArchive(source, {
      partBytesMax: applicationPartBytesMax,
      async head(head, schema) {
        applicationId = requireApplication(head);
        imported.setSchema(schema, applicationId);
        hasTokens = head.region === region && listFingerprints(secrets).some((each) => each === head.secrets[0]);
        const found = await findAnyApplication(applicationId, database.reads);
        if (found !== undefined) throw await existsError(applicationId, database);
        await requireSeparateStore(head, bytes);
        await options.admit?.(applicationId);
      },
      async signingSecret(content) {
        requireSigningSecret(content);
        signingSecret = sealSigningSecret(applicationId, content, secrets);
      },
      async smtpUrl(content) {
        smtpUrl = content;
      },
      async rows(part) {
        const { table, rows } = part;
        if (table === "applications") {
          const change = { ...(options.name !== undefined && { name: options.name }), signing_secret: signingSecret };
          return imported.start(rows, (row) => ({ ...sealSettingsRow(row, smtpUrl, secrets), ...change }));
        }
        imported.requireStarted();
        if (table === "user_tokens" && !hasTokens) return;
        if (table !== "users") return imported.insert(part);
        requirePasswordHashes(part, services);
        await imported.insert({ ...part, rows: rows.map((row) => trimEmails(postpone(row, unfinished))) });
      },
      async file(file) {
        if (imported.started === undefined || !file.key.startsWith(`${applicationId}/`)) {
          throw new ArchiveError(`The archive holds ${file.key}, which belongs to none of its files`);
        }
        await files.write(file);
      },
      async missing(object) {
        if (object.applicationId !== applicationId)
          throw new ArchiveError("The list of missing objects names another application");
        files.note(object);
        if (object.why === "deleted") await removeDeleted(object, services);
      },
    });
    files.finish();
    const started = imported.requireStarted();
    // From here on the server continues the background work on these users.
    for (const [id, columns] of unfinished) {
      await database.write(({ queries }) => updateUserUnfinished(applicationId, id, columns, queries));
    }
    await database.write(async (transaction) => {
      await showImported(started, transaction.queries);
      await options.finish?.(applicationId, transaction);
    });
    return { applicationId, rows: imported.count, end, hasTokens };
  } catch (error) {
    if (imported.started !== undefined) await undo(imported.started, services).catch(() => {}); // after a failure, maintenance erases it
    throw error;
  } finally {
    imported.close();
  }
}

/** Writes the rows of an application that is being imported, and renews the lease of the import. */
class ImportedRows {
  /** The number of inserted rows. */
  count = 0;
  /** Set by the first write. */
  started: Import | undefined;
  readonly #services: ImportServices;
  readonly #timer: NodeJS.Timeout;
  #loader = new RowLoader(new Map());
  #applicationId = "";

  constructor(services: ImportServices) {
    this.#services = services;
    this.#timer = setInterval(() => this.#renew(), renewMs).unref();
  }

  /** Writes `applicationId` into every row, so that no row can belong to another application. */
  setSchema(schema: ArchiveSchema, applicationId: string): void {
    this.#loader = new RowLoader(schema, { application_id: applicationId });
    this.#applicationId = applicationId;
  }

  /**
   * Inserts the row of the application, hidden until the import is complete.
   *
   * @throws ArchiveError, ApplicationExists
   */
  async start(rows: readonly StoredRow[], change: (row: StoredRow) => StoredRow): Promise<void> {
    const { database, clock } = this.#services;
    const [application, ...others] = rows;
    if (application === undefined || others.length > 0 || this.started !== undefined)
      throw new ArchiveError("The archive does not contain exactly one application");
    const started = { applicationId: this.#applicationId, begunAt: clock.now() };
    const row = { ...change(application), ...hiddenColumns(started.begunAt) };
    await database
      .write(({ queries }) => this.#loader.insert({ table: "applications", rows: [row], rowsBefore: 0 }, queries))
      .catch(async (error) => {
        throw error instanceof ArchiveError && isUniqueViolation(error.cause)
          ? await existsError(started.applicationId, database)
          : error;
      });
    this.started = started;
    this.count += 1;
  }

  /** @throws ArchiveError if no row of an application was inserted */
  requireStarted(): Import {
    if (this.started === undefined) throw new ArchiveError("The archive does not contain exactly one application");
    return this.started;
  }

  /** Inserts rows in short transactions. @throws Error if the lease was lost */
  async insert(part: LoadedRows): Promise<void> {
    const { database, clock } = this.#services;
    const started = this.requireStarted();
    for (const piece of piecesOf(part)) {
      await database.write(async ({ queries }) => {
        await renewImport(started, clock.now(), queries);
        await this.#loader.insert(piece, queries);
      });
      this.count += piece.rows.length;
      await setImmediate();
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A failure is reported by the next insert, or at the end. */
  #renew(): void {
    const { started } = this;
    const { database, clock } = this.#services;
    if (started === undefined) return;
    database.write(({ queries }) => renewImport(started, clock.now(), queries)).catch(() => {});
  }
}

/** @throws ArchiveError */
function requireApplication({ kind, applicationId, migrations: theirs }: ArchiveHead): string {
  if (kind !== "application" || applicationId === undefined) {
    throw new ArchiveError("This is a backup of a whole deployment. Use restore instead");
  }
  const names = migrations.map(({ name }) => name);
  const isNewer = theirs.some((name) => !names.includes(name));
  if (!isNewer && theirs.length === names.length) return applicationId;
  throw new ArchiveError(
    isNewer
      ? "The archive was made by a newer release. Import it with that release"
      : "The archive was made by an older release. Restore it into an empty deployment of this release, and export it there",
  );
}

/**
 * Refuses a store that both deployments share: erasing the application in one of them, or undoing an import, would delete
 * the files of both. @throws PlainFailure
 */
async function requireSeparateStore({ applicationId, storedKey }: ArchiveHead, bytes: ByteStore): Promise<void> {
  if (storedKey === undefined) return;
  if (!storedKey.startsWith(`${applicationId}/`) || !isKey(storedKey))
    throw new ArchiveError(`${storedKey} is not a key of the application`);
  if ((await bytes.size(storedKey)) === undefined) return;
  throw new PlainFailure(
    `The files of ${applicationId} are already in the store. FILES_URL must differ from that of the deployment that exported it`,
  );
}

/** @throws ArchiveError */
function requireSigningSecret(content: string): void {
  const { min, max } = signingSecretCharacters;
  const isValid = content.length >= min && content.length <= max && content.isWellFormed();
  if (!isValid) throw new ArchiveError(`${signingSecretName} of the archive must have ${min} to ${max} characters`);
}

/** Bounds the cost of verifying passwords, which their hashes determine. @throws ArchiveError */
function requirePasswordHashes({ table, rows, rowsBefore }: LoadedRows, own: PasswordCosts): void {
  const index = rows.findIndex(({ password_hash: hash }) => hash !== "" && !isBoundedHash(String(hash), own));
  if (index === -1) return;
  throw new ArchiveError(
    `Row ${rowsBefore + index + 1} of ${table} cannot be stored: password_hash must be a hash of this server that costs at most four times its own, the product of PASSWORD_HASH_MEMORY_KIB and PASSWORD_HASH_PASSES`,
  );
}

type UnfinishedUser = Parameters<typeof updateUserUnfinished>[2];

/** Hides unfinished background work on a user from maintenance, which would miss rows that are not imported yet. */
function postpone(row: StoredRow, unfinished: Map<string, UnfinishedUser>): StoredRow {
  const { id, deleted_at, is_reshifting } = row;
  if (deleted_at === null && is_reshifting === 0) return row;
  if (unfinished.size >= unfinishedUsersMax) throw new Error("Too many users were just being deleted: export it again");
  unfinished.set(String(id), {
    deleted_at: typeof deleted_at === "number" ? deleted_at : null,
    is_reshifting: Number(is_reshifting),
  });
  return { ...row, deleted_at: null, is_reshifting: 0 };
}

/** Trims addresses, because another deployment may have stored them with surrounding white space. */
function trimEmails({ email, held_email, ...others }: StoredRow): StoredRow {
  const trim = (address: unknown) => (typeof address === "string" ? trimAddress(address) || null : null);
  return { ...others, email: trim(email), held_email: trim(held_email) };
}

async function existsError(applicationId: string, { reads }: Database): Promise<ApplicationExists> {
  const found = await findAnyApplication(applicationId, reads);
  if (found?.importing_until != null) return new ApplicationExists(`${applicationId} is being imported already`);
  if (found?.deleted_at != null)
    return new ApplicationExists(`${applicationId} is still being erased: try again later`);
  return new ApplicationExists(`there is an application ${applicationId} already`);
}

async function undo(begun: Import, services: ImportServices): Promise<void> {
  const isOurs = await services.database.write(({ queries }) => giveUpImport(begun, queries));
  if (isOurs) await deleteApplicationRows(begun.applicationId, services);
}
