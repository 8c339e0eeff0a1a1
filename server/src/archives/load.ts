import type { StoredRow } from "../db/snapshot.ts";
import { MalformedBytesError } from "../lib/bytes.ts";
import { checkRollup } from "../metrics/engine/rollups.ts";
import { isRollupId } from "../metrics/engine/row-ids.ts";
import { Tally } from "../statistics/tally.ts";
import { isSmtpUrl } from "../tenancy/mail-settings.ts";
import { type ArchiveEntry, readArchive } from "./archive-reader.ts";
import {
  type ArchiveEnd,
  ArchiveError,
  type ArchiveHead,
  endName,
  headName,
  isMissingName,
  keyOf,
  type MissingObject,
  missingName,
  parseEnd,
  parseHead,
  rowsName,
  secretName,
  signingSecretName,
  smtpUrlName,
  tableOf,
} from "./format.ts";
import type { LoadedRows } from "./row-loader.ts";
import { partBytesMax, readRows } from "./rows.ts";
import { type ArchiveSchema, schemaOf } from "./schema.ts";
import { exportedTables } from "./tables.ts";

/** The decoder of each binary column of an application's tables. @throws MalformedBytesError */
export const binaryColumns: Readonly<Record<string, (row: StoredRow) => void>> = {
  "statistics.data": ({ data }) => Tally.read(data as Uint8Array), // `readRows` has checked the type
  "metric_rollups.data"({ id, dimension, data }) {
    if (!isRollupId(String(id))) throw new MalformedBytesError("The id is not one of a roll-up");
    checkRollup(String(dimension), data as Uint8Array); // as above
  },
};

const decodersByTable = Map.groupBy(Object.entries(binaryColumns), ([column]) => column.split(".")[0]);

/**
 * Refuses rows whose binary columns cannot be decoded, because background work and readers would fail on them.
 *
 * @throws ArchiveError
 */
function requireDecodable({ table, rows, rowsBefore }: LoadedRows): void {
  for (const [column, decode] of decodersByTable.get(table) ?? []) {
    for (const [index, row] of rows.entries()) {
      try {
        decode(row);
      } catch (cause) {
        if (!(cause instanceof MalformedBytesError)) throw cause;
        throw new ArchiveError(
          `Row ${rowsBefore + index + 1} of ${table} cannot be stored: ${column.slice(table.length + 1)} is not what a server writes. ${cause.message}`,
          { cause },
        );
      }
    }
  }
}

/** Callbacks for the parts of an archive, in order: the head, secrets, tables, files, missing objects. */
export interface ArchiveLoad {
  /** The size limit of a part, compressed and uncompressed; by default that of the format. */
  readonly partBytesMax?: number;
  head?(head: ArchiveHead, schema: ArchiveSchema): Promise<void>;
  secret?(content: string): Promise<void>;
  signingSecret?(content: string): Promise<void>;
  smtpUrl?(content: string): Promise<void>;
  rows?(part: LoadedRows): Promise<void>;
  file?(file: ArchivedFile): Promise<void>;
  missing?(object: MissingObject): Promise<void>;
}

export interface ArchivedFile extends Pick<ArchiveEntry, "size" | "bytes" | "sha256"> {
  readonly key: string;
}

/** The head and the end of a complete archive. */
export interface LoadedArchive {
  readonly head: ArchiveHead;
  readonly end: ArchiveEnd;
}

/**
 * Reads an archive in one pass, and passes each part to `load`. Loaded data must not be used before this resolves, because
 * the archive may still turn out to be incomplete or damaged. Rows have the columns and types of the archive's schema;
 * rows of an application's archive belong to that application.
 *
 * @throws ArchiveError if the input is not an archive, or is incomplete or damaged
 */
export async function loadArchive(source: AsyncIterable<Uint8Array>, load: ArchiveLoad): Promise<LoadedArchive> {
  let head: ArchiveHead | undefined;
  let schema: ArchiveSchema = new Map();
  let end: ArchiveEnd | undefined;
  const order = new EntryOrder();
  const rows = new Map<string, number>();
  const missing = { deleted: 0, lost: 0, damaged: 0 };
  const done = { files: 0, bytes: 0 };
  const bytesMax = load.partBytesMax ?? partBytesMax;

  for await (const entry of readArchive(source)) {
    const { name } = entry;
    if (head === undefined) {
      if (name !== headName) throw new ArchiveError("This is not a Rollcall archive");
      head = parseHead(await contentOf(entry, bytesMax));
      schema = schemaOf(head.migrations);
      await load.head?.(head, schema);
      continue;
    }
    const kind = kindOf(name);
    order.require(name, kind);
    if (kind === "rows") {
      const table = tableOf(name) ?? "";
      const columns = columnsOf(table, head, schema);
      const rowsBefore = rows.get(table) ?? 0;
      const part = await readRows(await contentOf(entry, bytesMax), { table, columns, rowsBefore, bytesMax });
      const loaded = { table, rows: part, rowsBefore };
      if (head.kind === "application") {
        requireOfApplication(head.applicationId, loaded);
        requireDecodable(loaded);
      }
      rows.set(table, rowsBefore + part.length);
      await load.rows?.(loaded);
    } else if (kind === "file") {
      done.files += 1;
      done.bytes += entry.size;
      const { size, bytes, sha256 } = entry;
      await load.file?.({ key: keyOf(name) ?? "", size, bytes, sha256 });
    } else if (kind === "missing") {
      for (const object of readMissing(await contentOf(entry, bytesMax))) {
        missing[object.why] += 1;
        await load.missing?.(object);
      }
    } else if (kind === "secret") {
      if (head.kind !== "backup") throw unknownEntry(name);
      await load.secret?.((await contentOf(entry, secretBytesMax)).toString("utf8"));
    } else if (kind === "signingSecret") {
      if (head.kind !== "application") throw unknownEntry(name);
      await load.signingSecret?.((await contentOf(entry, secretBytesMax)).toString("utf8"));
    } else if (kind === "smtpUrl") {
      if (head.kind !== "application") throw unknownEntry(name);
      const content = (await contentOf(entry, secretBytesMax)).toString("utf8");
      if (!isSmtpUrl(content)) throw new ArchiveError(`${name} of the archive is not the URL of a mail server`);
      await load.smtpUrl?.(content);
    } else {
      end = parseEnd(await contentOf(entry, bytesMax));
    }
  }

  if (head === undefined || end === undefined) throw new ArchiveError("The archive is truncated");
  if (head.kind === "application" && rows.get("applications") !== 1)
    throw new ArchiveError("The archive does not contain exactly one application");
  const counted = Object.entries(end.rows).filter(([, count]) => count > 0);
  const isAsCounted =
    sorted(counted) === sorted([...rows]) &&
    end.files === done.files &&
    end.bytes === done.bytes &&
    sorted(Object.entries(end.missing)) === sorted(Object.entries(missing));
  if (!isAsCounted) throw new ArchiveError("The archive does not match the counts at its end");
  return { head, end };
}

