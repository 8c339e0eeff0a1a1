import { setTimeout as sleep } from "node:timers/promises";
import { type CurrentCall, currentCall } from "../../lib/current-call.ts";
import { ApiError } from "../../lib/errors.ts";
import type { DatabaseOptions } from "../database.ts";
import { isOutdatedConnection, isRefusedConnection, isUndone, translateDatabaseError } from "../dialect.ts";
import { createStatementWatch } from "../statement-watch.ts";
import { createCommitStatistics } from "../statistics.ts";
import { PostgresSession, type Rows, type StatementOptions } from "./session.ts";

/** Connections of the pool often break together; after this pause a retry finds a working one, or a free lock. */
const readAgainMs = 20;
/** The interval at which the limit rises again after the server has refused a connection. */
const oneMoreEveryMs = 1_000;
/** The interval of connection attempts while the server does not answer. */
const probeEveryMs = 250;
const connectMsMin = 750;

export interface RunOptions extends Pick<StatementOptions, "asArrays"> {
  /** The calls that requested the statement; by default the current one. */
  readonly calls?: readonly (CurrentCall | undefined)[];
}

/** Runs a statement, on any session or in a transaction. */
export type RunStatement = (sql: string, values: readonly unknown[], options?: RunOptions) => Promise<Rows>;

/** Receives a session that is not reserved. */
type Taker = (session: PostgresSession) => void;

/**
 * The sessions of one process: shared by single statements, exclusive for each transaction. Decides which session a
 * statement or transaction gets, and when a new one is opened.
 */
export class PostgresPool {
  readonly options: DatabaseOptions;
  readonly watch;
  readonly commits = createCommitStatistics();
  readonly commitListeners: (() => void)[] = [];
  /** Transactions that wait for a session. */
  waitingCount = 0;
  transactionCount = 0;
  readonly #url: string;
  readonly #connectMsMax: number;
  readonly #sessions = new Set<PostgresSession>();
  readonly #waiting = new Set<Taker>();
  /** The session whose connection attempt may take the full time, in case the server is slow to accept. */
  #patient: PostgresSession | undefined;
  /** Connections whose server has stopped answering; new connections may replace them. */
  readonly #silent = new WeakSet<PostgresSession>();
  /** True from the moment a connection falls silent until a new one is established. */
  #isSilent = false;
  #probing: NodeJS.Timeout | undefined;
  #openedAt = Number.NEGATIVE_INFINITY;
  /** The number of connections that the server accepted, and when. */
  #taken: { readonly count: number; readonly at: number };
  #isClosed = false;
  #onAllEnded = () => {};

  constructor(url: string, options: DatabaseOptions) {
    const { connectionsMax, timeoutMs } = options;
    this.#url = url;
    this.options = options;
    this.watch = createStatementWatch("postgresql", { slowQueryMs: 0, ...options });
    // Attempts to a silent server are cut short, so that new ones have room.
    this.#connectMsMax = Math.min(timeoutMs, Math.max(connectMsMin, (connectionsMax - 1) * probeEveryMs));
    this.#taken = { count: connectionsMax, at: 0 };
  }

