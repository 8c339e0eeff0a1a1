import { CompiledQuery, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { isForeignKeyViolation, isRefusedValue, isUniqueViolation } from "../db/dialect.ts";
import type { StoredRow } from "../db/snapshot.ts";
import { ArchiveError } from "./format.ts";
import type { ArchiveSchema } from "./schema.ts";

const rowsPerStatement = 32;
/** Limits a transaction to some milliseconds, because SQLite blocks other writers during it. */
const rowsPerTransaction = 128;
const charactersPerTransaction = 131_072;

/** Splits rows into chunks for short transactions. */
export function* piecesOf({ rows, ...rest }: LoadedRows): Generator<LoadedRows> {
  let piece: StoredRow[] = [];
  let characters = 0;
  let { rowsBefore } = rest;
  for (const row of rows) {
    piece.push(row);
    for (const value of Object.values(row)) {
      characters += typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
    }
    if (piece.length < rowsPerTransaction && characters < charactersPerTransaction) continue;
    yield { ...rest, rows: piece, rowsBefore };
    rowsBefore += piece.length;
    piece = [];
    characters = 0;
  }
  if (piece.length > 0) yield { ...rest, rows: piece, rowsBefore };
}

/** Rows of one table. */
export interface LoadedRows {
  readonly table: string;
  readonly rows: readonly StoredRow[];
  /** The number of rows of the table before these. */
  readonly rowsBefore: number;
}

/** Inserts rows with statements that are compiled once per table and number of rows. */
export class RowLoader {
  readonly #statements = new Map<string, string>();
  readonly #schema: ArchiveSchema;
  readonly #fixed: StoredRow;

  /**
   * @param schema the source of column names, which never come from a row
   * @param fixed values that override the rows
   */
  constructor(schema: ArchiveSchema, fixed: StoredRow = {}) {
    this.#schema = schema;
    this.#fixed = fixed;
  }

  /** @throws ArchiveError if the database refuses a row because of its contents */
  async insert({ table, rows, rowsBefore }: LoadedRows, queries: Queries): Promise<void> {
    const columns = [...(this.#schema.get(table)?.keys() ?? [])];
    for (let done = 0; done < rows.length; ) {
      const count = rows.length - done >= rowsPerStatement ? rowsPerStatement : 1;
      const some = rows.slice(done, done + count);
      const values = some.flatMap((row) => columns.map((column) => this.#fixed[column] ?? row[column] ?? null));
      const statement = CompiledQuery.raw(this.#statementOf(table, columns, count, queries), values);
      await queries.executeQuery(statement).catch((error: unknown) => {
        const problem = problemOf(error);
        if (problem === undefined) throw error;
        const first = rowsBefore + done + 1;
        const which = count === 1 ? `Row ${first}` : `One of the rows ${first} to ${first + count - 1}`;
        throw new ArchiveError(`${which} of ${table} ${problem}`, { cause: error });
      });
      done += count;
    }
  }

  #statementOf(table: string, columns: readonly string[], count: number, queries: Queries): string {
    const key = JSON.stringify([table, columns, count]);
    let statement = this.#statements.get(key);
    if (statement === undefined) {
      const names = sql.join(columns.map((column) => sql.ref(column)));
      const row = () => sql`(${sql.join(columns.map(() => sql`${null}`))})`;
      const rows = sql.join(Array.from({ length: count }, row));
      statement = sql`insert into ${sql.table(table)} (${names}) values ${rows}`.compile(queries).sql;
      this.#statements.set(key, statement);
    }
    return statement;
  }
}

/** Why the database refuses the contents of a row; undefined if it failed for another reason. */
function problemOf(error: unknown): string | undefined {
  if (isUniqueViolation(error)) return "has a key that another row has already";
  if (isForeignKeyViolation(error)) return "refers to a row that does not come before it";
  return isRefusedValue(error) ? "holds a value that the database refuses" : undefined;
}
