import { Server } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";

/** Longer than a request takes to arrive from a client that sends one after the other. */
const keepAliveMsMax = 350;
/** The same, for the last connections. */
const lingerMsMax = 150;
const pollMs = 10;
const ticksMax = 200;

/**
 * Keeps accepting connections for a moment: new connections, and requests on kept-alive ones, are answered with
 * `Connection: close`. Closing at once would reset them. Takes no time when there are no connections.
 */
export async function lingerOn(server: Server, graceMs: number): Promise<void> {
  await waitUntilUnused(server, Math.min(keepAliveMsMax, graceMs));
  await waitUntilAccepted(server);
  Server.prototype.close.call(server); // an HTTP server's own close would also close idle connections
  await waitUntilUnused(server, Math.min(lingerMsMax, graceMs));
}

async function waitUntilUnused(server: Server, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs;
  while (performance.now() < until && (await connectionsOf(server)) > 0) await setTimeout(pollMs);
}

/** Connections in the accept queue are reset when the listener closes; Node accepts one per tick. */
async function waitUntilAccepted(server: Server): Promise<void> {
  let isQuiet = false;
  const onConnection = () => {
    isQuiet = false;
  };
  server.on("connection", onConnection);
  for (let ticks = 0; ticks < ticksMax && !isQuiet; ticks += 1) {
    isQuiet = true;
    await setImmediate();
    await setImmediate();
  }
  server.off("connection", onConnection);
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}
