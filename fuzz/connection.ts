import { connect, type Socket } from "node:net";
import { parseAnswer } from "../testkit/raw-answers.ts";

/** A response, unchanged. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** The body as text. */
  readonly text: string;
  readonly ms: number;
}

export interface Exchange {
  readonly method: string;
  readonly bytes: Buffer;
  /** Ends the request after these bytes, whatever length it declared; the connection is not used again. */
  readonly isLast?: boolean;
}

/** The server closed the connection without a response. */
export const noAnswer = Symbol("no answer");
/** The response did not end within the timeout. */
export const tooLate = Symbol("too late");

const answerMsMax = 70_000;

/**
 * Sends exactly the given bytes, one request after the other, and parses responses strictly: HTTP libraries repair,
 * refuse or normalise the requests that a fuzzer has to send.
 */
export function createConnection(port: number) {
  let socket: Socket | undefined;
  let received: Buffer = Buffer.alloc(0);
  let isOver = false;
  let wake = () => {};

  function open(): Socket {
    received = Buffer.alloc(0);
    isOver = false;
    const opened = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    opened.on("data", (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      wake();
    });
    const end = () => {
      if (socket === opened) isOver = true;
      wake();
    };
    opened.on("end", end).on("close", end).on("error", end);
    return opened;
  }

  function close(): void {
    socket?.destroy();
    socket = undefined;
  }

  async function send({ method, bytes, isLast = false }: Exchange): Promise<Answer | typeof noAnswer | typeof tooLate> {
    if (isOver || (socket !== undefined && !socket.writable)) close();
    socket ??= open();
    received = Buffer.alloc(0);
    const startedAt = performance.now();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      wake();
    }, answerMsMax);
    if (isLast) socket.end(bytes);
    else socket.write(bytes);
    try {
      for (;;) {
        const parsed = parseAnswer(received, { isHead: method === "HEAD", isOver });
        if (parsed !== undefined) {
          const { bytes: body, text, status } = parsed;
          const headers = new Map(Object.entries(parsed.headers).map(([name, value]) => [name, `${value}`]));
          if (isLast || headers.get("connection") === "close") close();
          return { status, headers, body, text, ms: performance.now() - startedAt };
        }
        if (isOver || isLate) {
          close();
          return isLate ? tooLate : noAnswer;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      clearTimeout(timer);
    }
  }

  return { send, close };
}

export type Connection = ReturnType<typeof createConnection>;
