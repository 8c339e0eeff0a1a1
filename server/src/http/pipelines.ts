import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { HeldBytes } from "../limits/byte-budget.ts";
import {
  type HttpConnection,
  type HttpParser,
  isHttp,
  listenersOf,
  type ParseResult,
  pausedCode,
} from "./node-connection.ts";

/**
 * Serves one request per connection at a time, and pipelined requests of many connections round robin.
 *
 * Node.js parses everything that it has read from a connection, up to 64 KB, before it answers the first request. That
 * can be thousands of requests, which fill the memory and block all other connections. This class pauses the parser
 * after the head of a request that follows an unanswered one. It reads and parses no more until the response has been
 * handed to the operating system and it is the turn of the connection.
 */
export interface Pipelines {
  /** Call it after the listeners of Node.js for the new connection. */
  add(socket: Socket): void;
  /**
   * Handles the time-out of a request that arrives after an unanswered one, whose response must be sent first.
   *
   * @returns false if the connection has no unanswered request
   */
  postponeTimeout(socket: Socket, error: Error): boolean;
}

export interface PipelineOptions {
  /** The time for the rest of a request that began to arrive before its turn. */
  readonly requestTimeoutMs: number;
  /** Counts the unparsed bytes of a connection. */
  holdBytes(socket: Socket): HeldBytes;
}

/** The pipelined requests, of all connections, that begin in one tick. */
const turnsPerTick = 16;

const pipelines = new WeakMap<Socket, Pipeline>();

export function createPipelines(options: PipelineOptions): Pipelines {
  const turns = createTurns();
  return {
    add(socket) {
      if (isHttp(socket) && socket.parser !== null) {
        pipelines.set(socket, new Pipeline(socket, socket.parser, { ...options, turns }));
      }
    },
    postponeTimeout: (socket, error) => pipelines.get(socket)?.postponeTimeout(error) ?? false,
  };
}

/** Discards pipelined bytes, past and future, of a connection that closes after its current response. */
export function discardPipelined(socket: Socket): void {
  pipelines.get(socket)?.discard();
}

interface Turns {
  wait(next: () => void): void;
}

function createTurns(): Turns {
  const outsideOfCalls = AsyncLocalStorage.snapshot(); // the previous response belongs to another call
  const waiting: (() => void)[] = [];
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || waiting.length === 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      for (const next of waiting.splice(0, turnsPerTick)) next();
      schedule();
    });
  }
  return {
    wait(next) {
      waiting.push(next);
      outsideOfCalls(schedule);
    },
  };
}

/** The next request after an unanswered one, with a complete head, or a parse error. */
type Following =
  | { readonly request: IncomingMessage; readonly keepsAlive: boolean; overdue?: Error }
  | { readonly error: ParseResult };

type Options = PipelineOptions & { readonly turns: Turns };

class Pipeline {
  readonly #socket: HttpConnection;
  readonly #parser: HttpParser;
  readonly #options: Options;
  /** The handlers of Node.js for a complete head, and for parsed bytes. */
  readonly #begin: HttpParser["onIncoming"];
  readonly #noteParsed: (result: ParseResult) => void;
  #following: Following | undefined;
  /** The unparsed bytes. */
  #rest: Buffer = emptyBytes;
  #held: HeldBytes | undefined;
  /** Whether a pipelined request is waiting or unanswered. */
  #isPipelining = false;
  #endLater: (() => void) | undefined;
  /**
   * Whether this object receives the bytes. Until the first pipelined request they go directly to the parser, which is
   * cheaper.
   */
  #isReceiver = false;
  #isDiscarding = false;

  constructor(socket: HttpConnection, parser: HttpParser, options: Options) {
    this.#socket = socket;
    this.#parser = parser;
    this.#options = options;
    this.#begin = parser.onIncoming;
    const { kOnExecute } = parser.constructor as unknown as { readonly kOnExecute: number };
    this.#noteParsed = parser[kOnExecute] as (result: ParseResult) => void; // set by Node.js for each connection
    parser.onIncoming = (request, keepsAlive) => {
      if (!this.#isAnswering()) return this.#begin(request, keepsAlive);
      this.#following = { request, keepsAlive };
      return pausedCode;
    };
    parser[kOnExecute] = (result) => this.#afterParsing(result);
  }

  postponeTimeout(error: Error): boolean {
    if (this.#following !== undefined) {
      if ("request" in this.#following) this.#following.overdue = error;
      return true;
    }
    if (!this.#isAnswering()) return false;
    this.#socket._httpMessage?.once("finish", () => {
      if (this.#following === undefined && this.#isOpen()) this.#noteParsed(error as ParseResult & Error);
    });
    return true;
  }

  discard(): void {
    if (this.#isReceiver) this.#discard();
  }

  /** Whether a request has arrived completely, and its response has not been handed to the operating system. */
  #isAnswering(): boolean {
    return this.#socket._httpMessage?.req.complete === true;
  }

  #isOpen(): boolean {
    return this.#socket.parser === this.#parser && this.#socket.writable;
  }

  /** @param bytes absent when the parser has read them itself */
  #afterParsing(result: ParseResult, bytes?: Buffer): void {
    if (this.#following === undefined && typeof result !== "number" && this.#isAnswering()) {
      this.#following = { error: result };
    }
    if (this.#following === undefined) {
      this.#noteParsed(result);
      return;
    }
    const parsed = typeof result === "number" ? result : result.bytesParsed; // the parser pauses with an error, except for an upgrade
    this.#hold((bytes ?? this.#parser.getCurrentBuffer()).subarray(parsed));
  }

