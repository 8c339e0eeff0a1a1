import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { dataPart, formHeaders, formOf } from "../server/test/uploads.ts";
import { createDeployment, type Deployment } from "../testkit/deployment.ts";
import { signUp } from "../testkit/people.ts";
import { residentBytes } from "../testkit/processes.ts";
import { type RunningServer, startServer } from "../testkit/server.ts";
import { createApi } from "./api.ts";
import { compareOthers } from "./other-clients.ts";
import { Probes } from "./probes.ts";
import type { Scenario } from "./scenario.ts";
import type { Tally } from "./tally.ts";

const requestMs = 3_000;
const calmMs = 1_500;
const attackMs = 6_000;
const patienceMs = 20_000;
const dripMs = 250;
const largeBytes = 8_000_000;
const residentGrowthMax = 250_000_000;
/** A wait that is short enough on any machine. */
const p99MsMax = 5_000;
/** The number of attackers that connect at the same time. */
const crowd = 50;

/** A misbehaving client: the number of them, the bytes that they send at first, and those that they send one by one. */
interface Attack {
  readonly name: string;
  readonly count: number;
  readonly first: string;
  readonly drip?: string;
  /** Reads no responses. */
  readonly readsNothing?: true;
  /** Whether the server may keep the connection, because it cannot distinguish it from a slow or idle client. */
  readonly mayStay?: true;
}

function attacksOn(token: string, file: string): Attack[] {
  const authorization = `Authorization: Service ${token}\r\n`;
  const post = `POST /metrics/events/a HTTP/1.1\r\nHost: a\r\n${authorization}`;
  const get = `GET ${file} HTTP/1.1\r\nHost: a\r\n${authorization}\r\n`;
  return [
    { name: "slow heads", count: 100, first: "GET /devices/current HTTP/1.1\r\n", drip: "X-A: b\r\n" },
    { name: "slow bodies", count: 100, first: `${post}Content-Length: 100000\r\n\r\n`, drip: " " },
    { name: "slow chunks", count: 50, first: `${post}Transfer-Encoding: chunked\r\n\r\n`, drip: "1\r\n \r\n" },
    { name: "bodies that stop", count: 100, first: `${post}Content-Length: 1000\r\n\r\n{` },
    { name: "bodies that go on", count: 100, first: `${post}Content-Length: 2\r\n\r\n{}${"garbage ".repeat(100)}` },
    { name: "endless heads", count: 50, first: `GET / HTTP/1.1\r\nX: ${"a".repeat(100_000)}` },
    { name: "clients that read nothing", count: 60, first: get.repeat(3), readsNothing: true, mayStay: true },
    { name: "clients that send nothing", count: 1_000, first: "" },
    {
      name: "clients that go idle",
      count: 1_000,
      first: "GET /service/ping HTTP/1.1\r\nHost: a\r\n\r\n",
      mayStay: true,
    },
  ];
}

export const slowClients: Scenario = {
  name: "slow and lying clients",
  promise: "other clients are served, memory stays flat, and the attackers' connections are closed",
  isTimed: true,
  findObstacle: () =>
    process.platform === "linux" ? undefined : "connections and memory can be measured on Linux only",
  async run(tally) {
    const deployment = await createDeployment({ REQUEST_TIMEOUT_MS: `${requestMs}` });
    const server = await startServer(deployment.settings);
    const attacks = await prepareAttacks(deployment, server, tally);
    const probes = await Probes.begin(deployment, server.port, tally);
    await sleep(calmMs);
    const [calmUntil, before, handles] = [performance.now(), residentBytes(server), openHandles(server)];
    const calm = probes.p99Ms(calmUntil - calmMs, calmUntil);

    const sockets: Attacker[] = [];
    for (const attack of attacks) {
      for (let count = 0; count < attack.count; count += 1) {
        sockets.push(begin(attack, server.port));
        if (sockets.length % crowd === 0) await untilAccepted(server, tally);
      }
    }
    tally.faults += sockets.length;
    await sleep(attackMs);
    const stays = ({ attack, isClosed }: Attacker) => !isClosed() && attack.mayStay === undefined;
    const deadline = performance.now() + patienceMs;
    while (sockets.some(stays) && performance.now() < deadline) await sleep(100);
    const p99 = probes.p99Ms(calmUntil, performance.now());
    const grown = residentBytes(server) - before;
    for (const { attack } of sockets.filter(stays)) tally.wrong.push(`${attack.name}: a connection is still open`);
    for (const { socket } of sockets) socket.destroy();
    await probes.end();
    await untilFreed(server, handles, tally);

    const attacked = { from: calmUntil, calmMs: calm, p99Ms: p99, grown };
    compareOthers(probes, attacked, { p99MsMax, residentGrowthMax }, tally);
    if ((await server.end("SIGTERM")) !== 0) tally.wrong.push("the server failed");
  },
};

/** Uploads the large file that the attackers do not read. */
async function prepareAttacks(deployment: Deployment, { port }: RunningServer, tally: Tally): Promise<Attack[]> {
  const api = createApi(port, tally, { isCounted: false });
  const { token } = await signUp(api, deployment, "attacker");
  const body = formOf([dataPart(Buffer.alloc(largeBytes))]);
  const file = await api.call("POST /blobs", { token, body, headers: formHeaders });
  api.close();
  return attacksOn(token, `/blobs/${file.body.result.id}/file`);
}

/** Waits until the server has accepted the attackers so far: the scenario does not test the listen backlog. */
async function untilAccepted({ port }: RunningServer, tally: Tally): Promise<void> {
  const api = createApi(port, tally, { isCounted: false });
  await api.call("GET /service/ping");
  api.close();
}

interface Attacker {
  readonly attack: Attack;
  readonly socket: Socket;
  isClosed(): boolean;
}

function begin(attack: Attack, port: number): Attacker {
  const socket = connect(port, "127.0.0.1");
  let isClosed = false;
  socket.on("error", () => {}); // "close" follows
  socket.write(attack.first);
  const { drip } = attack;
  const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip), dripMs);
  const end = () => {
    isClosed = true;
    clearInterval(dripping);
  };
  socket.on("end", end);
  socket.on("close", end);
  if (attack.readsNothing) socket.pause();
  else socket.resume();
  return { attack, socket, isClosed: () => isClosed };
}

async function untilFreed(server: RunningServer, handles: number, tally: Tally): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (openHandles(server) > handles && performance.now() < deadline) await sleep(50);
  const left = openHandles(server) - handles;
  if (left > 0) tally.wrong.push(`${left} connections were not closed`);
}

/** The number of files and sockets that the process has open. */
function openHandles({ pid }: RunningServer): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
