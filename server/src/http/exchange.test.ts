// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { Exchange } from "./exchange.ts";

/** Calls a server that answers with `answer`. */
async function call(answer: (exchange: Exchange) => Promise<void>, method = "GET") {
  const server = createServer((incoming, outgoing) => answer(new Exchange(incoming, outgoing)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const outgoing = request({ host: "127.0.0.1", port, method, agent: false });
  outgoing.end();
  const [response] = await once(outgoing, "response");
  return {
    response,
    async end() {
      outgoing.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("a response that is streamed", () => {
  it("is sent completely, with its headers", async () => {
    const { response, end } = await call(async (exchange) => {
      exchange.setHeader("X-Kind", "stream");
      await exchange.stream(206, Readable.from(["a", "b"]));
    });
    assert.deepEqual([response.statusCode, response.headers["x-kind"]], [206, "stream"]);
    assert.equal(await text(response), "ab");
    await end();
  });

  it("can be replaced by another response if the stream fails before its first byte", async () => {
    const { response, end } = await call(async (exchange) => {
      const failing = new Readable({ read: () => failing.destroy(new Error("unreadable")) });
      await assert.rejects(exchange.stream(200, failing), /unreadable/);
      exchange.send(500, "failed");
    });
    assert.equal(response.statusCode, 500);
    assert.equal(await text(response), "failed");
    await end();
  });

  it("is cut if the stream fails later", async () => {
    const source = new PassThrough();
    source.write("first");
    const { response, end } = await call((exchange) => exchange.stream(200, source));
    await once(response, "readable");
    source.destroy(new Error("unreadable"));
    await assert.rejects(text(response), /aborted/);
    await end();
  });

  it("destroys its stream when the client disconnects", async () => {
    const source = new PassThrough();
    source.write("first");
    const streamed = Promise.withResolvers<void>();
    const { response, end } = await call((exchange) => exchange.stream(200, source).finally(streamed.resolve));
    await once(response, "readable");
    response.destroy();
    await Promise.all([streamed.promise, once(source, "close")]);
    assert.ok(source.destroyed);
    await end();
  });
});

describe("a response without a body", () => {
  it("has Content-Length 0, except where HTTP forbids the header", async () => {
    const lengths: unknown[] = [];
    for (const [status, method] of [
      [201, "POST"],
      [204, "GET"],
      [304, "GET"],
      [200, "HEAD"],
    ] as const) {
      const { response, end } = await call(async (exchange) => exchange.send(status), method);
      lengths.push(response.headers["content-length"]);
      await end();
    }
    assert.deepEqual(lengths, ["0", undefined, undefined, undefined]);
  });
});
