import { connect, type Socket } from "node:net";
import postgres from "postgres";
import type { DatabaseOptions } from "./database.ts";

/** What a statement has come to. */
export type Rows = postgres.RowList<postgres.MaybeRow[]>;

export interface StatementOptions {
  /** Kept by the server under a name: for what is asked again and again. */
  readonly isPrepared?: boolean;
  /** It may take as long as it takes, and everything behind it. */
  readonly isUnbounded?: boolean;
}

export type SessionOptions = Pick<DatabaseOptions, "timeoutMs" | "isPooled">;

/** Ever so often a session is exchanged for a new one, at another time each: for those who balance or move databases. */
const lifetimeMsMin = 1_800_000;
const goodbyeMsMax = 1_000;

/** Of several hosts each session begins with another one. */
let sessions = 0;

/** What the library asks a socket for. */
interface Address {
  readonly path: string | false;
  readonly host: readonly string[];
  readonly port: readonly number[];
}

/**
 * One connection to PostgreSQL, used until it breaks and never again. (The library would open it anew with what it had in
 * mind of the old one: statements would be answered with rows of others, or not at all, and a transaction would go on
 * where none is.) Statements are sent one behind the other and answered in that order.
 */
export class PostgresSession {
  readonly #sql: postgres.Sql<{ bigint: number }>;
  readonly #patienceMs: number;
  readonly #onEnd: () => void;
  readonly #pending = new Set<(error: Error) => void>();
  readonly #expiresAt = performance.now() + lifetimeMsMin * (1 + Math.random());
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #answeredAt = 0;
  #isUnbounded = false;
  #isRetired = false;
  #isBroken = false;
  readonly #firstHost = sessions++;
  #hostsTried = 0;
  /** A transaction has it for itself. */
  isReserved = false;

  /** @param onEnd is called once, when it has broken or has been closed */
  constructor(url: string, { timeoutMs, isPooled = false }: SessionOptions, onEnd: () => void) {
    // The server ends a statement that takes longer: who has said nothing for twice as long says nothing any more.
    this.#patienceMs = 2 * timeoutMs;
    this.#onEnd = onEnd;
    this.#sql = postgres(url, {
      max: 1,
      max_lifetime: null,
      fetch_types: false, // of arrays, which we have none of; were it cut off in the midst of that, it would end the process
      connect_timeout: timeoutMs / 1_000,
      // A pooler gives each transaction another session: what is prepared or set in one is not there in the next.
      prepare: !isPooled,
      connection: { application_name: "rollcall", ...(isPooled ? {} : boundsOf(timeoutMs)) },
      types: {
        // All our bigints are counts and milliseconds, far below 2^53.
        bigint: { to: 20, from: [20], serialize: String, parse: Number },
      },
      onnotice: () => {},
      onclose: () => this.#break(),
      ...{ socket: (options: Address) => this.#connect(options) }, // which the library has, and its types have not
    });
  }

  /** How many statements wait for their answers. */
  get load(): number {
    return this.#pending.size;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** It is to take nothing new. */
  get isRetired(): boolean {
    return this.#isRetired || performance.now() > this.#expiresAt;
  }

  /** @throws Error with the code CONNECTION_CLOSED when it is or gets broken; whatever PostgreSQL says */
  run(text: string, values: readonly unknown[], options: StatementOptions = {}): Promise<Rows> {
    if (this.#isBroken) return Promise.reject(connectionClosed());
    const { isPrepared = false, isUnbounded = false } = options;
    if (isUnbounded) this.#isUnbounded = true;
    this.#beginToWait();
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      // Tables has no column of a type that the library does not take.
      const parameters = values as postgres.ParameterOrJSON<never>[];
      this.#sql.unsafe<postgres.MaybeRow[]>(text, parameters, { prepare: isPrepared }).then(
        (rows) => {
          this.#answered(reject);
          resolve(rows);
        },
        (error) => {
          this.#answered(reject);
          reject(error);
        },
      );
    });
  }

  /** What comes next is bounded again. */
  forgetTransaction(): void {
    this.isReserved = false;
    this.#isUnbounded = false;
  }

  /** Takes nothing new, and closes once everything has been answered. */
  retire(): void {
    this.#isRetired = true;
    if (this.#pending.size === 0 && !this.isReserved) this.close();
  }

  /** Says goodbye; what still waits for an answer fails. */
  close(): void {
    if (this.#isBroken) return;
    const socket = this.#socket;
    this.#sql.end({ timeout: 0 }).catch(() => {});
    const late = setTimeout(() => socket?.destroy(), goodbyeMsMax);
    socket?.once("close", () => clearTimeout(late));
    late.unref();
    this.#end();
  }

  #break(): void {
    if (this.#isBroken) return;
    this.#socket?.destroy();
    this.#end();
  }

  #end(): void {
    this.#isBroken = true;
    clearTimeout(this.#timer);
    for (const reject of this.#pending) reject(connectionClosed());
    this.#pending.clear();
    this.#onEnd();
  }

  /** In the library's place, so that it tries each host once and never opens a second one, and a silent one can be cut. */
  #connect({ path, host, port }: Address): Socket {
    if (this.#hostsTried >= host.length) this.#break(); // it would go on in a loop, and without a pause
    if (this.#isBroken) throw connectionClosed();
    const at = (this.#firstHost + this.#hostsTried) % host.length;
    this.#hostsTried += 1;
    const socket = path ? connect(path) : connect(port[at] ?? 5432, host[at]);
    this.#socket = socket.setNoDelay(true);
    return Object.assign(socket, { host: host[at], port: port[at] }); // where the library looks for the name on certificates
  }

  #beginToWait(): void {
    if (this.#pending.size > 0) return;
    this.#answeredAt = performance.now();
    this.#timer ??= setTimeout(() => this.#judge(), this.#patienceMs).unref();
  }

  #answered(reject: (error: Error) => void): void {
    this.#pending.delete(reject);
    this.#answeredAt = performance.now();
    if (this.#pending.size === 0 && this.#isRetired && !this.isReserved) this.close();
  }

  /** A server that is gone without a word would be waited for until the system gives up, a quarter of an hour later. */
  #judge(): void {
    this.#timer = undefined;
    if (this.#pending.size === 0 || this.#isBroken) return;
    const left = this.#answeredAt + this.#patienceMs - performance.now();
    if (left <= 0 && !this.#isUnbounded) this.#break();
    else this.#timer = setTimeout(() => this.#judge(), Math.max(left, this.#patienceMs / 10)).unref();
  }
}

/** For the server to keep: to it, a process that has stopped or is out of reach is one that takes its time, and has locks. */
function boundsOf(timeoutMs: number): Readonly<Record<string, number>> {
  return { statement_timeout: timeoutMs, idle_in_transaction_session_timeout: 2 * timeoutMs };
}

function connectionClosed(): Error {
  return Object.assign(new Error("The connection to the database has closed"), { code: "CONNECTION_CLOSED" });
}
