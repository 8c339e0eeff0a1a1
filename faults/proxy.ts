import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Stands between the server and its database, as a network does. */
export interface NetworkProxy {
  /** The address of the database, by way of here. */
  readonly url: string;
  /** From now on nothing arrives any more, and nobody is told: neither on the connections that there are nor on new ones. */
  swallow(): void;
  /** New connections work again. Those of before stay silent for ever, as behind a firewall that has forgotten them. */
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
      from.on("error", () => {}); // a close follows
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

/** Bytes are taken and dropped; the end of one side is not told to the other. */
function silence([client, database]: readonly [Socket, Socket]): void {
  for (const socket of [client, database]) {
    socket.removeAllListeners("data");
    socket.removeAllListeners("close");
    socket.on("data", () => {});
  }
}
