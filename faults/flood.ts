import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fastFolder } from "../scripts/fast-folder.ts";
import { readOpenFilesMax } from "../server/src/http/http-server.ts";
import { dataPart, formHeaders, formOf } from "../server/test/uploads.ts";
import { createDeployment } from "../testkit/deployment.ts";
import { signUp } from "../testkit/people.ts";
import { readMemory } from "../testkit/processes.ts";
import { type RunningServer, startServer } from "../testkit/server.ts";
import { createApi } from "./api.ts";
import { Probes } from "./probes.ts";
import type { Scenario } from "./scenario.ts";
import type { Tally } from "./tally.ts";

const calmMs = 3_000;
const clients = 1_000;
const bodyBytes = 1_000_000;
const pages = 1_200;
const rowsOfPage = 1_000;
const uploads = 200;
const uploadBytes = 2_000_000;
/** Each request is sent in this many pieces, so that all of them are in progress at once. */
const pieces = 8;
const pauseMs = 300;
const answersMs = 20_000;
/** Bodies that stop just before their end: fewer if they would take more than this share of the open files. */
const slowBodies = 12_000;
const shareOfOpenFiles = 2 / 3;
const slowBodyBytes = 16_000;
const unsentBytes = 10;
/** How many connections are opened at a time, which is less than a listener queues. */
const crowd = 100;
const holdMs = 5_000;
const relaxMs = 60_000;
const residentGrowthMax = 100_000_000;
/**
 * A sixth of the bytes that the flood requests. Most of the growth is garbage of the pages that were built, which V8
 * collects late on a machine with free memory.
 */
const peakGrowthMax = 800_000_000;

/** Holds as much of the server's memory as clients can, all at the same time. */
export const flood: Scenario = {
  name: "flood of large bodies",
  promise: "what exceeds the limit gets 503, other clients are served, and memory returns to its former size",
  isTimed: true,
  findObstacle: () => (process.platform === "linux" ? undefined : "memory can be measured on Linux only"),
  async run(tally) {
    // This measures memory, so a disk that is slower than the flood must not affect it.
    const folder = mkdtempSync(path.join(fastFolder(), "rollcall-flood-"));
    const deployment = await createDeployment({ DATA_DIR: folder });
    const server = await startServer(deployment.settings);
    const api = createApi(server.port, tally, { isCounted: false });
    const { token } = await signUp(api, deployment, "flood");
    api.close();
    await checkIn(server, token, tally);
    const probes = await Probes.begin(deployment, server.port, tally);
    await sleep(calmMs);
    const idle = memory(server, "VmRSS");

    const body = Buffer.from(JSON.stringify({ location: "1,2", unknown: "é".repeat(bodyBytes / 2) }));
    const form = formOf([dataPart(Buffer.alloc(uploadBytes, 7))]);
    const floodedFrom = performance.now();
    for (let round = 0; round < 2; round += 1) {
      await sendAll({ server, head: headOf("/checkins", token, body), body, count: clients }, tally);
    }
    const upload = headOf("/blobs", token, form, formHeaders["content-type"]);
    await sendAll({ server, head: upload, body: form, count: uploads }, tally);
    const page = headOf(
      `/checkins?userID=me&pageSize=${rowsOfPage}`,
      token,
      Buffer.alloc(0),
      "application/json",
      "GET",
    );
    await sendAll({ server, head: page, body: Buffer.alloc(0), count: pages }, tally);
    const slow = body.subarray(0, slowBodyBytes);
    const count = Math.min(slowBodies, Math.floor(readOpenFilesMax() * shareOfOpenFiles));
    await holdAll({ server, head: headOf("/checkins", token, slow), body: slow, count }, tally);
    const peak = memory(server, "VmHWM") - idle;

    const deadline = performance.now() + relaxMs;
    let grown = memory(server, "VmRSS") - idle;
    while (grown > residentGrowthMax && performance.now() < deadline) {
      await sleep(500);
      grown = memory(server, "VmRSS") - idle;
    }
    const refused = probes.failuresSince(floodedFrom);
    await probes.end();
    tally.checks += 1;
    tally.remarks.push(`${inMb(peak)} MB more at the peak, ${inMb(grown)} MB afterwards`);
    if (grown > residentGrowthMax) tally.wrong.push(`${inMb(grown)} MB are still in use after the flood`);
    if (peak > peakGrowthMax) tally.wrong.push(`memory grew by ${inMb(peak)} MB during the flood`);
    if (tally.unavailable === 0) tally.wrong.push("no request got a 503: the flood was too small");
    if (refused > 0) tally.wrong.push(`${refused} calls of other clients failed`);
    if ((await server.end("SIGTERM")) !== 0) tally.wrong.push("the server failed");
    rmSync(folder, { recursive: true, force: true });
  },
};

