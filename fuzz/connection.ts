import { connect, type Socket } from "node:net";

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
        const parsed = parseAnswer(received, method, isOver);
        if (parsed !== undefined) {
          if (isLast || parsed.headers.get("connection") === "close") close();
          return { ...parsed, ms: performance.now() - startedAt };
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

/** @returns undefined while the response is incomplete */
function parseAnswer(received: Buffer, method: string, isOver: boolean): Omit<Answer, "ms"> | undefined {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [statusLine = "", ...lines] = received.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1] ?? 0);
  const rest = received.subarray(headEnd + 4);
  if (status >= 100 && status < 200) return parseAnswer(rest, method, isOver);
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const body = parseBody(rest, headers, method === "HEAD" || status === 204 || status === 304, isOver);
  return body && { status, headers, body, text: body.toString("utf8") };
}

function parseBody(
  rest: Buffer,
  headers: ReadonlyMap<string, string>,
  isEmpty: boolean,
  isOver: boolean,
): Buffer | undefined {
  if (isEmpty) return Buffer.alloc(0);
  const length = headers.get("content-length");
  if (length !== undefined) return rest.length >= Number(length) ? rest.subarray(0, Number(length)) : undefined;
  if (headers.get("transfer-encoding") === "chunked") return parseChunks(rest);
  return isOver ? rest : undefined;
}

function parseChunks(rest: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf("\r\n", at);
    if (lineEnd === -1) return undefined;
    const length = Number.parseInt(rest.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + length;
    if (rest.length < end + 2) return undefined;
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(rest.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}
