import { isUtf8 } from "node:buffer";
import { promisify } from "node:util";
import type { StoredRow } from "../db/snapshot.ts";
import { nodeZlib } from "../lib/builtins.ts";
import { fieldsOf } from "../lib/fields.ts";
import { ArchiveError } from "./format.ts";
import type { Column, ColumnType } from "./schema.ts";
import type { Throttle } from "./throttle.ts";

/** The approximate size of a part before compression. A part is compressed in one call. */
const charactersPerPart = 262_144;
const rowsPerPart = 5_000;
/** The limit of an uncompressed part, far above the size that the writer produces. */
export const partBytesMax = 268_435_456;

/** An entry with rows of a table: gzip of one JSON object per line. */
export interface RowsPart {
  readonly content: Buffer;
  readonly rows: number;
}

/** Splits rows into parts of bounded size. */
export async function* writeRows(rows: AsyncIterable<StoredRow>, throttle?: Throttle): AsyncGenerator<RowsPart> {
  let text = "";
  let count = 0;
  for await (const row of rows) {
    text += `${JSON.stringify(row, encode)}\n`;
    count += 1;
    if (throttle?.isOver()) await throttle.rest();
    if (text.length < charactersPerPart && count < rowsPerPart) continue;
    yield { content: await promisify(nodeZlib().gzip)(text, { level: 1 }), rows: count };
    text = "";
    count = 0;
  }
  if (count > 0) yield { content: await promisify(nodeZlib().gzip)(text, { level: 1 }), rows: count };
}

/** The expected form of the rows of a part. */
export interface RowsForm {
  readonly table: string;
  readonly columns: ReadonlyMap<string, Column>;
  /** The number of rows of the table before this part. */
  readonly rowsBefore: number;
  /** The limit of the uncompressed part. */
  readonly bytesMax?: number;
}

/**
 * Reads the rows of a part. Each must have exactly the columns of its table with values of their types, and be
 * byte-identical to the output of {@link writeRows}: then names are unique, and both engines store the same values.
 *
 * @throws ArchiveError
 */
export async function readRows(content: Buffer, form: RowsForm): Promise<StoredRow[]> {
  const { table, columns, rowsBefore, bytesMax = partBytesMax } = form;
  const lines = await promisify(nodeZlib().gunzip)(content, { maxOutputLength: bytesMax }).catch((cause: unknown) => {
    throw new ArchiveError(`A part of ${table} cannot be unpacked`, { cause });
  });
  // Counted before parsing, because parsed short rows need many times their size in memory.
  let count = 0;
  for (let at = lines.indexOf("\n"); at !== -1; at = lines.indexOf("\n", at + 1)) {
    count += 1;
    if (count > rowsPerPart) throw new ArchiveError(`A part of ${table} has more rows than the format allows`);
  }
  if (!isUtf8(lines)) throw new ArchiveError(`A part of ${table} is not UTF-8`);
  const text = lines.toString("utf8");
  if (!text.endsWith("\n")) throw new ArchiveError(`A part of ${table} ends in the middle of a row`);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line, index) => {
      const row = decodeRow(line);
      const problem = row === undefined ? "is no object of JSON" : findProblem(row, line, columns);
      if (problem !== undefined) throw new ArchiveError(`Row ${rowsBefore + index + 1} of ${table} ${problem}`);
      return row as StoredRow; // checked above
    });
}

/**
 * Encodes bytes and special doubles, which JSON lacks, as objects. They are unambiguous, because no column holds objects.
 */
function encode(this: unknown, name: string, value: unknown): unknown {
  const stored = (this as Record<string, unknown>)[name]; // `value` is the result of toJSON, which a Buffer has
  if (stored instanceof Uint8Array) return { base64: Buffer.from(stored).toString("base64") };
  if (typeof value === "number" && !Number.isFinite(value)) return { number: String(value) };
  return value;
}

/** @returns undefined if the line is not an object. Invalid values are not decoded; `findProblem` reports them. */
function decodeRow(line: string): Record<string, unknown> | undefined {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof row !== "object" || row === null || Array.isArray(row)) return undefined;
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, decode(value)]));
}

function decode(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { base64, number } = fieldsOf(value); // both members are checked below
  if (typeof base64 === "string") return Buffer.from(base64, "base64");
  if (typeof number === "string") return Number(number);
  return value;
}

/** The rule that the row violates, as a predicate for an error message. */
function findProblem(
  row: Record<string, unknown>,
  line: string,
  columns: ReadonlyMap<string, Column>,
): string | undefined {
  for (const name of Object.keys(row)) {
    if (!columns.has(name)) return `has a column ${JSON.stringify(name.slice(0, 64))}, which the table does not have`;
  }
  let isPlain = true;
  for (const [name, column] of columns) {
    if (!Object.hasOwn(row, name)) return `lacks the column ${name}`;
    const value = row[name];
    const rule = value === null ? (column.isNullable ? undefined : "must not be null") : rules[column.type](value);
    if (rule !== undefined) return `cannot be stored: ${name} ${rule}`;
    isPlain &&= value === null || (typeof value === "number" ? Number.isFinite(value) : typeof value !== "object");
  }
  const written = isPlain ? JSON.stringify(row) : JSON.stringify(row, encode);
  return written === line ? undefined : "has a repeated column or a value in a different form";
}

/**
 * The values that PostgreSQL and SQLite store identically, by column type; each function returns the rule that a value
 * violates.
 */
const rules: Readonly<Record<ColumnType, (value: unknown) => string | undefined>> = {
  text: (value) =>
    typeof value === "string" && value.isWellFormed() && !value.includes("\0")
      ? undefined
      : "must be Unicode text without NUL",
  integer: (value) => (Number.isSafeInteger(value) ? undefined : "must be a whole number between -2^53 and 2^53"),
  real: (value) => (typeof value === "number" && !Number.isNaN(value) ? undefined : "must be a number"),
  blob: (value) => (value instanceof Uint8Array ? undefined : "must be bytes in base64"),
};
