import { PostgresSession, type SessionOptions } from "./session.ts";

/** Identifies the server process of a session; client connections have different ones, except behind a pooler. */
const identify = `
  select pid || ' ' || backend_start as id, current_setting('server_encoding') as encoding
  from pg_stat_activity where pid = pg_backend_pid()`;

/**
 * Returns the reason why a server cannot use this database: its encoding, or a pooler in transaction mode that the
 * settings do not mention. Errors of the connection are thrown.
 *
 * @returns a sentence for operators, without a password
 */
export async function findPostgresProblem(url: string, options: SessionOptions): Promise<string | undefined> {
  const sessions = [new PostgresSession(url, options), new PostgresSession(url, options)];
  try {
    const ids: string[][] = [[], []];
    // One statement per session does not reveal a pooler that assigns its connections round-robin.
    for (const index of [0, 1, 0, 0, 1]) {
      const [row] = (await sessions[index]?.run(identify, [])) ?? [];
      const { id, encoding } = row as { id: string; encoding: string };
      if (encoding !== "UTF8") return encodingProblem(encoding);
      ids[index]?.push(id);
      if (options.isPooled) return undefined;
    }
    const [first = [], second = []] = ids.map((each) => [...new Set(each)]);
    const isPooled = first.length > 1 || second.length > 1 || first[0] === second[0];
    return isPooled ? poolerProblem : undefined;
  } finally {
    for (const session of sessions) session.close();
  }
}

export const poolerProblem =
  "DATABASE_URL leads to a pooler in transaction mode, such as PgBouncer. Set DATABASE_POOLER=transaction, or DATABASE_URL to PostgreSQL's own address.";

function encodingProblem(encoding: string): string {
  return `DATABASE_URL: the encoding of the database is ${encoding}, which cannot store every text. Create another one with \`create database … encoding 'UTF8' template template0\`; \`rollcall backup\` and \`rollcall restore\` move existing data.`;
}
