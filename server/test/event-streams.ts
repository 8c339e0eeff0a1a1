import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { createMessageReader, type StreamMessage } from "../../testkit/stream-messages.ts";

/** A client of a stream, which stores the received messages. */
export interface TestStream {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** All received bytes as a string. */
  readonly text: string;
  readonly messages: readonly StreamMessage[];
  /** The id that a client would send on reconnection. */
  readonly lastId: string | undefined;
  readonly isClosed: boolean;
  /** Waits for the next message, in order. */
  next(): Promise<StreamMessage>;
  /** Waits for messages up to the first match, and includes it. */
  until(isLast: (message: StreamMessage) => boolean): Promise<StreamMessage[]>;
  /** Resolves when the server has closed the stream, or its connection was cut. */
  closed(): Promise<void>;
  pause(): void;
  resume(): void;
  cut(): void;
}

const waitMs = 60_000;

/** @param path `/events/stream` with its query */
export async function openStream(
  port: number,
  path: string,
  { token, headers = {} }: { token?: string; headers?: Record<string, string> } = {},
): Promise<TestStream> {
  const outgoing = request({
    port,
    host: "127.0.0.1",
    path,
    agent: false,
    headers: { ...(token !== undefined && { authorization: `Service ${token}` }), ...headers },
  }).end();
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  return createStream(outgoing, incoming);
}

function createStream(outgoing: ClientRequest, incoming: IncomingMessage): TestStream {
  const messages: StreamMessage[] = [];
  let text = "";
  let lastId: string | undefined;
  let taken = 0;
  let isClosed = false;
  let wake = () => {};
  const read = createMessageReader((message) => {
    lastId = message.id ?? lastId;
    if (message.data !== undefined) messages.push(message);
  });
  incoming.setEncoding("utf8");
  incoming.on("data", (chunk: string) => {
    text += chunk;
    read(chunk);
    wake();
  });
  const close = () => {
    isClosed = true;
    wake();
  };
  incoming.on("close", close).on("error", close);
  outgoing.on("error", () => {}); // also reported by the response

  async function waitUntil(isReached: () => boolean, what: string): Promise<void> {
    const endsAt = performance.now() + waitMs;
    while (!isReached()) {
      if (performance.now() > endsAt) throw new Error(`${what} did not come; received: ${text.slice(-2_000)}`);
      const timer = setTimeout(() => wake(), 1_000);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      clearTimeout(timer);
    }
  }

  const stream: TestStream = {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    get text() {
      return text;
    },
    messages,
    get lastId() {
      return lastId;
    },
    get isClosed() {
      return isClosed;
    },
    async next() {
      await waitUntil(() => messages.length > taken || isClosed, "a message");
      const message = messages[taken];
      if (message === undefined) throw new Error(`The stream ended: ${text.slice(-2_000)}`);
      taken += 1;
      return message;
    },
    async until(isLast) {
      const found: StreamMessage[] = [];
      for (;;) {
        const message = await stream.next();
        found.push(message);
        if (isLast(message)) return found;
      }
    },
    closed: () => waitUntil(() => isClosed, "the end of the stream"),
    pause: () => void incoming.pause(),
    resume: () => void incoming.resume(),
    cut: () => void outgoing.destroy(),
  };
  return stream;
}
