import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A network between the server and its database. */
export interface NetworkProxy {
  /** The URL of the database through the proxy. */
  readonly url: string;
  /** Drops all bytes from now on, silently, on existing connections and on new ones. */
  swallow(): void;
  /** Lets new connections work again. Existing ones stay silent, as behind a firewall that has lost their state. */
  heal(): void;
  /** Resets all connections. */
  reset(): void;
  close(): void;
}

export async function startProxy(target: string): Promise<NetworkProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<readonly [Socket, Socket]>();
  let isSwallowing = false;
  const server = createServer((client) => {
    const database = connect(Number(port), hostname);
    const pair = [client, database] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [database, client] as const]) {
      from.setNoDelay(true);
      from.on("data", (bytes) => void to.write(bytes));
      from.on("error", () => {}); // "close" follows
      from.on("close", () => {
        pairs.delete(pair);
        to.destroy();
      });
    }
    if (isSwallowing) silence(pair);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.port = `${(server.address() as AddressInfo).port}`; // it listens on TCP
  return {
    url: url.href,
    swallow() {
      isSwallowing = true;
      for (const pair of pairs) silence(pair);
    },
    heal() {
      isSwallowing = false;
    },
    reset() {
      for (const [client] of pairs) client.resetAndDestroy();
    },
    close() {
      server.close();
      for (const [client] of pairs) client.destroy();
    },
  };
}

/** Forwards the bytes, or drops them; the end of one side is not passed on to the other. */
function silence([client, database]: readonly [Socket, Socket]): void {
  for (const socket of [client, database]) {
    socket.removeAllListeners("data");
    socket.removeAllListeners("close");
    socket.on("data", () => {});
  }
}
