// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { duplexPair } from "node:stream";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openRaw, type RawConnection } from "../../test/harness.ts";
import { until } from "../../test/until.ts";
import { type FastPath, openFastPath } from "./fast-path.ts";
import type { FastResponse } from "./fast-response.ts";
import type { FastRequest } from "./messages.ts";

const waitMsMax = 10_000;
const limits = { headerBytesMax: 16_384, bodyBytesMax: 1_048_576, requestTimeoutMs: 600, keepAliveTimeoutMs: 400 };

// spec/transport#requests
describe("The fast path", () => {
  let server: Server;
  let port: number;
  let fastPath: FastPath;
  let connections: RawConnection[] = [];
  const refusals: (string | undefined)[] = [];
  const pending: FastResponse[] = [];

  function send(response: FastResponse, body: string): void {
    response.writeHead(200, { "content-length": Buffer.byteLength(body) });
    response.end(body, "utf8");
  }

  /** Responds with the name of the reader and the request; the response to `/slow` is sent by the test. */
  function answer({ method, url, body }: FastRequest, response: FastResponse): void {
    response.on("error", () => {});
    if (url === "/slow") pending.push(response);
    else if (url.startsWith("/large/")) send(response, "é".repeat(Number(url.slice(7))));
    else send(response, `fast ${method} ${url} ${body ?? ""}`);
  }

  const target = { path: {}, query: "", target: { answer() {} } };
  /** `/node` is not for the fast path. */
  const find = (_method: string, url: string) => (url === "/node" ? undefined : target);

  before(async () => {
    server = createServer({ keepAliveTimeout: limits.keepAliveTimeoutMs }, async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      response.end(`node ${request.method} ${request.url} ${Buffer.concat(chunks)}`);
    });
    const refuse = ({ code }: { readonly code?: string }, socket: Socket) => {
      refusals.push(code);
      socket.end();
    };
    fastPath = openFastPath(server, { limits, find, answer, refuse, isDraining: () => false });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
  });
  afterEach(() => {
    for (const connection of connections) connection.close();
    connections = [];
    refusals.length = 0;
    pending.length = 0;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
    fastPath.closeAllConnections();
  });

  function open(): RawConnection {
    const connection = openRaw(port);
    connections.push(connection);
    return connection;
  }

  const get = (url: string, headers = "") => `GET ${url} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
  const post = (body: string) => `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

  const untilPending = () => until(() => pending.length === 1, waitMsMax);

  /** Writes each request after the response to the previous one. @returns the texts of the responses */
  async function exchange(...requests: readonly string[]): Promise<(string | undefined)[]> {
    const connection = open();
    const answers: (string | undefined)[] = [];
    for (const request of requests) {
      connection.write(request);
      answers.push((await connection.receive())?.text);
    }
    return answers;
  }

  it("requests on one connection are answered with their own bodies", async () => {
    const answers = await exchange(get("/1"), post("two"), post("three"), get("/4"));
    assert.deepEqual(answers, ["fast GET /1 ", "fast POST /a two", "fast POST /a three", "fast GET /4 "]);
  });

  it("requests that arrive together are left to node:http, also if the client ends after them", async () => {
    const connection = open();
    connection.write(get("/1") + post("two") + post("three") + get("/4"));
    connection.finish();
    const answers = ["node GET /1 ", "node POST /a two", "node POST /a three", "node GET /4 "];
    for (const answer of answers) assert.equal((await connection.receive())?.text, answer);
  });

  it("a request that is not for the fast path is answered by node:http, as are all that follow on the connection", async () => {
    const answers = await exchange(get("/1"), get("/node"), get("/3"), post("four"));
    assert.deepEqual(answers, ["fast GET /1 ", "node GET /node ", "node GET /3 ", "node POST /a four"]);
    assert.deepEqual(await exchange(get("/1", "X_Y: z\r\n"), post("two")), ["node GET /1 ", "node POST /a two"]);
  });

  it("a long body and a long head are left to node:http", async () => {
    const body = "b".repeat(16_385);
    assert.deepEqual(await exchange(post(body)), [`node POST /a ${body}`]);
    assert.deepEqual(await exchange(post(body.slice(1))), [`fast POST /a ${body.slice(1)}`]);
    const url = `/${"p".repeat(8_192)}`;
    assert.deepEqual(await exchange(get(url)), [`node GET ${url} `]);
  });

  it("a request in two parts is the same request, wherever it is cut", async () => {
    const request = post("body");
    await Promise.all(
      Array.from({ length: request.length - 1 }, async (_, cut) => {
        const connection = open();
        connection.write(request.slice(0, cut + 1));
        await sleep(5);
        connection.write(request.slice(cut + 1));
        assert.equal((await connection.receive())?.text, "fast POST /a body", `${cut}`);
        connection.write(get("/2"));
        assert.equal((await connection.receive())?.text, "fast GET /2 ", `${cut}`);
      }),
    );
  });

  it("a request whose rest is late is left to node:http, in every state", async () => {
    const request = post("body");
    await Promise.all(
      [10, request.indexOf("\r\n\r\n") + 2, request.length - 4, request.length - 1].map(async (cut) => {
        const connection = open();
        connection.write(request.slice(0, cut));
        await sleep(350);
        connection.write(`${request.slice(cut)}${get("/2")}`);
        assert.equal((await connection.receive())?.text, "node POST /a body", `${cut}`);
        assert.equal((await connection.receive())?.text, "node GET /2 ", `${cut}`);
      }),
    );
  });

  it("a body reaches node:http while it arrives if its target is not for the fast path", async () => {
    const connection = open();
    connection.write("POST /node HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo");
    await once(server, "request");
    connection.write("dy");
    assert.equal((await connection.receive())?.text, "node POST /node body");
  });

  it("what arrives while a response is pending is answered after it, by node:http", async () => {
    const connection = open();
    connection.write(get("/slow"));
    await untilPending();
    const body = "b".repeat(16_000);
    for (let count = 0; count < 20; count += 1) connection.write(post(body));
    await sleep(20);
    if (pending[0] !== undefined) send(pending[0], "slow");
    assert.equal((await connection.receive())?.text, "slow");
    for (let count = 0; count < 20; count += 1) {
      assert.equal((await connection.receive())?.text, `node POST /a ${body}`);
    }
  });

  it("what node:http reads after a response does not run as a part of the call before it", async () => {
    const call = new AsyncLocalStorage<string>();
    const connection = open();
    connection.write(get("/slow"));
    await untilPending();
    connection.write(get("/node"));
    await sleep(20);
    const calls: (string | undefined)[] = [];
    server.once("request", () => calls.push(call.getStore()));
    call.run("slow", () => pending[0] && send(pending[0], "slow"));
    await connection.receive();
    assert.equal((await connection.receive())?.text, "node GET /node ");
    assert.deepEqual(calls, [undefined]);
  });

  it("a connection whose reads cannot be shared is not read any further while a response is pending", async () => {
    const [client, accepted] = duplexPair();
    server.emit("connection", accepted);
    client.write(get("/slow"));
    await untilPending();
    const body = "b".repeat(16_000);
    for (let count = 0; count < 60; count += 1) client.write(post(body));
    await sleep(20);
    assert.ok(client.writableLength > 500_000, `${client.writableLength}`);
    if (pending[0] !== undefined) send(pending[0], "slow");
    let received = "";
    client.on("data", (chunk: Buffer) => {
      received += chunk;
    });
    await until(() => received.split("node POST").length === 61, waitMsMax);
    client.destroy();
  });

  it("a response larger than all buffers arrives whole, and is finished only then", async () => {
    const bytes = 8_000_000;
    const connection = open();
    connection.write(get(`/large/${bytes / 2}`));
    const answer = await connection.receive();
    assert.equal(Buffer.byteLength(answer?.text ?? ""), bytes);
    connection.write(get("/2"));
    assert.equal((await connection.receive())?.text, "fast GET /2 ");
  });

  it("the response is destroyed when its client closes its side of the connection first", async () => {
    const connection = open();
    connection.write(get("/slow"));
    await untilPending();
    connection.finish();
    await until(() => pending[0]?.destroyed === true, waitMsMax);
    assert.equal(pending[0]?.writableFinished, false);
    assert.equal(await connection.receive(), undefined);
  });

  it("a client that closes its side within a request is refused", async () => {
    const connection = open();
    connection.write(post("body").slice(0, -1));
    connection.finish();
    assert.equal(await connection.receive(), undefined);
    assert.deepEqual(refusals, ["HPE_INVALID_EOF_STATE"]);
  });

  it("a connection without a request is refused after the time for a request, and an idle one is closed", async () => {
    const [silent, used] = [open(), open()];
    used.write(get("/1"));
    assert.equal((await used.receive())?.text, "fast GET /1 ");
    assert.equal(await used.receive(), undefined);
    assert.equal(await silent.receive(), undefined);
    assert.deepEqual(refusals, ["ERR_HTTP_REQUEST_TIMEOUT"]);
  });

  it("an idle connection accepts a request until a second after the announced time", async () => {
    const connection = open();
    connection.write(get("/1"));
    await connection.receive();
    await sleep(limits.keepAliveTimeoutMs + 600);
    connection.write(get("/2"));
    assert.equal((await connection.receive())?.text, "fast GET /2 ");
  });

  it("an empty line after a request is ignored", async () => {
    const connection = open();
    connection.write(post("body"));
    await connection.receive();
    connection.write("\r\n");
    await sleep(200);
    connection.write(get("/2"));
    assert.equal((await connection.receive())?.text, "fast GET /2 ");
  });

  it("closing idle connections spares those that wait for a response", async () => {
    const [idle, busy] = [open(), open()];
    idle.write(get("/1"));
    busy.write(get("/slow"));
    await idle.receive();
    await untilPending();
    fastPath.closeIdleConnections();
    assert.equal(await idle.receive(), undefined);
    if (pending[0] !== undefined) send(pending[0], "slow");
    assert.equal((await busy.receive())?.text, "slow");
  });

  it("a header whose value could end its line is never sent", async () => {
    const connection = open();
    connection.write(get("/slow"));
    await untilPending();
    const [response] = pending;
    assert.throws(() => response?.writeHead(200, { "x-a": "b\r\nx-c: d" }), TypeError);
    assert.equal(response?.headersSent, false);
  });
});
