import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { createServer, isIPv6, type ListenOptions, type Server } from "node:net";
import { setFlagsFromString } from "node:v8";

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Reserves ports while the server is being built, so that a second server on the same port fails before it creates any
 * files or tables. Connections are reset until the server itself listens. Ignores port 0, for which the operating
 * system chooses a port.
 *
 * @returns a function that releases the ports; call it right before the server listens. It is idempotent
 * @throws Error of the operating system: EADDRINUSE, EACCES, EADDRNOTAVAIL …
 */
export async function reservePorts(addresses: readonly Address[]): Promise<() => Promise<void>> {
  const reserved: (() => Promise<void>)[] = [];
  const release = async () => void (await Promise.all(reserved.splice(0).map((each) => each())));
  try {
    for (const address of addresses) if (address.port !== 0) reserved.push(await reservePort(address));
  } catch (error) {
    await release();
    throw error;
  }
  return release;
}

async function reservePort(address: Address): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.resetAndDestroy());
  server.listen({ ...address });
  await once(server, "listening"); // rejects with the error of the operating system
  return () => new Promise((resolve) => server.close(() => resolve()));
}

/**
 * Listens on the remaining addresses of `localhost`, which has an IPv4 and an IPv6 address: Node.js listens only on the
 * first, and clients may try either. Does nothing for other hosts. Ignores an address that it cannot listen on.
 *
 * @returns a function that stops listening, and resolves when these connections are closed
 */
export async function listenOnOtherAddresses(
  main: HttpServer,
  options: ListenOptions & { readonly host: string },
): Promise<() => Promise<void>> {
  const servers: Server[] = [];
  const own = main.address();
  if (options.host === "localhost" && typeof own === "object") {
    for (const { address } of await lookup(options.host, { all: true })) {
      if (address === own?.address) continue;
      const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => main.emit("connection", socket));
      server.listen({ ...options, host: address });
      await once(server, "listening").then(
        () => servers.push(server),
        () => {},
      );
    }
  }
  return async () => {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  };
}

/**
 * Compiles the IPv6 pattern of Node.js, which it applies to each address that it listens on, without optimizing it: the
 * optimization takes V8 about 3 % of the start-up time, and otherwise runs before the first use.
 */
export function compileAddressPattern(): void {
  setFlagsFromString("--no-regexp-optimization");
  isIPv6("::1");
  setFlagsFromString("--regexp-optimization"); // V8's default
}
