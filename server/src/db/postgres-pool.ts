import postgres from "postgres";
import type { DatabaseOptions } from "./database.ts";

/** When it closes nothing runs that has to end, and a connection that has broken would be waited for in vain. */
const closeMsMax = 1_000;

export type Sql = postgres.Sql<{ bigint: number }>;

/** Connections to PostgreSQL that can be exchanged for new ones while they are in use. */
export interface PostgresPool {
  current(): Sql;
  /**
   * Lets nobody begin on these connections any more: what they lead to or remember is not what there is now (a standby
   * after a failover, statements of a schema before a migration). What runs on them goes on. Nothing happens when they
   * have been exchanged already.
   */
  renew(outdated: Sql): void;
  /**
   * Tells when this connection closes, at once and before it is opened again: the library would send what follows in a
   * transaction over the new one, where no transaction is.
   *
   * @returns ends the watch
   */
  watch(connectionId: number, onClose: () => void): () => void;
  close(): Promise<void>;
}

export function createPostgresPool(
  url: string,
  { connectionsMax, timeoutMs, isPooled }: DatabaseOptions,
): PostgresPool {
  const watched = new Map<number, () => void>(); // the library numbers all connections of the process
  let current = open();
  let isClosed = false;

  function open(): Sql {
    return postgres(url, {
      max: connectionsMax,
      connect_timeout: timeoutMs / 1_000,
      backoff: () => 0.2, // seconds: a database that is back is in use again at once
      // A pooler gives each transaction another session: what is prepared or set in one is not there in the next.
      prepare: !isPooled,
      connection: { application_name: "rollcall", ...(isPooled ? {} : { statement_timeout: timeoutMs }) },
      types: {
        // All our bigints are counts and milliseconds, far below 2^53.
        bigint: { to: 20, from: [20], serialize: String, parse: Number },
      },
      onnotice: () => {},
      onclose: (connectionId) => watched.get(connectionId)?.(),
    });
  }

  function end(sql: Sql, withinMs: number): Promise<void> {
    return sql.end({ timeout: withinMs / 1_000 });
  }

  return {
    current: () => current,
    renew(outdated) {
      if (outdated !== current || isClosed) return;
      current = open();
      end(outdated, timeoutMs).catch(() => {}); // nobody waits for it, and what fails has told whom it concerns
    },
    watch(connectionId, onClose) {
      watched.set(connectionId, onClose);
      return () => {
        if (watched.get(connectionId) === onClose) watched.delete(connectionId);
      };
    },
    async close() {
      isClosed = true;
      await end(current, Math.min(timeoutMs, closeMsMax));
    },
  };
}
