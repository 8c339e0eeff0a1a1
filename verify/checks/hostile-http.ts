import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectError, expectNoFault, expectRefused, expectResult, expectThat } from "../expect.ts";
import { sharedUser, signUp } from "../world.ts";

const ping = "GET /service/ping HTTP/1.1\r\n";
const post = "POST /devices HTTP/1.1\r\nHost: verify\r\n";

/** Requests that are malformed HTTP. */
const broken: Readonly<Record<string, string>> = {
  "no Host": `${ping}\r\n`,
  "a header without a colon": `${ping}Host: verify\r\nnonsense\r\n\r\n`,
  "NUL in a header": `${ping}Host: verify\r\nX-Verify: a\0b\r\n\r\n`,
  "NUL in the path": "GET /service/ping\0 HTTP/1.1\r\nHost: verify\r\n\r\n",
  "a space in the path": "GET /service/ ping HTTP/1.1\r\nHost: verify\r\n\r\n",
  "bytes beyond ASCII in the path": "GET /service/p\u00efng HTTP/1.1\r\nHost: verify\r\n\r\n",
  "a path without a slash": "GET service/ping HTTP/1.1\r\nHost: verify\r\n\r\n",
  "the verb CONNECT": "CONNECT verify:80 HTTP/1.1\r\nHost: verify:80\r\n\r\n",
  "HTTP/3.0": "GET /service/ping HTTP/3.0\r\nHost: verify\r\n\r\n",
  "line feeds alone": "GET /service/ping HTTP/1.1\nHost: verify\n\n",
  "a greeting": "hello\r\n\r\n",
  "the HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "TLS where HTTP is expected": "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003\r\n\r\n",
  "an unknown expectation": `${ping}Host: verify\r\nExpect: nonsense\r\n\r\n`,
  "100 KB of path": `GET /${"a".repeat(100_000)} HTTP/1.1\r\nHost: verify\r\n\r\n`,
  "100 KB of header": `${ping}Host: verify\r\nX-Verify: ${"a".repeat(100_000)}\r\n\r\n`,
  "5,000 headers": `${ping}Host: verify\r\n${"X-Verify: a\r\n".repeat(5_000)}\r\n`,
  "a length and chunks": `${post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "two lengths": `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
  "a negative length": `${post}Content-Length: -2\r\n\r\n{}`,
  "a length of letters": `${post}Content-Length: two\r\n\r\n{}`,
  "an unknown transfer encoding": `${post}Transfer-Encoding: gzip\r\n\r\nabc`,
  "a bad chunk size": `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc`,
};

