import { Server } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";

/** Longer than a request takes to arrive from a client that sends one after the other. */
const keepAliveMsMax = 350;
/** The same, for the last connections. */
const lingerMsMax = 150;
/**
 * Clients of a worker that still serves open connections here, too. One that comes in the instant of the close is reset,
 * so the close waits until no more come.
 */
const quietMs = 25;
const pollMs = 10;
const ticksMax = 200;

/**
 * Keeps accepting connections for a moment: new connections, and requests on kept-alive ones, are answered with
 * `Connection: close`. Closing at once would reset them.
 */
export async function lingerOn(server: Server, graceMs: number): Promise<void> {
  await waitUntilUnused(server, quietMs, Math.min(keepAliveMsMax, graceMs));
  await waitUntilAccepted(server);
  Server.prototype.close.call(server); // an HTTP server's own close would also close idle connections
  await waitUntilUnused(server, 0, Math.min(lingerMsMax, graceMs));
}

/** Resolves when there are no connections and none has come for `forMs`, or after `withinMs`. */
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