  /**
   * Runs one statement outside of transactions on the least busy session, queued behind earlier statements. Runs it
   * again if it was undone.
   *
   * @throws ApiError ServiceUnavailable if the database cannot be used, also on a time-out; other errors of PostgreSQL
   */
  run(sql: string, values: readonly unknown[], options: RunOptions = {}): Promise<Rows> {
    return this.watched(sql, options, async () => {
      try {
        return await this.#run(sql, values, options);
      } catch (error) {
        if (!isUndone(error)) throw translateDatabaseError(error);
      }
      await sleep(readAgainMs);
      return this.#run(sql, values, options).catch((error) => {
        throw translateDatabaseError(error);
      });
    });
  }

  async #run(sql: string, values: readonly unknown[], { asArrays = false }: RunOptions): Promise<Rows> {
    const taken = this.#take((session) => session.run(sql, values, { isPrepared: true, asArrays }));
    try {
      return await within(this.options.timeoutMs, taken);
    } catch (error) {
      // The statement does not report its session, so every session opened until now counts as outdated.
      this.renewIfOutdated(error, performance.now());
      throw error;
    }
  }

  /** Runs a statement, and reports it to the watch. */
  async watched(sql: string, { calls = [currentCall()] }: RunOptions, run: () => Promise<Rows>): Promise<Rows> {
    const startedAt = performance.now();
    try {
      const rows = await run();
      this.watch.ended(sql, startedAt, rows.length, undefined, calls);
      return rows;
    } catch (error) {
      this.watch.ended(sql, startedAt, 0, error, calls);
      throw error;
    }
  }

  /**
   * Reserves a session for one transaction. Its first statement waits for earlier statements of the session.
   *
   * @throws ApiError ServiceUnavailable if no session becomes free in time
   */
  async reserve(): Promise<PostgresSession> {
    this.waitingCount += 1;
    try {
      const session = await this.#take((free) => {
        free.isReserved = true;
        return free;
      });
      this.transactionCount += 1;
      return session;
    } finally {
      this.waitingCount -= 1;
    }
  }

  /** Returns a reserved session to the pool, or closes it if its transaction is still open. */
  release(session: PostgresSession, isInTransaction: boolean): void {
    this.transactionCount -= 1;
    session.forgetTransaction();
    if (isInTransaction) void session.close();
    else if (this.#isClosed || session.isRetired) session.retire();
    this.#serveWaiting();
  }

  /**
   * After an error of an outdated server or prepared statement (a standby after a failover, a schema before a
   * migration), retires the sessions that were opened before `at`. Running statements finish. Sessions opened later for
   * the same reason stay.
   */
  renewIfOutdated(error: unknown, at: number): void {
    if (isOutdatedConnection(error)) this.#retire(at);
  }

  #retire(until: number): void {
    for (const session of this.#sessions) if (session.openedAt <= until) session.retire();
  }

  /** Closes the pool after running statements have been answered, within the statement time-out. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onAllEnded = resolve;
    this.#retire(Number.POSITIVE_INFINITY);
    if (this.#sessions.size === 0) resolve();
    const late = setTimeout(resolve, this.options.timeoutMs);
    await promise;
    clearTimeout(late);
    for (const session of this.#sessions) void session.close();
  }

  /** Runs calls in their order of arrival, as soon as there is a session. */
  async #take<T>(use: (session: PostgresSession) => T): Promise<Awaited<T>> {
    if (this.#isClosed) throw new ApiError("ServiceUnavailable");
    const session = this.#waiting.size === 0 ? this.#find() : undefined;
    if (session !== undefined) return await use(session);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const taker: Taker = (free) => {
      clearTimeout(timer);
      resolve(use(free));
    };
    const timer = setTimeout(() => {
      this.#waiting.delete(taker);
      reject(tooBusy());
    }, this.options.timeoutMs);
    this.#waiting.add(taker);
    this.#probeLater();
    return await promise;
  }

  #serveWaiting(): void {
    if (this.#waiting.size > 0) this.#probeLater();
    for (const take of this.#waiting) {
      const session = this.#find();
      if (session === undefined) return;
      // `#find` may have closed a session, whose `onEnd` already served `take`.
      if (this.#waiting.delete(take)) take(session);
    }
  }

  /** Retries for waiting calls, because they do not notice the failure of a session that was never established. */
  #probeLater(): void {
    if (!this.#isSilent || this.#probing !== undefined) return;
    this.#probing = setTimeout(() => {
      this.#probing = undefined;
      this.#serveWaiting();
    }, probeEveryMs).unref();
  }

  /** Returns an idle session, a new one, or the best shared one; undefined while all are reserved. */
  #find(): PostgresSession | undefined {
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

  #max(): number {
    const { count, at } = this.#taken;
    return Math.min(this.options.connectionsMax, count + Math.floor((performance.now() - at) / oneMoreEveryMs));
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
      { ...this.options, connectMsMax: isPatient ? this.options.timeoutMs : this.#connectMsMax },
      { onConnected: () => this.#endSilence(session), onEnd: () => this.#ended(session) },
    );
    if (isPatient) this.#patient = session;
    this.#openedAt = session.openedAt;
    this.#sessions.add(session);
    return session;
  }

  #ended(session: PostgresSession): void {
    if (isRefusedConnection(session.refusal)) {
      // The limit falls below the number of connections, then rises by one each second.
      this.#taken = { count: Math.max(1, Math.min(this.#max(), this.#sessions.size) - 1), at: performance.now() };
    }
    this.#sessions.delete(session);
    if (session.wasSilent) this.#beginSilence(session);
    if (this.#sessions.size === 0) this.#onAllEnded();
    this.#serveWaiting();
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
    for (const other of this.#sessions) if (!other.isConnected && other.openedAt < connected.openedAt) other.break();
    this.#serveWaiting();
  }
}

function tooBusy(): ApiError {
  return new ApiError("ServiceUnavailable", "The database is too busy. Try again.");
}

/** @throws ApiError ServiceUnavailable on a time-out */
function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooBusy()), timeoutMs);
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
