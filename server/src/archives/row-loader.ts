import { CompiledQuery, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import type { StoredRow } from "../db/snapshot.ts";

const rowsPerStatement = 32;
/** What one transaction writes: some milliseconds, in which nobody else can on SQLite. */
const rowsPerTransaction = 128;
const charactersPerTransaction = 131_072;

/** Rows in pieces that one transaction can write without keeping others from it. */
export function* piecesOf(rows: readonly StoredRow[]): Generator<readonly StoredRow[]> {
  let piece: StoredRow[] = [];
  let characters = 0;
  for (const row of rows) {
    piece.push(row);
    for (const value of Object.values(row)) {
      characters += typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
    }
    if (piece.length < rowsPerTransaction && characters < charactersPerTransaction) continue;
    yield piece;
    piece = [];
    characters = 0;
  }
  if (piece.length > 0) yield piece;
}

/**
 * Inserts rows of one table as they were stored. A statement is built once for each number of rows, then run with values
 * alone.
 */
export class RowLoader {
  readonly #statements = new Map<string, string>();

  async insert(table: string, rows: readonly StoredRow[], queries: Queries): Promise<void> {
    const [first = {}] = rows;
    const columns = Object.keys(first);
    for (let done = 0; done < rows.length; ) {
      const count = rows.length - done >= rowsPerStatement ? rowsPerStatement : 1;
      const some = rows.slice(done, done + count);
      const values = some.flatMap((row) => columns.map((column) => row[column] ?? null));
      await queries.executeQuery(CompiledQuery.raw(this.#statementOf(table, columns, count, queries), values));
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
