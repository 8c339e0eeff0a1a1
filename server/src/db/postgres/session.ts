import { connect, type NetConnectOpts, type Socket } from "node:net";
import postgres from "postgres";
import { fieldsOf } from "../../lib/fields.ts";
import type { DatabaseOptions } from "../database.ts";
import { addressOf, boundsOf, setBounds } from "./connection-settings.ts";

/** The result of a statement. */
export type Rows = postgres.RowList<postgres.MaybeRow[]>;

export interface StatementOptions {
  /** Prepared by name on the server, for frequent statements. */
  readonly isPrepared?: boolean;
  /** Rows are arrays of values, which cost the driver less than objects. */
  readonly asArrays?: boolean;
  /** Not subject to the time-out, and neither are the statements queued behind it. */
  readonly isUnbounded?: boolean;
}

export interface SessionOptions extends Pick<DatabaseOptions, "timeoutMs" | "isPooled"> {
  /** The connect time-out; defaults to `timeoutMs`. */
  readonly connectMsMax?: number;
  /** The name that operators see in `pg_stat_activity`. */
  readonly applicationName?: string;
}

export interface SessionEvents {
  /** Called once, when the connection is established. */
  onConnected?(): void;
  /** Called with the text of each notification of a channel that the session listens to. */
  onNotification?(text: string): void;
  /** Called once, when the connection has broken or has been closed. */
  onEnd?(): void;
}

/** Sessions are replaced after a while, each at a different time, so that operators can rebalance or move databases. */
const lifetimeMsMin = 1_800_000;
const goodbyeMsMax = 1_000;

/** Makes each session start with a different one of several hosts. */
let sessions = 0;

/** The address that the driver passes to `socket`. */
interface Address {
  readonly path: string | false;
  readonly host: readonly string[];
  readonly port: readonly number[];
}

/**
 * One connection to PostgreSQL, used until it breaks and never reopened. (The driver would reopen it with the state of
 * the old one: statements could receive the rows of others, or no answer, and a transaction could continue outside of
 * any.) Statements are pipelined and answered in order.
 */
export class PostgresSession {
  readonly #sql: postgres.Sql<{ bigint: number }>;
  readonly #patienceMs: number;
  readonly #events: SessionEvents;
  readonly #pending = new Set<(error: Error) => void>();
  readonly #expiresAt = performance.now() + lifetimeMsMin * (1 + Math.random());
  readonly #firstHost = sessions++;
  #hostsTried = 0;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Start of the current wait for an answer. */
  #answeredAt = 0;
  /**
   * Statements queued until the first answer: the driver would send half of them, and the rest after later ones. Behind
   * a pooler, until the answer of the statement before: between two statements a pooler may give the server connection
   * to another client, and a statement that is already on its way is lost.
   */
  #held: (() => void)[] | undefined = [];
  readonly #isPooled: boolean;
  #isUnbounded = false;
  #isRetired = false;
  readonly openedAt = performance.now();
  /** The time of the server's last answer; 0 before the first. */
  heardAt = 0;
  isConnected = false;
  isBroken = false;
  /** True if the connection has broken because the server did not answer in time. */
  wasSilent = false;
  /** The reason why the connection attempt failed. */
  refusal: unknown;
  /** Used exclusively by one transaction. */
  isReserved = false;

