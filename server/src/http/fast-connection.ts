import type { Socket } from "node:net";
import type { BrokenRequest } from "./broken-request.ts";
import { type FastHead, readFastHead } from "./fast-head.ts";
import { FastResponse } from "./fast-response.ts";
import type { FastRequest } from "./messages.ts";
import type { FoundTarget } from "./route-table.ts";
import { keepBytes, shareReads } from "./shared-reads.ts";

/** What all connections of a server have in common. */
export interface FastConnectionOptions {
  /** Longer heads are not for the fast path. */
  readonly headBytesMax: number;
  /** Longer bodies are not for the fast path. */
  readonly bodyBytesMax: number;
  /** How long the rest of a request may take before node:http takes over. */
  readonly restMsMax: number;
  readonly keepAliveLines: string;
  /** @returns undefined if the target is not for the fast path */
  find(method: string, url: string): FoundTarget | undefined;
  answer(request: FastRequest, response: FastResponse, found: FoundTarget): void;
  /**
   * Lets node:http read the connection, from these bytes on.
   *
   * @param hasBegun whether they begin with a request whose head arrived before the server began to shut down
   */
  handOver(connection: FastConnection, bytes: Buffer, hasBegun: boolean): void;
  refuse(error: BrokenRequest, connection: FastConnection): void;
  /** True while the process is shutting down. */
  isDraining(): boolean;
  onClose(connection: FastConnection): void;
}

interface BegunRequest {
  readonly head: FastHead;
  readonly found: FoundTarget;
  readonly isLate: boolean;
}

/** More bytes are not read while a response is pending. */
const heldBytesMax = 65_536;

/**
 * A connection whose requests are read here as long as each one is whole, short and unambiguous, and comes after the
 * response to the previous one. The first other one hands the connection over to node:http, for good.
 */
export class FastConnection {
  readonly socket: Socket;
  /** Since when it has been waiting for a request, in milliseconds of `performance.now()`. */
  idleSince = performance.now();
  /** Whether a request has been answered. */
  isUsed = false;
  readonly #options: FastConnectionOptions;
  /** What has arrived after the last request that was taken. */
  #held: Buffer | undefined;
  /** A request whose body has not arrived completely. */
  #begun: BegunRequest | undefined;
  #rest: NodeJS.Timeout | undefined;
  #response: FastResponse | undefined;
  /** What becomes of the bytes that arrive. */
  #reads: "requests" | "events" | "nothing" = "requests";

  constructor(socket: Socket, options: FastConnectionOptions) {
    this.socket = socket;
    this.#options = options;
    if (!shareReads(socket, this.#onBytes)) socket.on("data", this.#onData);
    socket.on("end", this.#onEnd).on("close", this.#onClose).on("error", ignore);
  }

  /** Whether it has neither a request that is arriving nor one that is being answered. */
  get isIdle(): boolean {
    return this.#response === undefined && this.#held === undefined;
  }

  /** Ignores what still arrives. */
  ignoreRest(): void {
    this.#reads = "nothing";
    this.#stopWaiting();
  }

  /** Leaves the connection to another reader, which receives what still arrives as events. */
  release(): void {
    this.#reads = "events";
    this.#stopWaiting();
    const { socket } = this;
    socket.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose).off("error", ignore);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (!this.#onBytes(chunk)) this.socket.pause();
  };

  /**
   * @param chunk valid until it returns
   * @returns false to stop reading until the connection is handed over
   */
  readonly #onBytes = (chunk: Buffer): boolean => {
    if (this.#reads === "nothing") return true;
    if (this.#reads === "events") return this.socket.push(keepBytes(chunk));
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    if (this.#response === undefined) this.#read(bytes);
    else this.#hold(bytes); // for node:http, once the response is sent
    return bytes.length <= heldBytesMax || this.#response === undefined;
  };

  #hold(bytes: Buffer): void {
    this.#held = keepBytes(bytes);
  }

  #read(bytes: Buffer): void {
    const begun = this.#begun ?? this.#begin(bytes);
    if (begun === undefined) return;
    const { headBytes, bodyBytes } = begun.head;
    const length = headBytes + bodyBytes;
    if (bytes.length === length) {
      this.#answer(begun, bytes);
    } else if (bytes.length > length) {
      this.#handOver(bytes); // node:http answers requests that arrive together, also if the client ends after them
    } else {
      this.#begun = begun;
      this.#awaitRest(bytes);
    }
  }

  /** @returns undefined if there is no whole head yet, or none for the fast path */
  #begin(bytes: Buffer): BegunRequest | undefined {
    const { headBytesMax, bodyBytesMax, find, isDraining } = this.#options;
    const start = bytes.toString("latin1", 0, Math.min(bytes.length, headBytesMax));
    if (start === "\r\n") {
      // Some clients end a body with an empty line; node:http would take it for a request that does not arrive in time.
      this.#held = undefined;
      this.#stopWaiting();
      return undefined;
    }
    const end = start.indexOf("\r\n\r\n");
    if (end === -1 && bytes.length < headBytesMax) {
      this.#awaitRest(bytes);
      return undefined;
    }
    const head = end === -1 ? undefined : readFastHead(bytes, start.slice(0, end + 4));
    const found = head === undefined || head.bodyBytes > bodyBytesMax ? undefined : find(head.method, head.url);
    if (head !== undefined && found !== undefined) return { head, found, isLate: isDraining() };
    this.#handOver(bytes);
    return undefined;
  }

  #answer({ head, found, isLate }: BegunRequest, bytes: Buffer): void {
    const { socket } = this;
    const { keepAliveLines, answer } = this.#options;
    const { method, url, headers, headBytes, bodyBytes } = head;
    const body = bodyBytes === 0 ? undefined : keepBytes(bytes.subarray(headBytes));
    this.#held = undefined;
    this.#begun = undefined;
    if (this.#rest !== undefined) this.#stopWaiting();
    const response = new FastResponse(socket, keepAliveLines, this.#onAnswered);
    this.#response = response;
    answer({ method, url, headers, socket, body, isLate }, response, found);
  }

  readonly #onAnswered = (): void => {
    this.#response = undefined;
    this.isUsed = true;
    this.idleSince = performance.now();
    if (this.#held !== undefined && !this.socket.readableEnded) this.#handOver(this.#held);
  };

  #awaitRest(bytes: Buffer): void {
    this.#hold(bytes);
    this.#rest ??= setTimeout(() => this.#handOver(this.#held ?? Buffer.of()), this.#options.restMsMax);
  }

  #stopWaiting(): void {
    clearTimeout(this.#rest);
    this.#rest = undefined;
  }

  #handOver(bytes: Buffer): void {
    this.#held = undefined;
    this.#options.handOver(this, keepBytes(bytes), this.#begun?.isLate === false);
  }

  /** Like node:http: a client that closes its side gives up what has not been answered. */
  readonly #onEnd = (): void => {
    this.#stopWaiting();
    if (this.#held !== undefined && this.#response === undefined) {
      this.#options.refuse({ code: "HPE_INVALID_EOF_STATE" }, this);
    } else {
      this.socket.end();
    }
  };

  readonly #onClose = (): void => {
    this.#stopWaiting();
    this.#options.onClose(this);
    this.#response?.disconnected();
  };
}

function ignore(): void {}
