import { connect } from "node:net";

/** A response: status 0 when the connection broke; the first part of the text of an error. */
export interface Answer {
  readonly status: number;
  readonly excerpt: string;
}

/** A keep-alive connection that has at most one request in progress. */
export interface Connection {
  /** @param request all its bytes, in ASCII */
  send(request: string): Promise<Answer>;
  readonly isBroken: boolean;
  close(): void;
}

const headEnd = "\r\n\r\n";
const excerptBytesMax = 300;

/** Connects to 127.0.0.1. Parses only what the benchmarks need: responses with a Content-Length. */
export function openConnection(port: number): Promise<Connection> {
  let isBroken = false;
  let resolveAnswer: ((answer: Answer) => void) | undefined;
  let answer: Answer | undefined;
  let missingBytes = 0;
  let head: Buffer | undefined; // an incomplete head

  function settle(settled: Answer): void {
    const resolve = resolveAnswer;
    resolveAnswer = undefined;
    answer = undefined;
    resolve?.(settled);
  }

  function takeHead(data: Buffer): void {
    const end = data.indexOf(headEnd);
    if (end === -1) {
      head = Buffer.from(data); // a copy, because the socket reuses its buffer
      return;
    }
    head = undefined;
    const text = data.toString("latin1", 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    const status = length === undefined ? 0 : Number(text.slice(9, 12));
    const excerpt = status >= 200 && status < 300 ? "" : data.toString("utf8", end + headEnd.length, excerptBytesMax);
    answer = { status, excerpt };
    missingBytes = end + headEnd.length + Number(length ?? 0) - data.length;
  }

  function read(bytes: number, buffer: Uint8Array): boolean {
    const chunk = Buffer.from(buffer.buffer, buffer.byteOffset, bytes);
    if (answer === undefined) takeHead(head === undefined ? chunk : Buffer.concat([head, chunk]));
    else missingBytes -= bytes;
    if (answer !== undefined && missingBytes <= 0) settle(answer);
    return true;
  }

  return new Promise((resolve, reject) => {
    const onread = { buffer: Buffer.allocUnsafe(65_536), callback: read };
    const socket = connect({ host: "127.0.0.1", port, noDelay: true, onread });
    function breakOff(error?: Error): void {
      isBroken = true;
      reject(error);
      settle({ status: 0, excerpt: error?.message ?? "closed by the server" });
    }
    socket.on("error", breakOff);
    socket.on("close", () => breakOff());
    socket.on("connect", () =>
      resolve({
        send(request) {
          if (isBroken) return Promise.resolve({ status: 0, excerpt: "closed by the server" });
          return new Promise((answered) => {
            resolveAnswer = answered;
            socket.write(request, "latin1");
          });
        },
        get isBroken() {
          return isBroken;
        },
        close: () => void socket.destroy(),
      }),
    );
  });
}
