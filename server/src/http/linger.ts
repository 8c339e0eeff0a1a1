import { Server } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";

/** Longer than the gap between the requests of a client that sends one after the other. */
const keepAliveMsMax = 350;
/** The same, after the listener has closed. */
const lingerMsMax = 150;
/**
 * With several workers, the operating system may still assign connections to this one. A connection that arrives during
 * the close is reset, so the close waits until none has arrived for this long.
 */
const quietMs = 25;
const pollMs = 10;
const ticksMax = 200;

/**
 * Accepts connections for a moment longer, and answers requests on new and keep-alive connections with `Connection:
 * close`. Closing immediately would reset them.
 */
export async function lingerOn(server: Server, graceMs: number): Promise<void> {
  await waitUntilUnused(server, quietMs, Math.min(keepAliveMsMax, graceMs));
  await waitUntilAccepted(server);
  Server.prototype.close.call(server); // an HTTP server's own close would also close idle connections
  await waitUntilUnused(server, 0, Math.min(lingerMsMax, graceMs));
}

/** Resolves when no connection is open and none has arrived for `forMs`, or after `withinMs`. */
async function waitUntilUnused(server: Server, forMs: number, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs;
  let quietSince = performance.now();
  const onConnection = () => {
    quietSince = performance.now();
  };
  server.on("connection", onConnection);
  for (let now = quietSince; now < until; now = performance.now()) {
    if (now - quietSince >= forMs && (await connectionsOf(server)) === 0) break;
    await setTimeout(pollMs);
  }
  server.off("connection", onConnection);
}

/** Closing the listener resets the connections in its accept queue, from which Node.js accepts one per tick. */
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
