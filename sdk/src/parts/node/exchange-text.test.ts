import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { writeCall } from "../../../test/answers.ts";
import { until } from "../../../test/clients.ts";
import { createCheckin, deleteCheckin, getCheckin } from "../../generated/calls.ts";
import { type ConnectOptions, connect } from "../../nouns/connect.ts";
import { ConnectionError, RollcallError, UnexpectedAnswer } from "../../wire/errors.ts";
import { exchangeText } from "./exchange-text.ts";

const forms: readonly (readonly [name: string, form: typeof fetch])[] = [
  ["fetch", (url, init) => fetch(url, init)],
  ["node:http", exchangeText as typeof fetch],
];
const location = { lat: 1, lng: 2 };
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Of a result with such a comment. */
const envelope = (comment: string) =>
  JSON.stringify({ status: 200, result: { id: "chk_1", comment }, request_id: "req_1", success: true });
const answer = (body: string | Buffer, headers = "", status = "200 OK") => {
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`), bytes]);
};
const good = answer(envelope("good"));

/** Answers each whole request, in its own way. */
type Behaviour = (socket: Socket, request: string, count: number) => void;

let sockets: Socket[] = [];
let servers: Server[] = [];
let url: string;

/** Starts a server, to which no connection is open. */
async function start(behave: Behaviour, host = "127.0.0.1"): Promise<void> {
  sockets = [];
  const server = createServer((socket) => serve(socket, behave)).listen(0, host);
  await once(server, "listening");
  servers.push(server);
  url = `http://${host.includes(":") ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`;
}

function serve(socket: Socket, behave: Behaviour): void {
  sockets.push(socket);
  let received = "";
  let count = 0;
  socket.on("error", () => {});
  socket.setEncoding("latin1").on("data", (text) => {
    received += text;
    const [head = "", body = ""] = received.split("\r\n\r\n");
    if (!received.includes("\r\n\r\n") || body.length < Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)) return;
    const request = received;
    received = "";
    count += 1;
    behave(socket, request, count);
  });
}

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
  servers = [];
});