const secretBytesMax = 65_536;

type EntryKind = "secret" | "signingSecret" | "smtpUrl" | "rows" | "file" | "missing" | "end";

/** @throws ArchiveError */
function kindOf(name: string): EntryKind {
  if (name === secretName) return "secret";
  if (name === signingSecretName) return "signingSecret";
  if (name === smtpUrlName) return "smtpUrl";
  if (tableOf(name) !== undefined) return "rows";
  if (keyOf(name) !== undefined) return "file";
  if (isMissingName(name)) return "missing";
  if (name === endName) return "end";
  throw unknownEntry(name);
}

/** The stages of an archive, which follow each other in this order. */
const stages: Readonly<Record<EntryKind, number>> = {
  secret: 1,
  signingSecret: 2,
  smtpUrl: 3,
  rows: 4,
  file: 5,
  missing: 5,
  end: 6,
};

/**
 * Checks that entries are in the order of the writer, with consecutive parts of each table that are numbered from 1.
 */
class EntryOrder {
  #stage = 0;
  #part = 0;
  #missingPart = 0;
  #table = "";
  readonly #tablesBefore = new Set<string>();

  /** @throws ArchiveError */
  require(name: string, kind: EntryKind): void {
    const stage = stages[kind];
    const isRepeatable = kind === "rows" || kind === "file" || kind === "missing";
    let isInOrder = stage > this.#stage || (stage === this.#stage && isRepeatable);
    this.#stage = stage;
    if (kind === "rows") {
      const table = tableOf(name) ?? "";
      if (table !== this.#table) {
        this.#tablesBefore.add(this.#table);
        this.#table = table;
        this.#part = 0;
      }
      this.#part += 1;
      isInOrder &&= !this.#tablesBefore.has(table) && name === rowsName(table, this.#part);
    }
    if (kind === "missing") {
      this.#missingPart += 1;
      isInOrder &&= name === missingName(this.#missingPart);
    }
    if (!isInOrder) throw new ArchiveError(`${name} of the archive is out of order`);
  }
}

/** @throws ArchiveError if archives of this kind have no such table */
function columnsOf(table: string, { kind }: ArchiveHead, schema: ArchiveSchema) {
  const columns = schema.get(table);
  const isOfKind = kind === "backup" || exportedTables.some((name) => name === table);
  if (columns !== undefined && isOfKind) return columns;
  throw new ArchiveError(
    `The archive holds rows of ${table}, which is not a table of ${kind === "backup" ? "a backup" : "an application"}`,
  );
}

/** @throws ArchiveError */
function requireOfApplication(applicationId: string | undefined, { table, rows, rowsBefore }: LoadedRows): void {
  const index = rows.findIndex((row) => row["application_id"] !== applicationId);
  if (index !== -1) throw new ArchiveError(`Row ${rowsBefore + index + 1} of ${table} is not of this application`);
}

function unknownEntry(name: string): ArchiveError {
  return new ArchiveError(`The archive holds ${name}, which this release does not know`);
}

function sorted(entries: readonly (readonly [string, number])[]): string {
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

async function contentOf({ name, size, bytes }: ArchiveEntry, bytesMax: number): Promise<Buffer> {
  if (size > bytesMax) throw new ArchiveError(`${name} of the archive is larger than the format allows`);
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

function* readMissing(content: Buffer): Generator<MissingObject> {
  for (const line of content.toString("utf8").split("\n")) {
    if (line === "") continue;
    let object: Partial<MissingObject>;
    try {
      object = Object(JSON.parse(line)); // every member is checked below
    } catch (cause) {
      throw new ArchiveError("The list of missing objects is invalid", { cause });
    }
    const isValid =
      [object.key, object.applicationId, object.id].every((text) => typeof text === "string") &&
      ["deleted", "lost", "damaged"].includes(object.why ?? "");
    if (!isValid) throw new ArchiveError("The list of missing objects is invalid");
    yield object as MissingObject; // checked above
  }
}
