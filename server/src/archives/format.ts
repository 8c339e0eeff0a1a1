import { PlainFailure } from "../config/failure.ts";
import { withBaseline } from "../db/migrations/list.ts";
import { kindOfId } from "../lib/ids.ts";

/** The first entry, which describes the archive. */
export interface ArchiveHead {
  readonly format: "rollcall-archive";
  readonly version: 1;
  /** A backup contains a deployment, the other kind one application. */
  readonly kind: "backup" | "application";
  /** When the archive was started, ISO 8601. */
  readonly created: string;
  /** The release that wrote it. */
  readonly release: string;
  readonly region: string;
  /** For an archive of one application only. */
  readonly applicationId?: string;
  /**
   * The key of one of the application's objects, if any, from which an import detects that both deployments share a store.
   */
  readonly storedKey?: string;
  /** The migrations of its schema, in which the baseline replaces the migrations before it; a restore runs the missing ones. */
  readonly migrations: readonly string[];
  /** Fingerprints of the deployment's secrets; the first is that of the current one. */
  readonly secrets: readonly string[];
  /** True if the bytes of files were omitted, because another backup contains them. */
  readonly isWithoutFiles: boolean;
}

/** The last entry before its digests: counts that are compared with the contents. */
export interface ArchiveEnd {
  /** The number of rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly files: number;
  readonly bytes: number;
  /** The number of objects that are missing, or differ from their rows. */
  readonly missing: { readonly [Why in MissingObject["why"]]: number };
}

/** A line of `missing/…`. */
export interface MissingObject {
  /** The key of the object in the store. */
  readonly key: string;
  readonly applicationId: string;
  /** The id of the file or upload. */
  readonly id: string;
  /**
   * `deleted`: deleted while the archive was written. `lost`: missing in the store. `damaged`: in the store, but
   * different from the uploaded bytes.
   */
  readonly why: "deleted" | "lost" | "damaged";
}

/** The input must not be loaded: it is another file, has another version, or is incomplete or damaged. */
export class ArchiveError extends PlainFailure {
  override name = "ArchiveError";
}

export const headName = "rollcall.json";
export const endName = "end.json";
/** The file `secret` of DATA_DIR, if the secrets are stored there. */
export const secretName = "secret";
/** The shared secret of an application's signed requests, in plain text because another deployment cannot unseal the row. */
export const signingSecretName = "signing-secret";
/** The mail server of an application, `mail.smtpUrl` of its settings, in plain text for the same reason. */
export const smtpUrlName = "smtp-url";

/** The name of a part of a table. */
export function rowsName(table: string, part: number): string {
  return `tables/${table}/${part.toString().padStart(8, "0")}.ndjson.gz`;
}

/** The table that an entry belongs to. */
export function tableOf(name: string): string | undefined {
  return /^tables\/([a-z_]+)\/\d{8,}\.ndjson\.gz$/.exec(name)?.[1];
}

const filesFolder = "files/";

export function fileName(key: string): string {
  return `${filesFolder}${key}`;
}

/** The key of the object that an entry contains. */
export function keyOf(name: string): string | undefined {
  return name.startsWith(filesFolder) ? name.slice(filesFolder.length) : undefined;
}

/** The maximum number of missing objects per entry. */
export const missingPerPart = 1_000;

export function missingName(part: number): string {
  return `missing/${part.toString().padStart(8, "0")}.ndjson`;
}

export function isMissingName(name: string): boolean {
  return name.startsWith("missing/");
}

/** @throws ArchiveError */
export function parseHead(content: Buffer): ArchiveHead {
  const head = parseObject(content, headName) as Partial<ArchiveHead>; // every member is checked below
  if (head.format !== "rollcall-archive") throw new ArchiveError("This is not a Rollcall archive");
  if (head.version !== 1) {
    throw new ArchiveError(`The archive has the version ${shown(head.version)}, and this release reads 1`);
  }
  const { kind, applicationId, storedKey, migrations, secrets } = head;
  // Files are erased by key prefix, so an invalid id could match files of another application.
  const isApplicationId = typeof applicationId === "string" && kindOfId(applicationId) === "App";
  const isValid =
    typeof head.isWithoutFiles === "boolean" &&
    (kind === "backup" ? applicationId === undefined : kind === "application" && isApplicationId) &&
    (storedKey === undefined || (typeof storedKey === "string" && isApplicationId)) &&
    [head.created, head.release, head.region].every(isLabel) &&
    [migrations, secrets].every((texts) => Array.isArray(texts) && texts.every(isLabel));
  if (!isValid) throw new ArchiveError(`${headName} of the archive is invalid`);
  return { ...head, migrations: withBaseline(migrations ?? []) } as ArchiveHead; // checked above
}

/** Whether a string of the head is safe to print to a terminal. */
function isLabel(text: unknown): boolean {
  return typeof text === "string" && /^[A-Za-z0-9_.:+ -]{1,128}$/.test(text);
}

function shown(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 64) ?? "none";
}

/** @throws ArchiveError */
export function parseEnd(content: Buffer): ArchiveEnd {
  const end = parseObject(content, endName) as Partial<ArchiveEnd>; // each member is compared with the contents
  if (!isObject(end.rows) || !isObject(end.missing)) throw new ArchiveError(`${endName} of the archive is invalid`);
  return end as ArchiveEnd; // checked by its caller
}

function parseObject(content: Buffer, name: string): object {
  try {
    const value: unknown = JSON.parse(content.toString("utf8"));
    if (isObject(value)) return value;
  } catch {
    // reported below
  }
  throw new ArchiveError(`${name} of the archive is invalid`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
