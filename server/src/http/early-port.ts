import { once } from "node:events";
import { createServer } from "node:net";

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
