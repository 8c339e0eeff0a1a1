// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Server } from "node:net";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { StreamSink } from "../contract/stream-result.ts";
import { Exchange } from "./exchange.ts";
import { sendStream } from "./send-stream.ts";

const waitMsMax = 30_000;
const piece = Buffer.alloc(65_536);

// spec/streams#slow-clients
describe("a closed stream", () => {
  const servers: Server[] = [];
  after(() => {
    for (const server of servers) server.close();
  });

  it("loses its connection when the client does not read the rest", async () => {
    const begun = Promise.withResolvers<StreamSink>();
    const server = createServer((request, response) =>
      sendStream(new Exchange(request, response), { headers: {}, open: () => begun.resolve }),
    ).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
    client.on("error", () => {});
    client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); // and reads nothing
    const sink = await begun.promise;
    await fill(sink);
    sink.end(piece);
    await untilUnused(server);
    client.destroy();
  });
});

/** Writes until the system takes no more. */
async function fill(sink: StreamSink): Promise<void> {
  while (sink.waitingBytes === 0) {
    sink.write(piece);
    await sleep(1);
  }
}

async function untilUnused(server: Server): Promise<void> {
  const endsAt = performance.now() + waitMsMax;
  const connections = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
  while ((await connections()) !== 0) {
    assert.ok(performance.now() < endsAt, "the connection was still open");
    await sleep(20);
  }
}
