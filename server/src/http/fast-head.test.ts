// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { type FastHead, readFastHead } from "./fast-head.ts";

function read(head: string): FastHead | undefined {
  return readFastHead(Buffer.from(head, "latin1"), head);
}

function headOf(...headers: readonly string[]): string {
  return ["GET /users/me?a=1 HTTP/1.1", ...headers, "", ""].join("\r\n");
}

// spec/transport#requests, hostile.md 17 and 18
describe("Heads of the fast path", () => {
  it("a head is read with its target, and its headers in lower case without the spaces around their values", () => {
    const head = headOf("Host: a", "Authorization:  Service a.b_c-d  ", "X-Empty:", "Content-Length: 0");
    assert.deepEqual(read(head), {
      method: "GET",
      url: "/users/me?a=1",
      headers: { host: "a", authorization: "Service a.b_c-d", "x-empty": "", "content-length": "0" },
      headBytes: head.length,
      bodyBytes: 0,
    });
  });

  const unusual: Readonly<Record<string, string>> = {
    "no Host": headOf("Accept: */*"),
    "two Hosts": headOf("Host: a", "host: b"),
    "a header twice": headOf("Host: a", "Accept: a", "accept: b"),
    "two lengths": headOf("Host: a", "Content-Length: 0", "Content-Length: 0"),
    "a list of lengths": headOf("Host: a", "Content-Length: 0, 0"),
    "a signed length": headOf("Host: a", "Content-Length: +0"),
    "a hexadecimal length": headOf("Host: a", "Content-Length: 0x0"),
    "a body in a GET": headOf("Host: a", "Content-Length: 1"),
    chunks: headOf("Host: a", "Transfer-Encoding: chunked"),
    "chunks by another name": headOf("Host: a", "Transfer-Encoding : chunked"),
    "Connection: close": headOf("Host: a", "Connection: close"),
    "an upgrade": headOf("Host: a", "Connection: upgrade", "Upgrade: websocket"),
    "an expectation": headOf("Host: a", "Expect: 100-continue"),
    "a folded line": headOf("Host: a", "X-A: b", " c: d"),
    "a line without a colon": headOf("Host: a", "X-A"),
    "a header without a name": headOf("Host: a", ": b"),
    "a name with an underscore": headOf("Host: a", "Content_Length: 1"),
    "a name that every object has": headOf("Host: a", "constructor: b"),
    "a byte beyond ASCII": headOf("Host: a", "X-A: \xe9"),
    "a control character": headOf("Host: a", "X-A: \x01"),
    "a tab": headOf("Host: a", "X-A:\tb"),
    "a bare line feed": headOf("Host: a", "X-A: b\nTransfer-Encoding: chunked"),
    "a bare carriage return": headOf("Host: a", "X-A: b\rc"),
    "a rehearsal": headOf("Host: a", "Rollcall-Rehearse: cut"),
    "an older version": headOf("Host: a").replace("1.1", "1.0"),
    "another verb": headOf("Host: a").replace("GET", "HEAD"),
    "an absolute target": headOf("Host: a").replace("/users", "http://b/users"),
    "a fragment": headOf("Host: a").replace("?a=1", "#a"),
    "a target with a space": headOf("Host: a").replace("?a=1", "?a= 1"),
    "an empty line before it": `\r\n${headOf("Host: a")}`,
    "many headers": headOf("Host: a", ...Array.from({ length: 64 }, (_, index) => `X-${index}: a`)),
  };
  for (const [name, head] of Object.entries(unusual)) {
    it(`a request with ${name} is left to node:http`, () => assert.equal(read(head), undefined));
  }

  it("no value is a part of the text of the head, which V8 would keep in memory with it", () => {
    const token = "t".repeat(40);
    const head = read(headOf("Host: a", `Authorization: ${token}`));
    assert.equal(head?.headers.authorization, token);
    assert.ok(head.url.length > 12); // a longer part of a text would refer to it
  });
});

// hostile.md 17
describe("The fast path and node:http", () => {
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    text(request).then((body) => response.end(JSON.stringify({ method, url, headers, bodyBytes: body.length })));
  });
  before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  /** How node:http reads a request. */
  async function readByNode(request: string): Promise<unknown> {
    const socket: Socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.end(request, "latin1");
    const answer = await text(socket);
    return JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1));
  }

  it("read every head of the fast path in the same way", async () => {
    const character = fc.constantFrom(..."aZ09-_.:/?&=%+,;@ \t\"'<>[]{}|\\^`~!#$*()\x00\x7f\xe9\r\n");
    const line = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom("Host: a", "Content-Length: 0", "Content-Length: 3", "Accept: */*") },
      { weight: 3, arbitrary: fc.constantFrom("X-A:b ", "Connection: Keep-Alive", "Cookie: a=b; c", "TE: trailers") },
      { weight: 2, arbitrary: fc.string({ unit: character, maxLength: 12 }).map((value) => `X-B: ${value}`) },
      fc.string({ unit: character, maxLength: 12 }),
    );
    const target = fc.oneof(
      fc.constant("/a"),
      fc.string({ unit: character, maxLength: 12 }).map((path) => `/${path}`),
    );
    const verb = fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE");
    let taken = 0;
    const property = fc.asyncProperty(verb, target, fc.array(line, { maxLength: 5 }), async (method, url, lines) => {
      const text = [`${method} ${url} HTTP/1.1`, "Host: a", ...lines, "", ""].join("\r\n");
      const found = read(text);
      if (found === undefined) return;
      taken += 1;
      const { headBytes, ...head } = found;
      assert.equal(headBytes, text.length);
      assert.deepEqual(await readByNode(text + "x".repeat(head.bodyBytes)), head);
    });
    await fc.assert(property, { numRuns: 1_500 });
    assert.ok(taken > 100, `${taken}`);
  });
});