  constructor(
    url: string,
    { timeoutMs, isPooled = false, connectMsMax = timeoutMs, applicationName = "rollcall" }: SessionOptions,
    events: SessionEvents = {},
  ) {
    // The server cancels a statement after the time-out, so a server that is silent for twice as long is unreachable.
    this.#patienceMs = 2 * timeoutMs;
    this.#isPooled = isPooled;
    this.#events = events;
    const address = addressOf(url);
    this.#sql = postgres(address.url, {
      ...address.options,
      max: 1,
      max_lifetime: null,
      // Disables the lookup of array types, which we do not use; a cut connection during the lookup would crash the
      // process.
      fetch_types: false,
      connect_timeout: connectMsMax / 1_000,
      // Behind a pooler each transaction may run in another session, where prepared statements and settings are
      // missing.
      prepare: !isPooled,
      connection: { application_name: applicationName, ...(isPooled ? {} : boundsOf(timeoutMs)) },
      types: {
        // All bigints are counts and milliseconds, far below 2^53.
        bigint: { to: 20, from: [20], serialize: String, parse: Number },
      },
      onnotice: () => {},
      onclose: () => this.break(),
      ...{
        // The driver supports `onnotify` and `socket`, its types do not. It attaches its listeners to a socket after a
        // microtask, so an unreachable address must fail later than that.
        onnotify: (_channel: string, text: string) => this.#events.onNotification?.(text),
        socket: async (options: Address) => {
          await undefined;
          return this.#connect(options);
        },
      },
    });
    this.#sql.unsafe(isPooled ? "select 1" : setBounds(timeoutMs)).then(
      () => this.#begin(),
      (error) => {
        // A server that rejects the limits is used without them.
        if (error instanceof postgres.PostgresError && error.severity === "ERROR") this.#begin();
        else this.#refused(error);
      },
    );
  }

  /** The number of statements that wait for their answers. */
  get load(): number {
    return this.#pending.size;
  }

  /** True if the session takes no new statements. */
  get isRetired(): boolean {
    return this.#isRetired || performance.now() > this.#expiresAt;
  }

  /** @throws Error with the code CONNECTION_CLOSED if the connection is or gets broken; errors of PostgreSQL */
  run(text: string, values: readonly unknown[] = [], options: StatementOptions = {}): Promise<Rows> {
    if (this.isBroken) return Promise.reject(connectionClosed());
    // The driver would fail the statement before this one, and mix up the answers of the later ones.
    if (values.includes(undefined)) return Promise.reject(new Error(`A value of a statement is undefined: ${text}`));
    const { isPrepared = false, asArrays = false, isUnbounded = false } = options;
    if (isUnbounded) this.#isUnbounded = true;
    this.#beginToWait();
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      // No column has a type that the driver does not accept.
      const parameters = values as postgres.ParameterOrJSON<never>[];
      const send = () => {
        const unsafe = this.#sql.unsafe<postgres.MaybeRow[]>(text, parameters, { prepare: isPrepared });
        const sent = asArrays ? unsafe.values() : unsafe;
        sent.then(
          (rows) => {
            this.#sendHeld();
            this.#answered(reject);
            resolve(rows);
          },
          (error) => {
            this.#sendHeld();
            this.#answered(reject, error);
            reject(error);
          },
        );
      };
      if (this.#held !== undefined) this.#held.push(send);
      else {
        if (this.#isPooled) this.#held = [];
        send();
      }
    });
  }

  /** Restores the time-out for the next transaction. */
  forgetTransaction(): void {
    this.isReserved = false;
    this.#isUnbounded = false;
  }

  /** Takes no new statements, and closes after the pending ones are answered. */
  retire(): void {
    this.#isRetired = true;
    if (this.#pending.size === 0 && !this.isReserved) void this.close();
  }

  /** Closes the connection; pending statements fail. Resolves when the server has closed it, too. */
  close(): Promise<void> {
    const socket = this.#socket;
    if (this.isBroken || socket === undefined) {
      this.break();
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(() => socket.destroy(), goodbyeMsMax).unref();
    socket.once("close", () => {
      clearTimeout(late);
      resolve();
    });
    this.#sql.end({ timeout: 0 }).catch(() => {});
    this.#end();
    return promise;
  }

  /** Cuts the connection; pending statements fail. */
  break(): void {
    if (this.isBroken) return;
    this.#socket?.destroy();
    this.#end();
  }

  #end(): void {
    this.isBroken = true;
    clearTimeout(this.#timer);
    let reason = this.refusal;
    for (const reject of this.#pending) {
      reject((reason ?? connectionClosed()) as Error); // the driver throws only errors
      reason = undefined; // only the first statement gets the reason, as in the driver
    }
    this.#pending.clear();
    this.#events.onEnd?.();
  }

  /** Called when the server has answered the first statement. */
  #begin(): void {
    if (this.isBroken) return;
    this.isConnected = true;
    this.#answeredAt = this.heardAt = performance.now();
    this.#events.onConnected?.();
    this.#sendHeld();
  }

  /** Called when a statement has been answered. */
  #sendHeld(): void {
    const held = this.#held;
    if (held === undefined || this.isBroken) return;
    if (this.#isPooled && held.length > 0) {
      held.shift()?.();
      return;
    }
    this.#held = undefined;
    for (const send of held) send();
  }

  #refused(error: unknown): void {
    if (this.isBroken) return;
    this.refusal = error;
    this.wasSilent = fieldsOf(error).code === "CONNECT_TIMEOUT"; // the driver adds it
    this.break(); // the driver reports it only if it had a socket
  }

  /**
   * Replaces the driver's connect, so that each host is tried once, no second connection is opened, and a silent one
   * can be cut.
   */
  #connect({ path, host, port }: Address): Socket {
    if (this.#hostsTried >= host.length) this.break(); // the driver would retry in a loop without backoff
    if (this.isBroken) throw connectionClosed();
    const at = (this.#firstHost + this.#hostsTried) % host.length;
    this.#hostsTried += 1;
    const address: NetConnectOpts = path ? { path } : { host: host[at], port: port[at] ?? 5432 };
    try {
      this.#socket = connect(address).setNoDelay(true);
    } catch (error) {
      this.#refused(error); // the address is invalid
      throw error;
    }
    // The driver verifies the certificate against this host.
    return Object.assign(this.#socket, { host: host[at], port: port[at] });
  }

  #beginToWait(): void {
    if (this.#pending.size > 0) return;
    this.#answeredAt = performance.now();
    this.#timer ??= setTimeout(() => this.#checkSilence(), this.#patienceMs).unref();
  }

  #answered(reject: (error: Error) => void, error?: unknown): void {
    this.#pending.delete(reject);
    this.#answeredAt = performance.now();
    if (error === undefined || error instanceof postgres.PostgresError) this.heardAt = this.#answeredAt;
    if (this.#pending.size === 0 && this.#isRetired && !this.isReserved) void this.close();
  }

  /** Breaks a silent connection; the system would wait for about a quarter of an hour. */
  #checkSilence(): void {
    this.#timer = undefined;
    if (this.#pending.size === 0 || this.isBroken) return;
    const remainingMs = this.#answeredAt + this.#patienceMs - performance.now();
    if (remainingMs <= 0 && !this.#isUnbounded) {
      this.wasSilent = true;
      this.break();
    } else this.#timer = setTimeout(() => this.#checkSilence(), Math.max(remainingMs, this.#patienceMs / 10)).unref();
  }
}

function connectionClosed(): Error {
  return Object.assign(new Error("The connection to the database has closed"), { code: "CONNECTION_CLOSED" });
}
