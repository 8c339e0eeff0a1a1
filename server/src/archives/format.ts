import { hkdfSync } from "node:crypto";
import { PlainFailure } from "../failure.ts";

/** The first entry: what it is that follows. */
export interface ArchiveHead {
  readonly format: "rollcall-archive";
  readonly version: 1;
  /** A whole deployment, or one application of it. */
  readonly kind: "backup" | "application";
  /** When it was begun, ISO 8601. */
  readonly created: string;
  /** The release that made it. */
  readonly release: string;
  readonly region: string;
  /** Of one application alone. */
  readonly applicationId?: string;
  /** Of an application with files: an object that it has in its store, by which another deployment tells whether it has the same. */
  readonly storedKey?: string;
  /** What the schema was made by; an older one is brought up to date when it is restored. */
  readonly migrations: readonly string[];
  /** Fingerprints of the secrets of the deployment, newest first. */
  readonly secrets: readonly string[];
  /** Whether the bytes of files were left out, because they are kept safe by other means. */
  readonly isWithoutFiles: boolean;
}

/** The last entry but its digests: what there was, so that it can be told from what is there. */
export interface ArchiveEnd {
  /** How many rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly files: number;
  readonly bytes: number;
  /** Objects whose bytes are not in the archive, or not as they were uploaded. */
  readonly missing: { readonly [Why in MissingObject["why"]]: number };
}

/** A line of `missing/…`. */
export interface MissingObject {
  /** Of the object in the store. */
  readonly key: string;
  readonly applicationId: string;
  /** Of the file or of the upload. */
  readonly id: string;
  /**
   * `deleted` while the archive was written; `lost` is what should have been there; `damaged` is there, and is not what was
   * uploaded.
   */
  readonly why: "deleted" | "lost" | "damaged";
}

/** The archive is no archive, of another version, or not whole; nothing may be made of it. */
export class ArchiveError extends PlainFailure {
  override name = "ArchiveError";
}

export const headName = "rollcall.json";
export const endName = "end.json";
/** The file `secret` of DATA_DIR, where the secrets come from there. */
export const secretName = "secret";
/** The shared secret of an application's signed requests, in clear, because it is stored sealed. */
export const signingSecretName = "signing-secret";

/** The name of a part of a table. */
export function rowsName(table: string, part: number): string {
  return `tables/${table}/${part.toString().padStart(8, "0")}.ndjson.gz`;
}

/** The table that an entry is a part of. */
export function tableOf(name: string): string | undefined {
  return /^tables\/([a-z_]+)\/\d{8,}\.ndjson\.gz$/.exec(name)?.[1];
}

const filesFolder = "files/";

export function fileName(key: string): string {
  return `${filesFolder}${key}`;
}

/** The key of the object that an entry holds. */
export function keyOf(name: string): string | undefined {
  return name.startsWith(filesFolder) ? name.slice(filesFolder.length) : undefined;
}

export function missingName(part: number): string {
  return `missing/${part.toString().padStart(8, "0")}.ndjson`;
}

export function isMissingName(name: string): boolean {
  return name.startsWith("missing/");
}

/** Tells secrets apart without telling them. */
export function fingerprintOf(secret: string): string {
  return Buffer.from(hkdfSync("sha256", secret, "rollcall", "archive fingerprint", 16)).toString("hex");
}

/** @throws ArchiveError */
export function parseHead(content: Buffer): ArchiveHead {
  const head = parseObject(content, headName) as Partial<ArchiveHead>; // every member is looked at below
  if (head.format !== "rollcall-archive") throw new ArchiveError("This is no archive of Rollcall");
  if (head.version !== 1) throw new ArchiveError(`The archive has version ${head.version}, and this release reads 1`);
  const { kind, applicationId, migrations, secrets } = head;
  const isRight =
    typeof head.isWithoutFiles === "boolean" &&
    (kind === "backup" || (kind === "application" && typeof applicationId === "string")) &&
    (head.storedKey === undefined || typeof head.storedKey === "string") &&
    [head.created, head.release, head.region].every((text) => typeof text === "string") &&
    [migrations, secrets].every((texts) => Array.isArray(texts) && texts.every((text) => typeof text === "string"));
  if (!isRight) throw new ArchiveError(`${headName} of the archive is not right`);
  return head as ArchiveHead; // it is, by now
}

/** @throws ArchiveError */
export function parseEnd(content: Buffer): ArchiveEnd {
  const end = parseObject(content, endName) as Partial<ArchiveEnd>; // compared with what has been read, member by member
  if (!isObject(end.rows) || !isObject(end.missing)) throw new ArchiveError(`${endName} of the archive is not right`);
  return end as ArchiveEnd; // as above
}

function parseObject(content: Buffer, name: string): object {
  try {
    const value: unknown = JSON.parse(content.toString("utf8"));
    if (isObject(value)) return value;
  } catch {
    // said below
  }
  throw new ArchiveError(`${name} of the archive is not right`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
