import type { Socket } from "node:net";
import { STATUS_CODES } from "../lib/node-http.ts";
import type { HeaderValue, ResponseEvent, ResponseHandle } from "./messages.ts";

/** The response to a request of the fast path: one write with its head and its whole body. */
export class FastResponse implements ResponseHandle {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  readonly #socket: Socket;
  readonly #keepAliveLines: string;
  readonly #onAnswered: () => void;
  #listeners: { readonly event: ResponseEvent; readonly listener: (this: ResponseHandle) => void }[] = [];
  #head = "";
  #closes = false;
  #onTimeout: (() => void) | undefined;

  /**
   * @param keepAliveLines the lines of a head that tell the client how long the connection stays open
   * @param onAnswered runs when the operating system has taken the response, and the connection stays open
   */
  constructor(socket: Socket, keepAliveLines: string, onAnswered: () => void) {
    this.#socket = socket;
    this.#keepAliveLines = keepAliveLines;
    this.#onAnswered = onAnswered;
  }

  on(event: ResponseEvent, listener: (this: ResponseHandle) => void): void {
    this.#listeners.push({ event, listener });
  }

  /** Each event happens once. */
  once(event: ResponseEvent, listener: (this: ResponseHandle) => void): void {
    this.on(event, listener);
  }

  off(event: ResponseEvent, listener: (this: ResponseHandle) => void): void {
    this.#listeners = this.#listeners.filter((each) => each.event !== event || each.listener !== listener);
  }

  writeHead(status: number, headers: Readonly<Record<string, HeaderValue>>): this {
    this.#closes = headers["connection"] === "close";
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Unknown"}\r\n`;
    for (const name in headers) head += `${name}: ${requirePrintable(name, headers[name])}\r\n`;
    this.#head = `${head}Date: ${currentDate()}\r\n${this.#closes ? "" : this.#keepAliveLines}\r\n`;
    this.statusCode = status;
    this.headersSent = true;
    return this;
  }

  end(body: string | Buffer = "", encoding: "latin1" | "utf8" = "latin1"): void {
    const socket = this.#socket;
    this.writableEnded = true;
    if (this.destroyed || !socket.writable) {
      this.#emit("error"); // the client has disconnected
      return;
    }
    if (typeof body === "string") socket.write(this.#head + body, encoding);
    else socket.write(Buffer.concat([Buffer.from(this.#head), body]));
    if (socket.writableLength === 0) this.#finish();
    else socket.write("", () => this.#finish());
  }

  /** Runs `listener` when nothing has been sent or received for `ms`. */
  setTimeout(ms: number, listener: () => void): void {
    this.#stopTimeout();
    this.#onTimeout = listener;
    this.#socket.setTimeout(ms, listener);
  }

  destroy(): void {
    this.#socket.destroy();
    this.disconnected();
  }

  /** Runs when the connection has closed before the response was sent. */
  disconnected(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#emit("close");
  }

  #finish(): void {
    if (this.destroyed || this.#socket.errored !== null) return;
    this.#stopTimeout();
    this.writableFinished = true;
    this.#emit("finish");
    this.destroyed = true;
    this.#emit("close");
    if (this.#closes) this.#socket.destroySoon();
    else this.#onAnswered();
  }

  #emit(event: ResponseEvent): void {
    for (const each of this.#listeners) if (each.event === event) each.listener.call(this);
  }

  #stopTimeout(): void {
    if (this.#onTimeout === undefined) return;
    this.#socket.off("timeout", this.#onTimeout).setTimeout(0);
    this.#onTimeout = undefined;
  }
}

/** @throws TypeError for a value that could end its line; unlike node:http also for Latin-1, which no header here contains */
function requirePrintable(name: string, value: HeaderValue | undefined): HeaderValue | undefined {
  if (typeof value === "string" && !/^[\t -~]*$/.test(value)) throw new TypeError(`The value of ${name} is not ASCII.`);
  return value;
}

let date = "";
let dateEnds = 0;

/** The value of the header Date, which changes once a second. */
function currentDate(): string {
  const now = Date.now();
  if (now >= dateEnds || now < dateEnds - 1_000) {
    date = new Date(now).toUTCString();
    dateEnds = now - (now % 1_000) + 1_000;
  }
  return date;
}
