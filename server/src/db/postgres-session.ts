import { connect, type NetConnectOpts, type Socket } from "node:net";
import postgres from "postgres";
import type { DatabaseOptions } from "./database.ts";
import { boundsOf, setBounds } from "./postgres-bounds.ts";

/** What a statement has come to. */
export type Rows = postgres.RowList<postgres.MaybeRow[]>;

export interface StatementOptions {
  /** Kept by the server under a name: for what is asked again and again. */
  readonly isPrepared?: boolean;
  /** It may take as long as it takes, and everything behind it. */
  readonly isUnbounded?: boolean;
}

export interface SessionOptions extends Pick<DatabaseOptions, "timeoutMs" | "isPooled"> {
  /** How long it may take to connect; `timeoutMs` if nothing is said. */
  readonly connectMsMax?: number;
}

export interface SessionEvents {
  /** Called once, when it is there. */
  onConnected?(): void;
  /** Called once, when it has broken or has been closed. */
  onEnd?(end: SessionEnd): void;
}

export interface SessionEnd {
  /** Nobody had answered for too long. */
  readonly wasSilent: boolean;
  /** Why there was no connection. */
  readonly refusal: unknown;
}

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
  readonly #bounds: string | undefined;
  readonly #events: SessionEvents;
  readonly #pending = new Set<(error: Error) => void>();
  readonly #expiresAt = performance.now() + lifetimeMsMin * (1 + Math.random());
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Since then an answer is waited for. */
  #answeredAt = 0;
  #heardAt = 0;
  /** What waits for the first answer: the library would send half of it, and the rest behind what comes later. */
  #held: (() => void)[] | undefined;
  #isBegun = false;
  #isConnected = false;
  #isUnbounded = false;
  #isRetired = false;
  #isBroken = false;
  #wasSilent = false;
  /** Why there was no connection. */
  #refusal: unknown;
  readonly #firstHost = sessions++;
  #hostsTried = 0;
  /** A transaction has it for itself. */
  isReserved = false;
  readonly openedAt = performance.now();

  constructor(
    url: string,
    { timeoutMs, isPooled = false, connectMsMax = timeoutMs }: SessionOptions,
    events: SessionEvents = {},
  ) {
    // The server ends a statement that takes longer: who has said nothing for twice as long says nothing any more.
    this.#patienceMs = 2 * timeoutMs;
    this.#bounds = isPooled ? undefined : setBounds(timeoutMs);
    this.#events = events;
    this.#sql = postgres(url, {
      max: 1,
      max_lifetime: null,
      fetch_types: false, // of arrays, which we have none of; were it cut off in the midst of that, it would end the process
      connect_timeout: connectMsMax / 1_000,
      // A pooler gives each transaction another session: what is prepared or set in one is not there in the next.
      prepare: !isPooled,
      connection: { application_name: "rollcall", ...(isPooled ? {} : boundsOf(timeoutMs)) },
      types: {
        // All our bigints are counts and milliseconds, far below 2^53.
        bigint: { to: 20, from: [20], serialize: String, parse: Number },
      },
      onnotice: () => {},
      onclose: () => this.#break(),
      ...{
        // Which the library has, and its types have not. It listens after a turn of promises: an address to which there is no
        // way fails after that as well, when this is not called before.
        socket: async (options: Address) => {
          await undefined;
          return this.#connect(options);
        },
      },
    });
  }

  /** How many statements wait for their answers. */
  get load(): number {
    return this.#pending.size;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** The server has answered. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** When the server has answered last; 0 when it never has. */
  get heardAt(): number {
    return this.#heardAt;
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
      const send = () =>
        this.#sql.unsafe<postgres.MaybeRow[]>(text, parameters, { prepare: isPrepared }).then(
          (rows) => {
            this.#begun();
            this.#answered(reject);
            resolve(rows);
          },
          (error) => {
            this.#begun(error);
            this.#answered(reject, error);
            reject(error);
          },
        );
      if (!this.#isBegun) this.#begin(send);
      else if (this.#held === undefined) send();
      else this.#held.push(send);
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

  /** What waits for an answer fails as when the connection breaks. */
  giveUp(): void {
    this.#break();
  }

  #break(): void {
    if (this.#isBroken) return;
    this.#socket?.destroy();
    this.#end();
  }

  #end(): void {
    this.#isBroken = true;
    clearTimeout(this.#timer);
    const refusal = this.#refusal;
    let reason = refusal;
    for (const reject of this.#pending) {
      reject((reason ?? connectionClosed()) as Error); // the driver throws nothing else
      reason = undefined; // of several it is told once, as by the driver
    }
    this.#pending.clear();
    this.#events.onEnd?.({ wasSilent: this.#wasSilent, refusal });
  }

  /** Sends what goes before the first statement; what the server says to it, it says to that one. */
  #begin(sendFirst: () => void): void {
    this.#isBegun = true;
    this.#held = [];
    if (this.#bounds === undefined) {
      sendFirst();
      return;
    }
    this.#held.push(sendFirst);
    this.#sql.unsafe(this.#bounds).then(
      () => this.#begun(),
      (error) => this.#begun(error),
    );
  }

  /** What was sent first has been answered. */
  #begun(error?: unknown): void {
    if (error === undefined) this.#connected();
    const held = this.#held;
    if (held === undefined || this.#isBroken) return;
    if (error === undefined || isOfStatement(error)) {
      this.#held = undefined; // of what bounds a session: where there is no such thing it works without
      for (const send of held) send();
    } else {
      this.#refusal = error;
      this.#wasSilent = isConnectTimeout(error);
      this.#break(); // the library says so only where it has had a socket
    }
  }

  #connected(): void {
    if (this.#isConnected || this.#isBroken) return;
    this.#isConnected = true;
    this.#answeredAt = this.#heardAt = performance.now();
    this.#events.onConnected?.();
  }

  /** In the library's place, so that it tries each host once and never opens a second one, and a silent one can be cut. */
  #connect({ path, host, port }: Address): Socket {
    if (this.#hostsTried >= host.length) this.#break(); // it would go on in a loop, and without a pause
    if (this.#isBroken) throw connectionClosed();
    const at = (this.#firstHost + this.#hostsTried) % host.length;
    this.#hostsTried += 1;
    const socket = this.#dial(path ? { path } : { host: host[at], port: port[at] ?? 5432 });
    this.#socket = socket.setNoDelay(true);
    return Object.assign(socket, { host: host[at], port: port[at] }); // where the library looks for the name on certificates
  }

  #dial(address: NetConnectOpts): Socket {
    try {
      return connect(address);
    } catch (error) {
      this.#refusal = error; // there can be no such address
      this.#break();
      throw error;
    }
  }

  #beginToWait(): void {
    if (this.#pending.size > 0) return;
    this.#answeredAt = performance.now();
    this.#timer ??= setTimeout(() => this.#judge(), this.#patienceMs).unref();
  }

  #answered(reject: (error: Error) => void, error?: unknown): void {
    this.#pending.delete(reject);
    this.#answeredAt = performance.now();
    if (error === undefined || isOfServer(error)) this.#heardAt = this.#answeredAt;
    if (this.#pending.size === 0 && this.#isRetired && !this.isReserved) this.close();
  }

  /** A server that is gone without a word would be waited for until the system gives up, a quarter of an hour later. */
  #judge(): void {
    this.#timer = undefined;
    if (this.#pending.size === 0 || this.#isBroken) return;
    const left = this.#answeredAt + this.#patienceMs - performance.now();
    if (left <= 0 && !this.#isUnbounded) {
      this.#wasSilent = true;
      this.#break();
    } else this.#timer = setTimeout(() => this.#judge(), Math.max(left, this.#patienceMs / 10)).unref();
  }
}

function isOfServer(error: unknown): error is postgres.PostgresError {
  return error instanceof postgres.PostgresError;
}

/** The connection is as good as before. */
function isOfStatement(error: unknown): boolean {
  return isOfServer(error) && error.severity === "ERROR";
}

function isConnectTimeout(error: unknown): boolean {
  return (error as { code?: unknown }).code === "CONNECT_TIMEOUT"; // the driver adds it
}

function connectionClosed(): Error {
  return Object.assign(new Error("The connection to the database has closed"), { code: "CONNECTION_CLOSED" });
}
