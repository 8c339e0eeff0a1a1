import { setTimeout as sleep } from "node:timers/promises";
import { createDeployment } from "../testkit/deployment.ts";
import { residentBytes } from "../testkit/processes.ts";
import { startServer } from "../testkit/server.ts";
import { startWorker } from "../testkit/worker.ts";
import { compareOthers } from "./other-clients.ts";
import type { PipeliningOrder, PipeliningReport } from "./pipelining-clients.ts";
import { Probes } from "./probes.ts";
import type { Scenario } from "./scenario.ts";

const calmMs = 2_000;
const readMsMax = 60_000;
const unreadMs = 6_000;
const repetitions = 1_500;
/** Of a process that serves at most one of the requests of each connection. */
const residentGrowthMax = 150_000_000;
/** A wait that is short enough on a busy machine. */
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
    const [calmUntil, before] = [performance.now(), residentBytes(server)];
    const calm = probes.p99Ms(calmUntil - calmMs, calmUntil);
    let grown = 0;
    for (const attack of attacks) {
      const clients = startWorker<PipeliningOrder, PipeliningReport>(
        import.meta.resolve("./pipelining-clients.ts"),
        {},
      );
      const { answers } = await clients.ask({ port: server.port, isSecure: false, ...attack });
      grown = Math.max(grown, residentBytes(server) - before);
      await clients.end();
      tally.faults += attack.connections;
      if (attack.reads) tally.remarks.push(`${answers} answers`);
    }
    const p99 = probes.p99Ms(calmUntil, performance.now());
    await probes.end();
    const attacked = { from: calmUntil, calmMs: calm, p99Ms: p99, grown };
    compareOthers(probes, attacked, { p99MsMax, residentGrowthMax }, tally);
    if ((await server.end("SIGTERM")) !== 0) tally.wrong.push("the server failed");
  },
};