/** Unusual but valid HTTP: any answer in the envelope is accepted. */
const odd: Readonly<Record<string, string>> = {
  "two Host headers": `${ping}Host: a\r\nHost: b\r\n\r\n`,
  "HTTP/1.0": "GET /service/ping HTTP/1.0\r\n\r\n",
  "an absolute target": "GET http://elsewhere.example/service/ping HTTP/1.1\r\nHost: verify\r\n\r\n",
  "an upgrade to WebSocket": `${ping}Host: verify\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  "two Authorization headers":
    "GET /users/me HTTP/1.1\r\nHost: a\r\nAuthorization: Service a\r\nAuthorization: b\r\n\r\n",
  "two Content-Type headers": `${post}Content-Type: a/b\r\nContent-Type: c/d\r\nContent-Length: 2\r\n\r\n{}`,
  "the verb CONNECT in lower case": "connect /service/ping HTTP/1.1\r\nHost: verify\r\n\r\n",
  "a body longer than its length": `${post}Content-Length: 2\r\n\r\n{}{}{}\r\n\r\n`,
};

const strangePaths = [
  ...["/checkins/..", "/checkins/../users/me", "/checkins/%2e%2e", "/checkins/%2e%2e/users/me"],
  ...["/checkins/%2e%2e%2fusers%2fme", "/checkins/%252e%252e", "/users/me/../../_/health/live", "/checkins/%00"],
  ...["/checkins/%0d%0aX-Injected:%201", "/checkins/%c0%af", "/checkins/%ff", "/checkins/%", "/checkins/%zz"],
  ...["/checkins/%ed%a0%80", "/users%2fme", "/users%EF%BC%8Fme", "/users\\me", "/checkins//", "//service/ping"],
  ...["/checkins/;", "/checkins/*", `/checkins/${"a".repeat(8_000)}`],
  ...[`/users/identities/${"%F0%9F%99%82".repeat(300)}/x`, `/nothing/${"a".repeat(8_000)}`],
];

/** Requests that no HTTP library sends (hostile.md 17, 18). */
export const hostileHttp = group("hostile-http", (it) => {
  for (const [what, bytes] of Object.entries(broken))
    it(`hostile.md 17 · Malformed request, refused in the envelope: ${what}`, async (world) => {
      const [answer] = await world.sendBytes(Buffer.from(bytes, "latin1"));
      if (answer === undefined) throw new Error(`the connection closed without an answer\n${what}`);
      expectRefused(answer);
    });
  for (const [what, bytes] of Object.entries(odd))
    it(`hostile.md 17 · Unusual request, answered in the envelope: ${what}`, async (world) => {
      const answers = await world.sendBytes(Buffer.from(bytes, "latin1"));
      if (answers.length === 0) throw new Error(`the connection closed without an answer\n${what}`);
      for (const answer of answers) expectNoFault(answer);
    });
  for (const verb of ["BREW", "PROPFIND", "TRACE", "QUERY", "LINK", "get"])
    it(`spec/transport#paths-and-verbs · Unknown verb: 404 OperationNotFound for ${verb} /service/ping`, async (world) => {
      const [answer] = await world.sendBytes(`${verb} /service/ping HTTP/1.1\r\nHost: verify\r\n\r\n`);
      if (answer === undefined) throw new Error(`the connection closed without an answer\n${verb} /service/ping`);
      expectError(answer, further.operationNotFound);
    });
  for (const path of strangePaths)
    it(`hostile.md 18 · GET ${path.length > 60 ? `${path.slice(0, 60)}…` : path}: nothing but an envelope`, async (world) => {
      const { token } = await sharedUser(world);
      for (const tokens of [{}, { token }]) {
        const answer = await world.call(`GET ${path}`, tokens);
        expectNoFault(answer);
        expectThat(answer, answer.headers["x-injected"] === undefined, "no injected header");
        const isPing = answer.body.result === "Pong";
        expectThat(answer, answer.status >= 400 || isPing || path === "/checkins//", "no access to another resource");
      }
    });
  it("spec/transport#body-limits · 413 RequestTooLarge as soon as the length is known", async (world) => {
    const [answer] = await world.sendBytes(`${post}Content-Length: 999999999999\r\n\r\n{"appid":`);
    if (answer === undefined) throw new Error("no answer to a length of 999999999999");
    expectError(answer, further.tooLarge);
  });
  it("hostile.md 17 · A body that stops halfway is refused or dropped", async (world) => {
    const half = `${post}Content-Length: 200\r\n\r\n{"appid":`;
    for (const answer of await world.sendBytes(half, { end: true })) expectRefused(answer);
  });
  it("hostile.md 17 · A body that arrives byte by byte is accepted", async (world) => {
    const { token } = await sharedUser(world);
    const body = '{"location":"1,2"}';
    const chunks = [...body].map((byte) => `1\r\n${byte}\r\n`).join("");
    const head = `POST /checkins HTTP/1.1\r\nHost: verify\r\nAuthorization: Service ${token}\r\n`;
    const [answer] = await world.sendBytes(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    if (answer === undefined) throw new Error("the connection closed without an answer");
    expectResult(answer, 201);
  });
  it("hostile.md 17 · Fifty unfinished requests do not delay others", async (world) => {
    const sockets = Array.from({ length: 50 }, () => world.connect());
    for (const socket of sockets) socket.write(`${post}Content-Length: 100\r\n\r\n{"appid"`);
    try {
      expectResult(await world.call("GET /service/ping"));
      await signUp(world);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });
  it("spec/transport#broken-requests · Consecutive requests on one connection are answered in order", async (world) => {
    const answers = await world.sendBytes(`${ping}Host: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n`, {
      quietMs: 2_000, // for the second answer of a busy server
    });
    const [first, second] = answers;
    if (first === undefined || second === undefined) throw new Error(`${answers.length} answers to two requests`);
    expectResult(first);
    expectError(second, further.operationNotFound);
  });
  it("hostile.md 17, 18 · The service is still healthy", async (world) => {
    expectResult(await world.call("GET /_/health/ready"));
    await signUp(world);
  });
});
