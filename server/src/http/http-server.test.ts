// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { openRaw, type RawConnection } from "../../test/harness.ts";
import { until } from "../../test/until.ts";
import { createLog } from "../config/log.ts";
import { createByteBudget } from "../limits/byte-budget.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";
import type { AnsweredCall } from "./request-observer.ts";

const waitMsMax = 10_000;
const unbounded = {
  connectionsMax: undefined,
  connectionsPerAddressMax: undefined,
  trustedProxies: [],
  tls: undefined,
};
const limits = { headerBytesMax: 16_384, requestTimeoutMs: 60_000, keepAliveTimeoutMs: 60_000, ...unbounded };
const { hold } = createByteBudget(67_108_864);
const holdFrom = (caller: string) => hold({ application: "", caller });
const hasty = { requestTimeoutMs: 600, keepAliveTimeoutMs: 400 };

// spec/transport#requests, hostile.md 17
describe("A connection", () => {
  let server: HttpServer;
  let port: number;
  let connections: RawConnection[] = [];
  const refusals: (string | undefined)[] = [];
  const calls: (string | undefined)[] = [];
  const pending: ServerResponse[] = [];
  const currentCall = new AsyncLocalStorage<string>();

  function open(on = port): RawConnection {
    const connection = openRaw(on);
    connections.push(connection);
    return connection;
  }

  async function start(times = {}): Promise<HttpServer> {
    const observer = {
      connected() {},
      began() {},
      streams() {},
      answered: ({ failure }: AnsweredCall) => void refusals.push(failure?.message),
      answeredItem() {},
    };
    const log = createLog("silent");
    const started = createHttpServer(
      { config: { ...limits, ...times }, certificate: undefined, log, observer, inFlight: { holdFrom } },
      answer,
    );
    await started.listen("127.0.0.1", 0);
    return started;
  }

  before(async () => {
    server = await start();
    port = portOf(server);
  });
  afterEach(() => {
    for (const connection of connections) connection.close();
    connections = [];
    refusals.length = 0;
    calls.length = 0;
    pending.length = 0;
  });
  after(() => server.drain(0));

  /** Echoes the request; the test sends the response to `/slow`. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "" } = request;
    calls.push(currentCall.getStore());
    response.on("error", () => {});
    if (url === "/slow") pending.push(response);
    else if (url.startsWith("/large/")) send(response, "é".repeat(Number(url.slice(7))));
    else if (url.startsWith("/head")) send(response, JSON.stringify({ ...headOf(request), body: await text(request) }));
    else send(response, `${method} ${url} ${await text(request).catch(() => "")}`);
  }

  function send(response: ServerResponse | undefined, body: string): void {
    response?.writeHead(200, { "content-length": Buffer.byteLength(body) });
    response?.end(body, "utf8");
  }

  const get = (url: string, headers = "") => `GET ${url} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
  const post = (body: string) => `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const untilPending = () => until(() => pending.length === 1, waitMsMax);

  async function receiveAll(connection: RawConnection, answers: readonly string[]): Promise<void> {
    for (const answer of answers) assert.equal((await connection.receive())?.text, answer);
  }

  it("answers its requests with their own bodies, one after the other", async () => {
    const connection = open();
    for (const [request, answer] of [
      [get("/1"), "GET /1 "],
      [post("two"), "POST /a two"],
      [post("three"), "POST /a three"],
      [get("/4"), "GET /4 "],
    ] as const) {
      connection.write(request);
      await receiveAll(connection, [answer]);
    }
  });

  it("answers pipelined requests in their order, even if the client half-closes the connection after them", async () => {
    const connection = open();
    connection.write(get("/1") + post("two") + post("three") + get("/4"));
    connection.finish();
    await receiveAll(connection, ["GET /1 ", "POST /a two", "POST /a three", "GET /4 "]);
  });

  it("reads a request the same way, wherever it is split into two packets", async () => {
    const request = post("body");
    await Promise.all(
      Array.from({ length: request.length - 1 }, async (_, cut) => {
        const connection = open();
        connection.write(request.slice(0, cut + 1));
        await sleep(cut % 10 === 0 ? 350 : 5);
        connection.write(`${request.slice(cut + 1)}${get("/2")}`);
        await receiveAll(connection, ["POST /a body", "GET /2 "]);
      }),
    );
  });

  it("answers a request that arrives before the previous response after that response", async () => {
    const connection = open();
    connection.write(get("/slow"));
    await untilPending();
    const body = "b".repeat(16_000);
    for (let count = 0; count < 20; count += 1) connection.write(post(body));
    await sleep(20);
    send(pending[0], "slow");
    await receiveAll(connection, ["slow", ...Array.from({ length: 20 }, () => `POST /a ${body}`)]);
  });

  it("does not run a pipelined request in the asynchronous context of the call before it", async () => {
    const connection = open();
    connection.write(get("/slow"));
    await untilPending();
    connection.write(get("/2"));
    await sleep(20);
    currentCall.run("slow", () => send(pending[0], "slow"));
    await receiveAll(connection, ["slow", "GET /2 "]);
    connection.write(get("/3"));
    await receiveAll(connection, ["GET /3 "]);
    assert.deepEqual(calls, [undefined, undefined, undefined]);
  });

  it("delivers a response that is larger than all buffers completely, and then the next one", async () => {
    const bytes = 8_000_000;
    const connection = open();
    connection.write(get(`/large/${bytes / 2}`));
    const answer = await connection.receive();
    assert.equal(Buffer.byteLength(answer?.text ?? ""), bytes);
    connection.write(get("/2"));
    await receiveAll(connection, ["GET /2 "]);
  });

  it("destroys the response when its client half-closes the connection first", async () => {
    const connection = open();
    connection.write(get("/slow"));
    await untilPending();
    connection.finish();
    await until(() => pending[0]?.destroyed === true, waitMsMax);
    assert.equal(pending[0]?.writableFinished, false);
    assert.equal(await connection.receive(), undefined);
  });

  it("refuses a client that half-closes it within a request", async () => {
    const connection = open();
    connection.write(post("body").slice(0, -1));
    connection.finish();
    assert.equal((await connection.receive())?.status, 400);
    assert.deepEqual(refusals, ["The request is not valid HTTP."]);
  });

  it("is refused after the request time-out if no request arrives, and closed after the keep-alive time-out", async () => {
    const other = await start(hasty);
    const [silent, used] = [open(portOf(other)), open(portOf(other))];
    used.write(get("/1"));
    await receiveAll(used, ["GET /1 "]);
    assert.equal(await used.receive(), undefined);
    assert.equal((await silent.receive())?.status, 400);
    assert.deepEqual(refusals, ["The request did not arrive in time."]);
    await other.drain(0);
  });

  it("accepts a request until a second after the announced keep-alive time-out", async () => {
    const connection = open();
    connection.write(get("/slow"));
    await untilPending();
    const socket = pending[0]?.socket;
    send(pending[0], "slow");
    const announced = (await connection.receive())?.headers["keep-alive"];
    assert.equal(announced, `timeout=${limits.keepAliveTimeoutMs / 1_000}`);
    await until(() => socket?.timeout === limits.keepAliveTimeoutMs + 1_000, waitMsMax);
  });

  it("ignores an empty line after a request", async () => {
    const connection = open();
    connection.write(post("body"));
    await connection.receive();
    connection.write("\r\n");
    await sleep(200);
    connection.write(get("/2"));
    await receiveAll(connection, ["GET /2 "]);
  });

  it("is closed at the shutdown if it is idle, and otherwise after its response", async () => {
    const other = await start();
    const [idle, busy] = [open(portOf(other)), open(portOf(other))];
    idle.write(get("/1"));
    busy.write(get("/slow"));
    await receiveAll(idle, ["GET /1 "]);
    await untilPending();
    const drained = other.drain(waitMsMax);
    assert.equal(await idle.receive(), undefined);
    send(pending[0], "slow");
    await receiveAll(busy, ["slow"]);
    busy.close();
    await drained;
  });

  it("never sends a header whose value contains a line break", async () => {
    const connection = open();
    connection.write(get("/slow"));
    await untilPending();
    assert.throws(() => pending[0]?.writeHead(200, { "x-a": "b\r\nx-c: d" }), TypeError);
    assert.equal(pending[0]?.headersSent, false);
  });

  it("reads each unambiguous head as a strict parser does", async () => {
    const character = fc.constantFrom(..."aZ09-_.:/?&=%+,;@ \t\"'<>[]{}|\\^`~!#$*()\x00\x7f\xe9\r\n");
    const line = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom("Host: a", "Content-Length: 0", "Content-Length: 3", "Accept: */*") },
      { weight: 3, arbitrary: fc.constantFrom("X-A:b ", "Connection: Keep-Alive", "Cookie: a=b; c", "TE: trailers") },
      { weight: 2, arbitrary: fc.string({ unit: character, maxLength: 12 }).map((value) => `X-B: ${value}`) },
      fc.string({ unit: character, maxLength: 12 }),
    );
    const query = fc.oneof(fc.constant(""), fc.string({ unit: character, maxLength: 12 }));
    const verb = fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE");
    let readable = 0;
    const property = fc.asyncProperty(verb, query, fc.array(line, { maxLength: 5 }), async (method, query, lines) => {
      const head = [`${method} /head${query} HTTP/1.1`, "Host: a", ...lines, "", ""].join("\r\n");
      const expected = readStrictly(head);
      if (expected === undefined) return;
      readable += 1;
      const body = "x".repeat(Number(expected.headers["content-length"] ?? 0));
      const connection = openRaw(port);
      connection.write(Buffer.from(head + body, "latin1"));
      const answer = await connection.receive();
      connection.close();
      assert.deepEqual(JSON.parse(answer?.text ?? ""), { ...expected, body });
    });
    await fc.assert(property, { numRuns: 1_500 });
    assert.ok(readable > 100, `${readable}`);
  });
});

function portOf(server: HttpServer): number {
  return Number(new URL(server.url()).port);
}

function headOf({ method, url, headers }: Pick<IncomingMessage, "method" | "url" | "headers">) {
  return { method, url, headers };
}

/** Printable ASCII, no fragment, names of letters, digits and hyphens, no folded lines. */
const grammar = /^(?:GET|POST|PUT|PATCH|DELETE) \/head[!"$-~]* HTTP\/1\.1\r\n(?:[A-Za-z0-9-]+:[ -~]*\r\n)+\r\n$/;

/** Reads a head with only one interpretation. @returns undefined for any other head */
function readStrictly(head: string): ReturnType<typeof headOf> | undefined {
  if (!grammar.test(head)) return undefined;
  const [first = "", ...lines] = head.trimEnd().split("\r\n");
  const [method, url] = first.split(" ");
  const pairs = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).replaceAll(/^ +| +$/g, "")] as const;
  });
  const headers = Object.fromEntries(pairs);
  if (Object.keys(headers).length < pairs.length || "te" in headers) return undefined;
  if (method === "GET" && "content-length" in headers) return undefined;
  return { method, url, headers };
}
