import { Server } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";

/** Longer than a request is on its way, from a client that sends one after the other. */
const tellMsMax = 350;
/** The same for who came last. */
const lingerMsMax = 150;
const lookAgainMs = 10;
const turnsMax = 200;

/**
 * Goes on taking connections for a moment: who comes, and who is about to send the next request over one that is there, is
 * answered, and told to close it. Closed under their hands, it would be reset. Then nobody listens any more, and who came
 * last has a moment, too. Where there is no connection it takes no time.
 */
export async function lingerOn(server: Server, graceMs: number): Promise<void> {
  await untilUnused(server, Math.min(tellMsMax, graceMs));
  await untilAccepted(server);
  Server.prototype.close.call(server); // an HTTP server's own would close the idle connections as well
  await untilUnused(server, Math.min(lingerMsMax, graceMs));
}

async function untilUnused(server: Server, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs;
  while (performance.now() < until && (await connectionsOf(server)) > 0) await setTimeout(lookAgainMs);
}

/** Connections that wait to be accepted are reset when nobody listens any more; one is accepted in each turn. */
async function untilAccepted(server: Server): Promise<void> {
  let isQuiet = false;
  const note = () => {
    isQuiet = false;
  };
  server.on("connection", note);
  for (let turns = 0; turns < turnsMax && !isQuiet; turns += 1) {
    isQuiet = true;
    await setImmediate();
    await setImmediate();
  }
  server.off("connection", note);
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}