/** Creates check-ins that fill one large page. */
async function checkIn({ port }: RunningServer, token: string, tally: Tally): Promise<void> {
  const api = createApi(port, tally, { isCounted: false });
  const parameters = { location: "1,2", comment: "x".repeat(2_000) };
  const requests = Array.from({ length: 100 }, () => ({ method: "POST", path: "/checkins", parameters }));
  for (let rows = 0; rows < rowsOfPage; rows += requests.length) {
    await api.call("POST /batch", { token, body: { requests } });
  }
  api.close();
}

function headOf(path: string, token: string, body: Buffer, contentType = "application/json", method = "POST"): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "Host: a",
    `Authorization: Service ${token}`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${body.length}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

interface Wave {
  readonly server: RunningServer;
  readonly head: string;
  readonly body: Buffer;
  readonly count: number;
}

/** Sends one request over each of many connections, piece by piece, and waits for the responses. */
async function sendAll({ server, head, body, count }: Wave, tally: Tally): Promise<void> {
  const sockets = Array.from({ length: count }, () => open(server, tally));
  tally.faults += count;
  tally.sent += count;
  for (const socket of sockets) socket.write(head);
  const step = Math.ceil(body.length / pieces);
  for (let from = 0; from < body.length; from += step) {
    for (const socket of sockets) if (!socket.destroyed) socket.write(body.subarray(from, from + step));
    await sleep(pauseMs);
  }
  const deadline = performance.now() + answersMs;
  while (sockets.some(({ destroyed }) => !destroyed) && performance.now() < deadline) await sleep(100);
  for (const socket of sockets) socket.destroy();
}

/** Sends many bodies except for their last bytes, each over a connection that stays open for a while. */
async function holdAll({ server, head, body, count }: Wave, tally: Tally): Promise<void> {
  const sent = Buffer.concat([Buffer.from(head), body.subarray(0, -unsentBytes)]);
  const refusedBefore = tally.unavailable;
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: crowd }, () => open(server, tally, { staysOpen: true }));
    for (const socket of some) socket.write(sent);
    await Promise.all(some.map(untilConnected));
    sockets.push(...some);
  }
  await sleep(holdMs);
  const refused = tally.unavailable - refusedBefore;
  tally.faults += sockets.length;
  tally.sent += sockets.length;
  tally.remarks.push(`${refused} of ${sockets.length} slow bodies refused`);
  if (refused === 0 && count === slowBodies) tally.wrong.push("no slow body was refused");
  for (const socket of sockets) socket.destroy();
}

function untilConnected(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
}

/** A connection that closes after its response, unless it stays open; a page is read to its end. */
function open({ port }: RunningServer, tally: Tally, { staysOpen = false } = {}): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.setEncoding("latin1");
  let text = "";
  let left: number | undefined;
  socket.on("error", () => {}); // "close" follows
  socket.on("data", (piece: string) => {
    if (left !== undefined) {
      left -= piece.length;
      if (left <= 0) socket.destroy();
      return;
    }
    text += piece;
    const status = /^HTTP\/1\.1 (\d+) [\s\S]*\r\n\r\n./.exec(text)?.[1];
    if (status === undefined) return;
    if (status === "503") tally.unavailable += 1;
    else if (status === "201" || status === "200") tally.answered += 1;
    else if (!staysOpen || status !== "400") tally.wrong.push(text.slice(0, 200)); // 400: its time was over
    if (status === "503" && !/\r\nretry-after: \d+\r\n/i.test(text)) tally.wrong.push("a 503 without Retry-After");
    if (status === "200") {
      const length = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1]);
      left = length - (text.length - text.indexOf("\r\n\r\n") - 4);
    } else if (!staysOpen) socket.destroy();
  });
  return socket;
}

function memory({ pid }: RunningServer, name: "VmRSS" | "VmHWM"): number {
  return readMemory(pid, name) ?? Number.NaN;
}

function inMb(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
