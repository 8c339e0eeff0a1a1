import { ApiError } from "../../lib/errors.ts";
import type { DatabaseOptions } from "../database.ts";
import { isRefusedConnection } from "../dialect.ts";
import { PostgresSession, type Rows, type StatementOptions } from "./session.ts";

/** Sessions of PostgreSQL: shared by single statements, exclusive for each transaction. */
export interface PostgresPool {
  /**
   * Runs one statement on the least busy session, queued behind earlier statements.
   *
   * @throws what `PostgresSession.run` throws; ApiError ServiceUnavailable on a time-out
   */
  run(text: string, values: readonly unknown[], options?: StatementOptions): Promise<Rows>;
  /**
   * Reserves a session for one transaction. Its first statement waits for earlier statements of the session.
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
      if (waiting.delete(take)) take(session); // `find` may have closed a session, whose `onEnd` already served `take`
    }
  }

  /**
   * Retries for waiting calls after a while, because they do not notice the failure of a session that was never
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

const oneMoreEveryMs = 1_000;
/** The interval of connection attempts while the server does not answer. */
const probeEveryMs = 250;
const connectMsMin = 750;

/** The sessions of a pool: decides which one a statement or transaction gets, and when a new one is opened. */
class PostgresSessions {
  readonly #url: string;
  readonly #options: DatabaseOptions;
  /** Called when a session may have become available. */
  readonly #onChange: () => void;
  readonly #connectMsMax: number;
  #patient: PostgresSession | undefined;
  readonly #sessions = new Set<PostgresSession>();
  /** Connections whose server has stopped answering; new connections may replace them. */
  readonly #silent = new WeakSet<PostgresSession>();
  /** The number of connections that the server accepted, and when. */
  #taken: { readonly count: number; readonly at: number };
  #isSilent = false;
  #openedAt = Number.NEGATIVE_INFINITY;
  #onAllEnded = () => {};

  constructor(url: string, options: DatabaseOptions, onChange: () => void) {
    const { connectionsMax, timeoutMs } = options;
    this.#url = url;
    this.#options = options;
    this.#onChange = onChange;
    // Attempts to a silent server are cut short, so that new ones have room; one attempt may take the full time, in
    // case the server is slow to accept.
    this.#connectMsMax = Math.min(timeoutMs, Math.max(connectMsMin, (connectionsMax - 1) * probeEveryMs));
    this.#taken = { count: connectionsMax, at: 0 };
  }

  /** True from the moment a connection falls silent until a new one is established. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Returns an idle session, a new one, or the best shared one; undefined while all are reserved. */
  find(): PostgresSession | undefined {
    let best: PostgresSession | undefined;
    let count = 0;
    for (const session of this.#sessions) {
      if (session.isRetired) {
        session.retire();
        if (!session.isBroken && !this.#silent.has(session)) count += 1;
        continue;
      }
      count += 1;
      if (session.isReserved) continue;
      if (session.load === 0) return session;
      if (best === undefined || this.#isBetter(session, best)) best = session;
    }
    const canOpen = count < this.#max() && !(this.#isSilent && performance.now() < this.#openedAt + probeEveryMs);
    return canOpen ? this.#open() : best;
  }

  /** Retires the sessions that were opened until then. */
  retire(until: number): void {
    for (const session of this.#sessions) if (session.openedAt <= until) session.retire();
  }

  /** Closes all sessions after running statements have been answered, within the statement time-out. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onAllEnded = resolve;
    this.retire(Number.POSITIVE_INFINITY);
    if (this.#sessions.size === 0) resolve();
    const late = setTimeout(resolve, this.#options.timeoutMs);
    await promise;
    clearTimeout(late);
    for (const session of this.#sessions) session.close();
  }

  #max(): number {
    const { count, at } = this.#taken;
    return Math.min(this.#options.connectionsMax, count + Math.floor((performance.now() - at) / oneMoreEveryMs));
  }

  /** @param other was opened before */
  #isBetter(session: PostgresSession, other: PostgresSession): boolean {
    if (session.isConnected !== other.isConnected) return session.isConnected;
    return (this.#isSilent && !session.isConnected) || session.load < other.load;
  }

  #open(): PostgresSession {
    const isPatient = this.#patient === undefined || this.#patient.isConnected || this.#patient.isBroken;
    const session: PostgresSession = new PostgresSession(
      this.#url,
      { ...this.#options, connectMsMax: isPatient ? this.#options.timeoutMs : this.#connectMsMax },
      {
        onConnected: () => this.#endSilence(session),
        onEnd: ({ wasSilent, refusal }) => {
          if (isRefusedConnection(refusal)) this.#lowerLimit();
          this.#sessions.delete(session);
          if (wasSilent) this.#beginSilence(session);
          if (this.#sessions.size === 0) this.#onAllEnded();
          this.#onChange();
        },
      },
    );
    if (isPatient) this.#patient = session;
    this.#openedAt = session.openedAt;
    this.#sessions.add(session);
    return session;
  }

  /**
   * Lowers the limit after the server has refused a connection, then raises it by one each second. Must be called for
   * each refusal, before its session is removed.
   */
  #lowerLimit(): void {
    this.#taken = { count: Math.max(1, Math.min(this.#max(), this.#sessions.size) - 1), at: performance.now() };
  }

  /** From now on attempts start one at a time, so that one of them is always recent. */
  #beginSilence({ heardAt, openedAt }: PostgresSession): void {
    this.#isSilent = true;
    const since = Math.max(heardAt, openedAt);
    for (const other of this.#sessions) {
      if (!other.isConnected || other.heardAt >= since) continue;
      this.#silent.add(other);
      other.retire();
    }
  }

  /** The server answers again: gives up older attempts, which may never succeed. */
  #endSilence(connected: PostgresSession): void {
    if (!this.#isSilent) return;
    this.#isSilent = false;
    for (const other of this.#sessions) if (!other.isConnected && other.openedAt < connected.openedAt) other.giveUp();
    this.#onChange();
  }
}
