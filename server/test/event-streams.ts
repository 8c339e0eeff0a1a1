import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";

/** A message of a stream, as EventSource would report it. */
export interface StreamMessage {
  /** Empty for an event of the log. */
  readonly event: string;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: data of every kind, whose content is asserted
  readonly data: any;
}

/** A client of a stream, which keeps what it receives. */
export interface TestStream {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** Everything that was received, as text. */
  readonly text: string;
  readonly messages: readonly StreamMessage[];
  /** The id that a client would send when it connects again. */
  readonly lastId: string | undefined;
  readonly isClosed: boolean;
  /** The next message that a test has not taken yet, once it is there. */
  next(): Promise<StreamMessage>;
  /** Messages up to the first one that fits, which is the last. */
  until(isLast: (message: StreamMessage) => boolean): Promise<StreamMessage[]>;
  /** Resolves when the server has ended the stream, or its connection was cut. */
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
  let rest = "";
  let lastId: string | undefined;
  let taken = 0;
  let isClosed = false;
  let wake = () => {};
  incoming.setEncoding("utf8");
  incoming.on("data", (chunk: string) => {
    text += chunk;
    rest += chunk;
    for (let end = rest.indexOf("\n\n"); end !== -1; end = rest.indexOf("\n\n")) {
      const message = parseMessage(rest.slice(0, end));
      rest = rest.slice(end + 2);
      lastId = message.id ?? lastId;
      if (message.data !== undefined) messages.push(message);
    }
    wake();
  });
  const close = () => {
    isClosed = true;
    wake();
  };
  incoming.on("close", close).on("error", close);
  outgoing.on("error", () => {}); // the response reports it as well

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

function parseMessage(block: string): StreamMessage {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const data = fields.get("data");
  return {
    event: fields.get("event") ?? "",
    id: fields.get("id"),
    data: data === undefined ? undefined : JSON.parse(data),
  };
}
