// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { after, afterEach, before, describe, it } from "node:test";
import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import { openRaw, type RawConnection } from "../../test/harness.ts";
import { until } from "../../test/until.ts";
import { createLog } from "../config/log.ts";
import type { StreamSink } from "../contract/stream-result.ts";
import { createByteBudget } from "../limits/byte-budget.ts";
import { Exchange } from "./exchange.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";
import { sendStream } from "./send-stream.ts";

const waitMsMax = 20_000;
const unbounded = {
  connectionsMax: undefined,
  connectionsPerAddressMax: undefined,
  trustedProxies: [],
  tls: undefined,
};
const limits = { headerBytesMax: 16_384, requestTimeoutMs: 60_000, keepAliveTimeoutMs: 60_000, ...unbounded };
const observer = { connected() {}, began() {}, streams() {}, answered() {}, answeredItem() {} };

// spec/transport#pipelining, hostile.md 17, 30, 37
describe("Pipelined requests", () => {
  const budget = createByteBudget(67_108_864);
  let server: HttpServer;
  let port: number;
  let connections: RawConnection[] = [];
  /** Requests that wait for their answer, by connection. */
  const unanswered = new Map<Socket, number>();
  let unansweredMax = 0;
  /** The connections of the requests, in the order in which these began. */
  const begun: Socket[] = [];
  const pending: ServerResponse[] = [];

  function start(times = {}, bytesMax?: number): Promise<HttpServer> {
    const { hold } = bytesMax === undefined ? budget : createByteBudget(bytesMax);
    const holdFrom = (caller: string) => hold({ application: "", caller });
    const config = { ...limits, ...times };
    const log = createLog("silent");
    const started = createHttpServer({ config, certificate: undefined, log, observer, inFlight: { holdFrom } }, answer);
    return started.listen("127.0.0.1", 0).then(() => started);
  }

  before(async () => {
    server = await start();
    port = portOf(server);
  });
  afterEach(() => {
    for (const connection of connections) connection.close();
    connections = [];
    unanswered.clear();
    unansweredMax = 0;
    begun.length = 0;
    pending.length = 0;
  });
  after(() => server.drain(0));

  /** Answers with the path and the length of the body, some ticks later; the test answers `/slow`. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket, url = "" } = request;
    begun.push(socket);
    const count = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, count);
    unansweredMax = Math.max(unansweredMax, count);
    response.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    if (url.startsWith("/slow")) return void pending.push(response);
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    await nextTick();
    if (url === "/stream") sendStream(new Exchange(request, response), { headers: {}, open: () => writeEvent });
    else if (url.startsWith("/large/")) response.end("a".repeat(Number(url.slice(7))));
    else response.end(`${url} ${body.length}`);
  }

  function open(on = port): RawConnection {
    const connection = openRaw(on);
    connections.push(connection);
    return connection;
  }

  const get = (url: string, headers = "") => `GET ${url} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
  const post = (url: string, body: string) =>
    `POST ${url} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const chunked = (url: string, body: string) =>
    `POST ${url} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const untilPending = () => until(() => pending.length === 1, waitMsMax);

  async function receiveAll(connection: RawConnection, answers: readonly string[]): Promise<void> {
    for (const answer of answers) assert.equal((await connection.receive())?.text, answer);
  }

  /** Requests of every form. The body of some looks like another request. */
  function mixture(count: number): { readonly sent: string; readonly answers: string[] } {
    const hidden = get("/hidden").repeat(3);
    const forms = [
      (url: string) => [get(url), 0] as const,
      (url: string) => [post(url, hidden), hidden.length] as const,
      (url: string) => [chunked(url, hidden), hidden.length] as const,
      (url: string) => [`\r\n${get(url, "Upgrade: h2c\r\n")}`, 0] as const,
      (url: string) => [post(url, "x".repeat(70_000)), 70_000] as const,
      (url: string) => [get(url, "Expect: 100-continue\r\n"), 0] as const,
    ];
    const made = Array.from({ length: count }, (_, index) => {
      const [sent, length] = forms[index % forms.length]?.(`/${index}`) ?? ["", 0];
      return { sent, answer: `/${index} ${length}` };
    });
    return { sent: made.map(({ sent }) => sent).join(""), answers: made.map(({ answer }) => answer) };
  }

  it("are begun one at a time for each connection, and answered in their order", async () => {
    const [one, other] = [open(), open()];
    const { sent, answers } = mixture(60);
    one.write(sent);
    other.write(get("/1").repeat(3_000));
    const isContinue = (text: string | undefined) => text === "";
    for (const answer of answers) {
      let received = await one.receive();
      while (received?.status === 100 && isContinue(received.text)) received = await one.receive();
      assert.equal(received?.text, answer);
    }
    await receiveAll(other, Array(3_000).fill("/1 0"));
    assert.equal(unansweredMax, 1);
  });

  it("of a client that reads no responses are not begun", async () => {
    const socket = connect(port, "127.0.0.1").pause();
    socket.write(get("/large/20000000").repeat(1_000));
    await until(() => begun.length > 0, waitMsMax);
    await sleep(200);
    assert.equal(begun.length, 1);
    socket.on("error", () => {}).resume();
    await until(() => begun.length > 1, waitMsMax);
    socket.destroy();
    assert.equal(unansweredMax, 1);
  });

  it("alternate with the requests of all other connections", async () => {
    const many = Array.from({ length: 40 }, () => open());
    for (const connection of many) connection.write(get("/1").repeat(100));
    await until(() => begun.length === 4_000, waitMsMax);
    /** For each connection, the requests of all others since its last one. */
    const since = new Map<Socket, Map<Socket, number>>();
    let othersMax = 0;
    for (const socket of begun) {
      othersMax = Math.max(othersMax, ...(since.get(socket)?.values() ?? []));
      since.set(socket, new Map());
      for (const [other, counts] of since) if (other !== socket) counts.set(socket, (counts.get(socket) ?? 0) + 1);
    }
    assert.ok(othersMax < 10, `one connection began ${othersMax} requests between two of another`);
  });

  it("are all answered if the client half-closes the connection after them", async () => {
    const connection = open();
    connection.write(get("/1") + post("/2", "two") + chunked("/3", "three") + get("/4"));
    connection.finish();
    await receiveAll(connection, ["/1 0", "/2 3", "/3 5", "/4 0"]);
    assert.equal(await connection.receive(), undefined);
  });

  it("are refused in order, after the previous response, if they are malformed", async () => {
    const connection = open();
    connection.write(`${get("/slow") + get("/2")}garbage\r\n\r\n${get("/3")}`);
    await untilPending();
    await sleep(50);
    pending[0]?.end("slow");
    await receiveAll(connection, ["slow", "/2 0"]);
    assert.equal((await connection.receive())?.status, 404);
    assert.equal(await connection.receive(), undefined);
    assert.equal(begun.length, 2);
  });

  it("are ignored after a request with Connection: close", async () => {
    const connection = open();
    connection.write(get("/1", "Connection: close\r\n") + get("/2").repeat(10));
    await receiveAll(connection, ["/1 0"]);
    assert.equal(await connection.receive(), undefined);
    assert.equal(begun.length, 1);
  });

  it("are ignored after a stream, which closes when its client disconnects", async () => {
    const connection = open();
    connection.write(get("/stream") + get("/2").repeat(10));
    assert.equal((await connection.receive())?.status, 200);
    assert.deepEqual([...unanswered.values()], [1]);
    connection.close();
    await until(() => unanswered.values().every((count) => count === 0), waitMsMax);
    assert.equal(begun.length, 1);
  });

  it("may wait longer than the request time-out, which starts when they are begun", async () => {
    const hasty = await start({ requestTimeoutMs: 500, keepAliveTimeoutMs: 10_000 });
    const connection = open(portOf(hasty));
    connection.write(`${get("/slow")}POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab`);
    await untilPending();
    await sleep(2_500);
    pending[0]?.end("slow");
    await receiveAll(connection, ["slow"]);
    connection.write(`cd${get("/3")}`);
    await receiveAll(connection, ["/2 4", "/3 0"]);
    connection.write(`${get("/slow")}POST /4 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab`);
    await until(() => pending.length === 2, waitMsMax);
    await sleep(2_500);
    pending[1]?.end("slow");
    await receiveAll(connection, ["slow"]);
    assert.equal((await connection.receive())?.status, 400);
    await hasty.drain(0);
  });

  it("that arrive only in part are refused after the previous response", async () => {
    const hasty = await start({ requestTimeoutMs: 500, keepAliveTimeoutMs: 10_000 });
    const connection = open(portOf(hasty));
    connection.write(`${get("/slow")}GET /2 HTT`);
    await untilPending();
    await sleep(2_500);
    pending[0]?.end("slow");
    await receiveAll(connection, ["slow"]);
    assert.equal((await connection.receive())?.status, 400);
    await hasty.drain(0);
  });

  it("are finished at the shutdown if they have begun", async () => {
    const other = await start();
    const connection = open(portOf(other));
    connection.write(get("/slow") + get("/2"));
    await untilPending();
    const drained = other.drain(waitMsMax);
    pending[0]?.end("slow");
    await receiveAll(connection, ["slow", "/2 0"]);
    await drained;
  });

  it("are dropped with their connection when too many bytes are in flight", async () => {
    const small = await start({}, 100_000);
    const connection = open(portOf(small));
    connection.write(get("/slow") + get("/2").repeat(1_200));
    await untilPending();
    await sleep(50);
    pending[0]?.end("slow");
    await receiveAll(connection, ["slow"]);
    assert.equal(await connection.receive(), undefined);
    await small.drain(0);
  });

  it("release their bytes when the connection closes", async () => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    socket.write(get("/slow") + get("/2").repeat(1_000));
    await until(() => pending.length === 1 && budget.heldBytes > 0, waitMsMax);
    socket.resetAndDestroy();
    pending[0]?.end("a".repeat(1_000_000)); // the write fails
    await until(() => budget.heldBytes === 0, waitMsMax);
  });
});

function writeEvent(sink: StreamSink): void {
  sink.write(Buffer.from("event"));
}

function portOf(server: HttpServer): number {
  return Number(new URL(server.url()).port);
}
