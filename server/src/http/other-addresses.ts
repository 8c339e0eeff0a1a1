import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { createServer, type ListenOptions, type Server } from "node:net";

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
