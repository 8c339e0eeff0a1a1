import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { startWorker } from "../bench/worker.ts";
import { createDeployment } from "./deployment.ts";
import type { PipeliningOrder, PipeliningReport } from "./pipelining-clients.ts";
import { Probes } from "./probes.ts";
import type { Scenario } from "./scenario.ts";
import { startServer } from "./server.ts";

const calmMs = 2_000;
const readMsMax = 60_000;
const unreadMs = 6_000;
const repetitions = 1_500;
/** Of a process that serves at most one of the requests of each connection. */
const residentGrowthMax = 150_000_000;
/** The factor by which other clients may wait longer, and a wait that is short enough on a busy machine. */
const p99FactorMax = 20;
const p99MsMax = 1_000;

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const body = JSON.stringify({ appid: "nothing", text: get("/service/ping").repeat(20) });
const post = `POST /devices HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Clients that read their answers, and clients that do not. */
const attacks = [
  { connections: 100, sent: [get("/service/ping").repeat(repetitions)], reads: true, msMax: readMsMax },
  {
    connections: 300,
    sent: ["/service/ping", "/_/openapi.json", "/nowhere"]
      .map((path) => get(path).repeat(repetitions))
      .concat(post.repeat(repetitions / 20), `${get("/service/ping").repeat(repetitions)}no request\r\n\r\n`),
    reads: false,
    msMax: unreadMs,
  },
];

export const pipelines: Scenario = {
  name: "thousands of requests at once",
  promise: "other clients are served beside connections that pipeline requests, and memory stays flat",
  isTimed: true,
  findObstacle: () => (process.platform === "linux" ? undefined : "memory can be measured on Linux only"),
  async run(tally) {
    const deployment = await createDeployment();
    const server = await startServer(deployment.settings);
    const probes = await Probes.begin(deployment, server.port, tally);
    await sleep(calmMs);
    const [calmUntil, before] = [performance.now(), residentBytes(server.pid)];
    const calm = probes.p99Ms(calmUntil - calmMs, calmUntil);
    let grown = 0;
    for (const attack of attacks) {
      const clients = startWorker<PipeliningOrder, PipeliningReport>(
        import.meta.resolve("./pipelining-clients.ts"),
        {},
      );
      const { answers } = await clients.ask({ port: server.port, isSecure: false, ...attack });
      grown = Math.max(grown, residentBytes(server.pid) - before);
      await clients.end();
      tally.faults += attack.connections;
      if (attack.reads) tally.remarks.push(`${answers} answers`);
    }
    const p99 = probes.p99Ms(calmUntil, performance.now());
    await probes.end();
    const refused = probes.failuresSince(calmUntil);
    tally.checks += probes.successes(calmUntil, performance.now()).length + refused;
    if (refused > 0) tally.wrong.push(`${refused} calls of other clients failed`);
    if (p99 > Math.max(p99MsMax, p99FactorMax * calm)) tally.wrong.push(`others waited ${p99.toFixed(0)} ms (p99)`);
    if (grown > residentGrowthMax) tally.wrong.push(`memory grew by ${(grown / 1e6).toFixed(0)} MB`);
    tally.remarks.push(
      `p99 of others ${calm.toFixed(0)} → ${p99.toFixed(0)} ms`,
      `${(grown / 1e6).toFixed(0)} MB more`,
    );
    if ((await server.end("SIGTERM")) !== 0) tally.wrong.push("the server failed");
  },
};

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}
