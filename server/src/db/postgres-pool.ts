import { ApiError } from "../errors.ts";
import type { DatabaseOptions } from "./database.ts";
import { isRefusedConnection } from "./dialect.ts";
import { PostgresSession, type Rows, type StatementOptions } from "./postgres-session.ts";

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

const oneMoreEveryMs = 1_000;
/** The interval of connection attempts while the server does not answer. */
const probeEveryMs = 250;
const connectMsMin = 750;

/** Receives a session that is not reserved. */
type Taker = (session: PostgresSession) => void;

export function createPostgresPool(url: string, options: DatabaseOptions): PostgresPool {
  const { connectionsMax, timeoutMs } = options;
  // Attempts to a silent server end early, so that new ones have room; one attempt may take the full time, in case the
  // server is slow to accept.
  const connectMsMax = Math.min(timeoutMs, Math.max(connectMsMin, (connectionsMax - 1) * probeEveryMs));
  let patient: PostgresSession | undefined;
  const sessions = new Set<PostgresSession>();
  /** Connections that have fallen silent; new connections may replace them. */
  const silent = new WeakSet<PostgresSession>();
  const waiting = new Set<Taker>();
  let isClosed = false;
  /** The number of connections that the server accepted, and when. */
  let taken = { count: connectionsMax, at: 0 };
  /** True from the moment a connection falls silent until a new one is established. */
  let isSilent = false;
  let openedAt = Number.NEGATIVE_INFINITY;
  let probing: NodeJS.Timeout | undefined;
  let onAllEnded = () => {};

  function max(): number {
    return Math.min(connectionsMax, taken.count + Math.floor((performance.now() - taken.at) / oneMoreEveryMs));
  }

  /** Returns an idle session, a new one, or the best shared one; undefined while all are reserved. */
  function find(): PostgresSession | undefined {
    let best: PostgresSession | undefined;
    let count = 0;
    for (const session of sessions) {
      if (session.isRetired) {
        session.retire();
        if (!session.isBroken && !silent.has(session)) count += 1;
        continue;
      }
      count += 1;
      if (session.isReserved) continue;
      if (session.load === 0) return session;
      if (best === undefined || isBetter(session, best)) best = session;
    }
    const canOpen = count < max() && !(isSilent && performance.now() < openedAt + probeEveryMs);
    return canOpen ? open() : best;
  }

  /** @param other was opened before */
  function isBetter(session: PostgresSession, other: PostgresSession): boolean {
    if (session.isConnected !== other.isConnected) return session.isConnected;
    return (isSilent && !session.isConnected) || session.load < other.load;
  }

  function open(): PostgresSession {
    const isPatient = patient === undefined || patient.isConnected || patient.isBroken;
    const session: PostgresSession = new PostgresSession(
      url,
      { ...options, connectMsMax: isPatient ? timeoutMs : connectMsMax },
      {
        onConnected: () => endSilence(session),
        onEnd({ wasSilent, refusal }) {
          if (isRefusedConnection(refusal)) lowerLimit();
          sessions.delete(session);
          if (wasSilent) beginSilence(session);
          if (sessions.size === 0) onAllEnded();
          serveWaiting();
        },
      },
    );
    if (isPatient) patient = session;
    openedAt = session.openedAt;
    sessions.add(session);
    return session;
  }

  /**
   * Lowers the limit after the server has refused a connection, then raises it by one each second. Must be called for
   * each refusal, before its session is removed.
   */
  function lowerLimit(): void {
    taken = { count: Math.max(1, Math.min(max(), sessions.size) - 1), at: performance.now() };
  }

  /** From now on attempts start one at a time, so that one of them is always recent. */
  function beginSilence({ heardAt, openedAt }: PostgresSession): void {
    isSilent = true;
    const since = Math.max(heardAt, openedAt);
    for (const other of sessions) {
      if (!other.isConnected || other.heardAt >= since) continue;
      silent.add(other);
      other.retire();
    }
  }

  /** The server answers again: gives up older attempts, which may never succeed. */
  function endSilence(connected: PostgresSession): void {
    if (!isSilent) return;
    isSilent = false;
    for (const other of sessions) if (!other.isConnected && other.openedAt < connected.openedAt) other.giveUp();
    serveWaiting();
  }

  function serveWaiting(): void {
    if (waiting.size > 0) probeLater();
    for (const take of waiting) {
      const session = find();
      if (session === undefined) return;
      if (waiting.delete(take)) take(session); // `find` may have ended a session, whose end already served `take`
    }
  }

  /**
   * Serves waiting calls again after a while, because they do not notice the end of a session that was never
   * established.
   */
  function probeLater(): void {
    if (!isSilent || probing !== undefined) return;
    probing = setTimeout(() => {
      probing = undefined;
      serveWaiting();
    }, probeEveryMs).unref();
  }

  /** Runs calls in their order of arrival, as soon as there is a session. */
  function take<T>(use: (session: PostgresSession) => T): Promise<Awaited<T>> {
    if (isClosed) return Promise.reject(new ApiError("ServiceUnavailable"));
    const session = waiting.size === 0 ? find() : undefined;
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
      for (const session of sessions) if (session.openedAt <= at) session.retire();
    },

    async close() {
      isClosed = true;
      const { promise, resolve } = Promise.withResolvers<void>();
      onAllEnded = resolve;
      for (const session of sessions) session.retire();
      if (sessions.size === 0) resolve();
      const late = setTimeout(resolve, timeoutMs);
      await promise;
      clearTimeout(late);
      for (const session of sessions) session.close();
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
