/** Clients of `faults/pipelines.ts` that send many requests at once, in a process of their own. */
import { connect as connectPlain, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { answerRequests } from "../testkit/worker.ts";

export interface PipeliningOrder {
  readonly port: number;
  readonly isSecure: boolean;
  readonly connections: number;
  /** What each connection sends at once, in turns. */
  readonly sent: readonly string[];
  /** Clients that read receive all answers first. */
  readonly reads: boolean;
  readonly msMax: number;
}

export interface PipeliningReport {
  readonly answers: number;
  readonly tookMs: number;
}

/** How many connections are opened at a time, as clients that start by themselves would. */
const opensAtOnce = 50;
const statusLine = /HTTP\/1\.1 \d\d\d /g;

answerRequests<PipeliningOrder, PipeliningReport>(async ({ port, isSecure, connections, sent, reads, msMax }) => {
  const startedAt = performance.now();
  const sockets: Socket[] = [];
  let [answers, open] = [0, 0];
  for (let count = 0; count < connections; count += 1) {
    const socket = isSecure
      ? connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false })
      : connectPlain(port, "127.0.0.1");
    sockets.push(socket);
    open += 1;
    socket.on("error", () => {}); // "close" follows
    socket.on("close", () => {
      open -= 1;
    });
    socket.end(sent[count % sent.length] ?? "");
    if (reads) {
      socket.setEncoding("latin1").on("data", (text: string) => {
        answers += text.match(statusLine)?.length ?? 0; // a few are cut by the ends of texts
      });
    } else socket.pause();
    if (sockets.length % opensAtOnce === 0) await sleep(1);
  }
  while (open > 0 && performance.now() - startedAt < msMax) await sleep(20);
  const tookMs = performance.now() - startedAt;
  for (const socket of sockets) socket.destroy();
  return { answers, tookMs };
});