for (const [name, form] of forms) {
  const client = (options: Partial<ConnectOptions> = {}) =>
    connect({ url, token: "main.token", retry: false, logger: silent, fetch: form, ...options });
  const read = (options?: Partial<ConnectOptions>) => client(options).send(getCheckin("chk_1"));
  const failure = (call: Promise<unknown> = read()): Promise<unknown> =>
    call.then(
      () => undefined,
      (error) => error,
    );

  describe(`a request over a hostile network, by ${name}`, () => {
    it("is read correctly however its response is chunked", async () => {
      const body = Buffer.from(envelope("Grüße, 𝕽"));
      await start(async (socket) => {
        socket.write("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (const byte of body) {
          socket.write(Buffer.concat([Buffer.from("1\r\n"), Buffer.from([byte]), Buffer.from("\r\n")]));
          await new Promise(setImmediate);
        }
        socket.write("0\r\n\r\n");
      });
      assert.equal((await read()).comment, "Grüße, 𝕽");
    });

    it("is read after a byte order mark, and until the connection closes", async () => {
      await start(
        (socket) => void socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\uFEFF${envelope("marked")}`),
      );
      assert.equal((await read()).comment, "marked");
    });

    for (const [encoding, compress] of Object.entries({ gzip: gzipSync, br: brotliCompressSync }))
      it(`is decompressed if a proxy compresses it with ${encoding}`, async () => {
        await start(
          (socket) => void socket.write(answer(compress(envelope("small")), `Content-Encoding: ${encoding}\r\n`)),
        );
        assert.equal((await read()).comment, "small");
      });

    it("is sent in UTF-8, with its length and the same headers", async () => {
      const requests: string[] = [];
      await start((socket, request) => {
        requests.push(Buffer.from(request, "latin1").toString());
        socket.write(good);
      });
      await client().send(createCheckin({ location, comment: "Grüße" }), { idempotencyKey: "key-1" });
      await client().send(deleteCheckin("chk_1"), { idempotencyKey: "key-2" });
      const [created = "", deleted = ""] = requests.map((request) => request.replace(/^accept-encoding: .*\r\n/m, ""));
      const [head = "", body] = created.split("\r\n\r\n");
      assert.equal(body, '{"location":"1,2","comment":"Grüße"}');
      const common = [
        "accept: */*",
        "accept-language: *",
        "authorization: Service main.token",
        "connection: keep-alive",
        `host: ${new URL(url).host}`,
      ];
      const shared = ["sec-fetch-mode: cors", "user-agent: node"];
      const own = ["content-length: 38", "content-type: application/json"];
      assert.deepEqual(
        sorted(head),
        ["POST /checkins HTTP/1.1", ...common, ...own, "idempotency-key: key-1", ...shared].sort(),
      );
      assert.deepEqual(
        sorted(deleted),
        ["DELETE /checkins/chk_1 HTTP/1.1", ...common, "idempotency-key: key-2", ...shared].sort(),
      );
    });

    it("sends a key outside of ASCII as HTTP does, and refuses one outside of Latin-1", async () => {
      let request = "";
      await start((socket, text) => {
        request = text;
        socket.write(good);
      });
      await client().send(createCheckin({ location, comment: "ü" }), { idempotencyKey: "schlüssel" });
      assert.match(request, /^idempotency-key: schlüssel\r$/im);
      await assert.rejects(client().send(createCheckin({ location }), { idempotencyKey: "€" }), {
        name: "ConfigurationError",
      });
    });

    it("does not follow a redirect, and returns the headers of a refusal", async () => {
      let requests = 0;
      await start((socket) => {
        requests += 1;
        if (requests === 1) socket.write(answer("", "Location: /elsewhere\r\n", "302 Found"));
        else socket.write(answer("{}", "RETRY-AFTER: 7\r\nContent-Type: text/plain\r\n", "503 Busy"));
      });
      const same = client();
      const redirect = await failure(same.send(getCheckin("chk_1")));
      assert.ok(redirect instanceof UnexpectedAnswer);
      assert.equal(redirect.status, 302);
      const busy = await failure(same.send(getCheckin("chk_1")));
      assert.ok(busy instanceof UnexpectedAnswer);
      assert.deepEqual([busy.status, busy.retryAfterMs, busy.snippet], [503, 7000, "{}"]);
    });

    it("joins the values of a repeated header", async () => {
      await start((socket) => void socket.write(answer("", 'RateLimit: "caller";r=0\r\nratelimit: "other";r=0\r\n')));
      const response = await form(url, { redirect: "manual", headers: {}, signal: new AbortController().signal });
      assert.equal(response.headers.get("ratelimit"), '"caller";r=0, "other";r=0');
      assert.equal(response.headers.get("absent"), null);
    });

    const cuts: Readonly<Record<string, Behaviour>> = {
      "before any byte": (socket) => void socket.end(),
      "by a reset": (socket) => void socket.resetAndDestroy(),
      "within its head": (socket) => void socket.end("HTTP/1.1 200 O"),
      "within its body": (socket) => void socket.end(good.subarray(0, -3)),
      "within a chunk": (socket) => void socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"),
      "within a compressed body": (socket) => {
        const bytes = gzipSync(envelope("lost"));
        socket.end(answer(bytes, "Content-Encoding: gzip\r\n").subarray(0, -5));
      },
      "by a change of protocol": (socket) =>
        void socket.end("HTTP/1.1 101 Other\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
      "by bytes that are not HTTP": (socket) => void socket.end("SSH-2.0-OpenSSH_9.2\r\n"),
    };
    for (const [where, behaviour] of Object.entries(cuts))
      it(`fails if the response is truncated ${where}`, async () => {
        await start(behaviour);
        const error = await failure();
        assert.ok(error instanceof ConnectionError, String(error));
        assert.ok(error.cause instanceof TypeError);
        const unknown = await failure(client().send(writeCall));
        assert.ok(unknown instanceof RollcallError && unknown.outcome === "unknown" && unknown.isRetryable);
      });

    it("reports why a connection was refused", async () => {
      const free = createServer().listen(0, "127.0.0.1");
      await once(free, "listening");
      const { port } = free.address() as AddressInfo;
      await new Promise((resolve) => free.close(resolve));
      const error = await failure(read({ url: `http://127.0.0.1:${port}` }));
      assert.ok(error instanceof ConnectionError && error.cause instanceof TypeError);
      assert.equal(Object(error.cause.cause).code, "ECONNREFUSED");
    });

    it("stops when its signal aborts or its time-out expires, and closes its connection", async () => {
      for (const begun of ["", "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{"]) {
        let received = 0;
        await start((socket) => {
          received += 1;
          if (begun !== "") socket.write(begun);
        });
        const controller = new AbortController();
        const aborted = client().send(getCheckin("chk_1"), { signal: controller.signal });
        await until(() => received === 1);
        controller.abort(new Error("enough"));
        await assert.rejects(aborted, { name: "AbortError", outcome: "none" });
        await assert.rejects(read({ timeouts: { attemptMs: 50 } }), { name: "TimeoutError", limit: "attempt" });
        await assert.rejects(client().send(getCheckin("chk_1"), { timeoutMs: 50 }), { limit: "total" });
        await until(() => sockets.length >= 3 && sockets.every((socket) => socket.destroyed || socket.readableEnded));
      }
      await start((socket) => void socket.write(good));
      assert.equal((await read()).comment, "good");
    });

    it("reuses a connection, but not after the service's idle time-out", async () => {
      await start((socket) => void socket.write(answer(envelope("kept"), "Keep-Alive: timeout=3\r\n")));
      const same = client();
      for (let call = 0; call < 10; call += 1) await same.send(getCheckin("chk_1"));
      assert.ok(sockets.length <= 2, `${sockets.length} connections`);
      await until(() => sockets.every((socket) => socket.destroyed || socket.readableEnded));
    });

    it("succeeds although idle connections close during its requests", async () => {
      await start((socket, _, count) => {
        if (count > 1) socket.resetAndDestroy();
        else socket.write(good);
      });
      const same = client({ retry: { repeats: 3 } });
      const calls = Array.from({ length: 6 }, () => same.send(createCheckin({ location })));
      for (const { comment } of await Promise.all(calls)) assert.equal(comment, "good");
      for (let call = 0; call < 3; call += 1) assert.equal((await same.send(getCheckin("chk_1"))).comment, "good");
    });

    it("goes over IPv6", async (context) => {
      const isThere = await start((socket) => void socket.write(good), "::1").then(
        () => true,
        () => false,
      );
      if (!isThere) return context.skip("this machine has no IPv6");
      assert.equal((await read()).comment, "good");
    });
  });
}

function sorted(head: string): string[] {
  return head.trim().split("\r\n").map(lowerName).sort();
}

/** With the name of the header in lower case. */
function lowerName(line: string): string {
  return line.replace(/^[\w-]+:/, (name) => name.toLowerCase());
}
