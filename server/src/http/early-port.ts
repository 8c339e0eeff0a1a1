import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Reserves a port while the server is being built, so that a second server on the same port fails before it creates any
 * files. Connections are reset until the server itself listens.
 *
 * @returns a function that releases the port, to be called right before the server listens
 * @throws Error of the operating system: EADDRINUSE, EACCES, EADDRNOTAVAIL …
 */
export async function reservePort(host: string, port: number): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.resetAndDestroy());
  server.listen({ host, port });
  await once(server, "listening"); // rejects with the error of the operating system
  return () => new Promise((resolve) => server.close(() => resolve()));
}
