import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Stands between a process and PostgreSQL, and breaks connections where a network or a failover would. */
export interface PostgresProxy {
  /** The same database, through this. */
  readonly url: string;
  /** Ends every connection that there is; new ones are taken. */
  cut(): void;
  /** Ends every connection, and takes none until `open`. */
  close(): Promise<void>;
  open(): Promise<void>;
  /**
   * Once a client sends this text, its connection ends: before the server has got it, or with the server's answer. The
   * next `count` times.
   */
  cutAt(text: string, when: "before" | "answer", count: number): void;
}

export async function startPostgresProxy(target: string): Promise<PostgresProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let trap: { readonly text: string; readonly when: "before" | "answer"; left: number } | undefined;

  function takeTrap(chunk: Buffer | string, when: "before" | "answer"): boolean {
    if (trap === undefined || trap.when !== when || trap.left === 0 || !chunk.includes(trap.text)) return false;
    trap.left -= 1;
    return true;
  }

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let isDoomed = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
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
    client.on("data", (chunk) => {
      if (takeTrap(chunk, "before")) return end();
      isDoomed ||= takeTrap(chunk, "answer");
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (isDoomed) end();
      else client.write(chunk);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const taken = (server.address() as AddressInfo).port; // it listens on TCP
  const url = new URL(target);
  url.host = `127.0.0.1:${taken}`;

  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }
  return {
    url: url.href,
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
