import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { findFreePort } from "../../testkit/free-port.ts";

/** A proxy between a process and PostgreSQL that breaks connections like a network fault or a failover. */
export interface PostgresProxy {
  /** The URL of the same database through the proxy. */
  readonly url: string;
  /** The highest number of concurrent connections. */
  readonly peak: () => number;
  /** Closes every existing connection; accepts new ones. */
  cut(): void;
  /** Closes every connection, and accepts none until `open`. */
  close(): Promise<void>;
  open(): Promise<void>;
  /**
   * When a client sends this text, breaks its connection, `count` times: `before` the server receives it, with the
   * server's response, or after the first row of that. `silent` leaves the connection open and forwards no more bytes;
   * `forgotten` forwards the text, but nothing after it, not even the close of the connection.
   */
  cutAt(text: string, when: Trap, count: number): void;
}

type Trap = "before" | "answer" | "first row" | "silent" | "forgotten";

/** @param delayMs how long a new connection takes to reach the server */
export async function startPostgresProxy(target: string, delayMs = 0): Promise<PostgresProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let peak = 0;
  let trap: { readonly text: string; readonly when: Trap; left: number } | undefined;

  function takeTrap(chunk: Buffer | string, when: Trap): boolean {
    if (trap === undefined || trap.when !== when || trap.left === 0 || !chunk.includes(trap.text)) return false;
    trap.left -= 1;
    return true;
  }

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let isDoomed = false;
    let isSilent = false;
    let isForgotten = false;
    let endsAfterRow = false;
    const end = () => {
      client.destroy();
      if (!isForgotten) upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", end);
      socket.on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    peak = Math.max(peak, sockets.size / 2);
    setTimeout(() => client.resume(), delayMs);
    client.pause().on("data", (chunk) => {
      if (takeTrap(chunk, "before")) return end();
      isDoomed ||= takeTrap(chunk, "answer");
      endsAfterRow ||= takeTrap(chunk, "first row");
      isSilent ||= takeTrap(chunk, "silent");
      if (!isSilent) upstream.write(chunk);
      isSilent ||= isForgotten ||= takeTrap(chunk, "forgotten");
    });
    upstream.on("data", (chunk: Buffer) => {
      if (isDoomed) return end();
      const rowEnd = endsAfterRow ? endOfFirstRow(chunk) : undefined;
      if (rowEnd !== undefined) client.end(chunk.subarray(0, rowEnd), end);
      else if (!isSilent) client.write(chunk);
    });
  });
  const taken = await findFreePort();
  server.listen(taken, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.host = `127.0.0.1:${taken}`;

  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }
  return {
    url: url.href,
    peak: () => peak,
    cut,
    async close() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
    async open() {
      server.listen(taken, "127.0.0.1");
      await once(server, "listening");
    },
    cutAt(text, when, count) {
      trap = { text, when, left: count };
    },
  };
}

/** The end of the first row among complete messages. */
function endOfFirstRow(messages: Buffer): number | undefined {
  for (let at = 0; at < messages.length; ) {
    const end = at + 1 + messages.readUInt32BE(at + 1);
    if (messages[at] === "D".charCodeAt(0)) return end;
    at = end;
  }
  return undefined;
}