  #hold(rest: Buffer): void {
    if (!this.#isReceiver) this.#becomeReceiver();
    this.#isPipelining = true;
    this.#socket.pause();
    this.#rest = rest;
    const response = this.#socket._httpMessage;
    if (response?._last === true) {
      this.#discard();
      return;
    }
    this.#held = this.#options.holdBytes(this.#socket);
    if (response != null && !this.#held.tryAdd(rest.length)) {
      response.shouldKeepAlive = false;
      response.once("finish", () => this.#socket.destroySoon());
      this.#discard();
      return;
    }
    const wait = () => this.#options.turns.wait(() => this.#continue());
    if (response == null) wait();
    else response.once("finish", wait);
    this.#socket.once("close", this.#release);
  }

  readonly #release = (): void => {
    this.#held?.release();
    this.#held = undefined;
    this.#socket.off("close", this.#release);
  };

  /** Begins the next request. */
  #continue(): void {
    const following = this.#following;
    const rest = this.#rest;
    this.#release();
    this.#following = undefined;
    this.#rest = emptyBytes;
    if (following === undefined || !this.#isOpen()) return;
    if ("error" in following) {
      this.#noteParsed(following.error);
      return;
    }
    const { request, keepsAlive, overdue } = following;
    this.#parser.resume();
    this.#begin(request, keepsAlive);
    if (!this.#isOpen()) return;
    this.#afterParsing(this.#parser.execute(rest), rest);
    if (overdue !== undefined && !request.complete) this.#restartTimeout(request, overdue);
    if (this.#following !== undefined) return;
    this.#socket.resume();
    const response = this.#isAnswering() ? this.#socket._httpMessage : undefined;
    if (response == null) this.#isPipelining = false;
    else response.once("finish", () => this.#endPipelining());
  }

  #endPipelining(): void {
    if (this.#following !== undefined) return;
    this.#isPipelining = false;
    this.#endLater?.();
  }

  /** The time-out of Node.js ran out while the request waited for its turn. */
  #restartTimeout(request: IncomingMessage, error: Error): void {
    const timer = setTimeout(() => {
      if (!request.complete && this.#isOpen()) this.#noteParsed(error as ParseResult & Error);
    }, this.#options.requestTimeoutMs).unref();
    request.once("close", () => clearTimeout(timer));
  }

  #becomeReceiver(): void {
    const socket = this.#socket;
    this.#isReceiver = true;
    for (const listener of listenersOf(socket, "data", /^bound socketOnData$/)) socket.off("data", listener);
    socket.on("data", (bytes: Buffer) => this.#receive(bytes)); // makes Node.js stop reading in the parser
    // Node.js closes a connection that its client half-closes. Requests that were sent before must be answered first.
    for (const listener of listenersOf(socket, "end", /^bound socketOnEnd$/)) {
      socket.off("end", listener);
      socket.on("end", () => {
        if (this.#isPipelining) this.#endLater = listener;
        else listener();
      });
    }
  }

  #receive(bytes: Buffer): void {
    if (this.#isDiscarding || this.#socket.parser !== this.#parser) return;
    if (this.#following === undefined) this.#afterParsing(this.#parser.execute(bytes), bytes);
    else this.#rest = Buffer.concat([this.#rest, bytes]);
  }

  #discard(): void {
    this.#isDiscarding = true;
    this.#isPipelining = false;
    this.#following = undefined;
    this.#rest = emptyBytes;
    this.#release();
    this.#socket.resume(); // a paused socket would not notice that the client disconnects
    this.#endLater?.();
  }
}

/** Has allocated memory, because the parser takes an empty buffer without any for the end of the connection. */
const emptyBytes = Buffer.alloc(1).subarray(1);
