import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** A server that is to take leave of its clients. */
export interface Leaving {
  readonly server: Server;
  /** How many requests have been answered so far. */
  answers(): number;
  /** Listens no more, and closes the connections that are idle. Resolves when all of them are closed. */
  close(): Promise<void>;
  /** Drops the connections that are not yet ready for requests. */
  closeHandshakes(): void;
}

/** So long nobody comes and nothing is answered, before connections are closed. */
const quietMs = 100;
/** Clients that come again and again at once, whatever they are told, are not waited for. */
const leaveMsMax = 1_000;
const pollMs = 10;

/**
 * Lets requests in flight finish, and cuts what is left after `graceMs`.
 *
 * A connection is closed only when nothing has happened for a moment: clients send the next request as soon as they have
 * an answer, and what is on its way while its connection closes is lost. Until then there is somebody to tell them that the
 * server is going (see `isDraining`), also for those who are only about to connect: a listener that closes resets
 * whoever waits to be taken in.
 */
export async function drain(leaving: Leaving, graceMs: number): Promise<void> {
  const { server } = leaving;
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  let connections = 0;
  const count = () => {
    connections += 1;
  };
  for (const event of ["connection", "secureConnection"]) server.on(event, count);
  const stirs = () => connections + leaving.answers();

  await untilQuiet(stirs, Math.min(leaveMsMax, graceMs / 2));
  let isClosed = false;
  const closed = leaving.close().finally(() => {
    isClosed = true;
  });
  while (!isClosed) {
    await Promise.race([untilQuiet(stirs, leaveMsMax), closed]);
    server.closeIdleConnections();
    leaving.closeHandshakes();
  }
  await closed;
  clearTimeout(cut);
}

/** Resolves when this number has not changed for a moment, at last after `msMax`. */
async function untilQuiet(stirs: () => number, msMax: number): Promise<void> {
  const end = performance.now() + msMax;
  let last = stirs();
  let lastAt = performance.now();
  while (performance.now() < Math.min(end, lastAt + quietMs)) {
    await sleep(pollMs);
    if (stirs() === last) continue;
    last = stirs();
    lastAt = performance.now();
  }
}
