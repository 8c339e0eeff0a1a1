import { ApiError } from "../errors.ts";
import type { DatabaseOptions } from "./database.ts";
import { isRefusedConnection } from "./dialect.ts";
import { PostgresSession, type Rows, type StatementOptions } from "./postgres-session.ts";

/** Sessions of PostgreSQL: shared by what is one statement, one for each transaction. */
export interface PostgresPool {
  /**
   * Runs one statement on the session that has the least to do, behind what others have sent over it.
   *
   * @throws what `PostgresSession.run` throws; ApiError ServiceUnavailable when it takes too long
   */
  run(text: string, values: readonly unknown[], options?: StatementOptions): Promise<Rows>;
  /**
   * A session for one transaction. Its first statement waits for those that were sent over it before.
   *
   * @throws ApiError ServiceUnavailable when all have theirs for too long
   */
  reserve(): Promise<PostgresSession>;
  /** Gives a reserved one back; in the midst of a transaction it is closed. */
  release(session: PostgresSession, isInTransaction: boolean): void;
  /**
   * Lets nobody begin on the sessions that were there at that time: what they lead to or remember is not what there is now
   * (a standby after a failover, statements of a schema before a migration). What runs on them goes on. Those that others
   * have opened since, for the same reason, stay.
   */
  renew(at: number): void;
  /** After what runs has been answered, but within the time that a statement may take. */
  close(): Promise<void>;
}

const oneMoreEveryMs = 1_000;
/** So often somebody knocks again where nobody answers. */
const knockEveryMs = 250;
const connectMsMin = 750;

/** Gets a session that is not reserved. */
type Taker = (session: PostgresSession) => void;

export function createPostgresPool(url: string, options: DatabaseOptions): PostgresPool {
  const { connectionsMax, timeoutMs } = options;
  // Those that wait at a silent door leave room for one that finds it open; but for one of them, should it open slowly.
  const connectMsMax = Math.min(timeoutMs, Math.max(connectMsMin, (connectionsMax - 1) * knockEveryMs));
  let patient: PostgresSession | undefined;
  const sessions = new Set<PostgresSession>();
  /** Connections that have fallen silent: others take their places. */
  const silent = new WeakSet<PostgresSession>();
  const waiting = new Set<Taker>();
  let isClosed = false;
  /** How many connections the server took at that time. */
  let taken = { count: connectionsMax, at: 0 };
  /** A connection has fallen silent, and since then none has been made. */
  let isSilent = false;
  let openedAt = Number.NEGATIVE_INFINITY;
  let knocking: NodeJS.Timeout | undefined;
  let onAllEnded = () => {};

  function max(): number {
    return Math.min(connectionsMax, taken.count + Math.floor((performance.now() - taken.at) / oneMoreEveryMs));
  }

  /** One that does nothing, a new one, or the best of those there are; undefined while all are reserved. */
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
    const canOpen = count < max() && !(isSilent && performance.now() < openedAt + knockEveryMs);
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
          if (isRefusedConnection(refusal)) makeDo();
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
   * The server takes no further connection: those that there are have to do, and one more is tried each second. To be called
   * for each that is refused, before it is forgotten.
   */
  function makeDo(): void {
    taken = { count: Math.max(1, Math.min(max(), sessions.size) - 1), at: performance.now() };
  }

  /** From now on one connection is begun at a time, so that there is always a young one. */
  function beginSilence({ heardAt, openedAt }: PostgresSession): void {
    isSilent = true;
    const since = Math.max(heardAt, openedAt);
    for (const other of sessions) {
      if (!other.isConnected || other.heardAt >= since) continue;
      silent.add(other);
      other.retire();
    }
  }

  /** The server is there: who began to knock before waits for nothing. */
  function endSilence(connected: PostgresSession): void {
    if (!isSilent) return;
    isSilent = false;
    for (const other of sessions) if (!other.isConnected && other.openedAt < connected.openedAt) other.giveUp();
    serveWaiting();
  }

  function serveWaiting(): void {
    if (waiting.size > 0) knockLater();
    for (const take of waiting) {
      const session = find();
      if (session === undefined) return;
      if (waiting.delete(take)) take(session); // `find` may have ended a session, and that has served it
    }
  }

  /** Who waits for a session that is not begun yet is not told by one that ends. */
  function knockLater(): void {
    if (!isSilent || knocking !== undefined) return;
    knocking = setTimeout(() => {
      knocking = undefined;
      serveWaiting();
    }, knockEveryMs).unref();
  }

  /** Calls in the order in which they came, as soon as there is a session. */
  function take<T>(use: (session: PostgresSession) => T): Promise<Awaited<T>> {
    if (isClosed) return Promise.reject(new ApiError("ServiceUnavailable"));
    const session = waiting.size === 0 ? find() : undefined;
    if (session !== undefined) return Promise.resolve(use(session));
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<T>>();
    const taker: Taker = (free) => {
      clearTimeout(timer);
      resolve(use(free) as Awaited<T>); // a promise is resolved to its value
    };
    const timer = setTimeout(() => {
      waiting.delete(taker);
      reject(tooBusy());
    }, timeoutMs);
    waiting.add(taker);
    knockLater();
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

/** @throws ApiError ServiceUnavailable when it takes longer */
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
