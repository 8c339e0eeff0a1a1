import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { between } from "../../lib/between.ts";
import type { Queries, SignalListener } from "../database.ts";
import { PostgresSession, type SessionOptions } from "./session.ts";

const channel = "rollcall_events";
/** The interval at which a listening connection is checked, because it would fail silently. */
const pingMs = 10_000;
const retryMsMin = 100;
const retryMsMax = 10_000;

export async function sendSignal(text: string, queries: Queries): Promise<void> {
  await sql`select pg_notify(${channel}, ${text})`.execute(queries);
}

/**
 * Listens over a connection of its own, outside of any transaction, which would hold back the queue of the server. A
 * connection that has broken, or has served long enough, is replaced.
 *
 * @returns a function that ends it
 */
export function listenToSignals(url: string, options: SessionOptions, listener: SignalListener): () => void {
  let session: PostgresSession | undefined;
  let isStopped = false;
  let retryMs = retryMsMin;
  const pinging = setInterval(ping, pingMs).unref();

  function connect(): void {
    const opened: PostgresSession = new PostgresSession(url, options, {
      onNotification: (text) => {
        if (!isStopped) listener.onSignal(text);
      },
      onEnd: () => {
        if (opened === session) void connectLater();
      },
    });
    session = opened;
    opened.run(`listen ${channel}`, []).then(
      () => {
        retryMs = retryMsMin;
        if (!isStopped) listener.onBegin();
      },
      () => opened.close(), // a standby, for example, refuses to listen
    );
  }

  async function connectLater(): Promise<void> {
    if (isStopped) return;
    const ms = between(retryMs / 2, retryMs);
    retryMs = Math.min(2 * retryMs, retryMsMax);
    await sleep(ms, undefined, { ref: false });
    if (!isStopped) connect();
  }

  function ping(): void {
    if (session === undefined || session.isBroken) return;
    if (session.isRetired) session.close();
    else session.run("select 1", []).catch(() => {}); // its end is noticed
  }

  connect();
  return () => {
    isStopped = true;
    clearInterval(pinging);
    session?.close();
  };
}
