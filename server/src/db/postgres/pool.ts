import { ApiError } from "../../lib/errors.ts";
import type { DatabaseOptions } from "../database.ts";
import type { PostgresSession, Rows, StatementOptions } from "./session.ts";
import { PostgresSessions, probeEveryMs } from "./sessions.ts";

/** Sessions of PostgreSQL: shared by single statements, exclusive for each transaction. */
export interface PostgresPool {
  /**
   * Runs one statement on the least busy session, queued behind earlier statements.
   *
   * @throws what `PostgresSession.run` throws; ApiError ServiceUnavailable on a time-out
   */
  run(text: string, values: readonly unknown[], options?: StatementOptions): Promise<Rows>;
  /**
   * Reserves a session for one transaction. Its first statement waits for those that were sent over it before.
   *
   * @throws ApiError ServiceUnavailable if no session becomes free in time
   */
  reserve(): Promise<PostgresSession>;
  /** Returns a reserved session to the pool, or closes it if its transaction is still open. */
  release(session: PostgresSession, isInTransaction: boolean): void;
  /**
   * Retires the sessions that were opened before `at`, because their server or prepared statements are outdated (a
   * standby after a failover, a schema before a migration). Running statements finish. Sessions opened later for the
   * same reason stay.
   */
  renew(at: number): void;
  /** Closes the pool after running statements have been answered, within the statement time-out. */
  close(): Promise<void>;
}

/** Receives a session that is not reserved. */
type Taker = (session: PostgresSession) => void;

export function createPostgresPool(url: string, options: DatabaseOptions): PostgresPool {
  const { timeoutMs } = options;
  const sessions = new PostgresSessions(url, options, serveWaiting);
  const waiting = new Set<Taker>();
  let isClosed = false;
  let probing: NodeJS.Timeout | undefined;

  function serveWaiting(): void {
    if (waiting.size > 0) probeLater();
    for (const take of waiting) {
      const session = sessions.find();
      if (session === undefined) return;
      if (waiting.delete(take)) take(session); // `find` may have ended a session, whose end already served `take`
    }
  }

  /**
   * Serves waiting calls again after a while, because they do not notice the end of a session that was never
   * established.
   */
  function probeLater(): void {
    if (!sessions.isSilent || probing !== undefined) return;
    probing = setTimeout(() => {
      probing = undefined;
      serveWaiting();
    }, probeEveryMs).unref();
  }

  /** Runs calls in their order of arrival, as soon as there is a session. */
  function take<T>(use: (session: PostgresSession) => T): Promise<Awaited<T>> {
    if (isClosed) return Promise.reject(new ApiError("ServiceUnavailable"));
    const session = waiting.size === 0 ? sessions.find() : undefined;
    if (session !== undefined) return Promise.resolve(use(session));
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<T>>();
    const taker: Taker = (free) => {
      clearTimeout(timer);
      resolve(use(free) as Awaited<T>); // `resolve` unwraps a promise
    };
    const timer = setTimeout(() => {
      waiting.delete(taker);
      reject(tooBusy());
    }, timeoutMs);
    waiting.add(taker);
    probeLater();
    return promise;
  }

  return {
    run(text, values, statement) {
      return within(
        timeoutMs,
        take((session) => session.run(text, values, statement)),
      );
    },

    reserve() {
      return take((session) => {
        session.isReserved = true;
        return session;
      });
    },

    release(session, isInTransaction) {
      session.forgetTransaction();
      if (isInTransaction) session.close();
      else if (isClosed || session.isRetired) session.retire();
      serveWaiting();
    },

    renew(at) {
      sessions.retire(at);
    },

    async close() {
      isClosed = true;
      await sessions.close();
    },
  };
}

function tooBusy(): ApiError {
  return new ApiError("ServiceUnavailable", "The database is too busy. Try again.");
}

/** @throws ApiError ServiceUnavailable on a time-out */
function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooBusy()), timeoutMs);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
