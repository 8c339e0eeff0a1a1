// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { shareReads } from "./shared-reads.ts";

describe("Shared reads", () => {
  let server: Server;
  before(async () => {
    server = createServer({ allowHalfOpen: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(() => server.close());

  async function open(): Promise<{ readonly client: Socket; readonly accepted: Socket }> {
    const connection = once(server, "connection");
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    return { client, accepted: (await connection)[0] };
  }

  it("the pinned Node.js supports them, each connection gets its own bytes in their order, and its end", async () => {
    const connections: Awaited<ReturnType<typeof open>>[] = [];
    while (connections.length < 20) connections.push(await open());
    const received = await Promise.all(
      connections.map(async ({ client, accepted }, number) => {
        const chunks: Buffer[] = [];
        const isShared = shareReads(accepted, (bytes) => chunks.push(Buffer.from(bytes)) > 0);
        assert.equal(isShared, true);
        for (let count = 0; count < 50; count += 1) client.write(`${number}:${count} `.repeat(1_000));
        client.end();
        await once(accepted, "end");
        accepted.destroy();
        const expected = Array.from({ length: 50 }, (__, count) => `${number}:${count} `.repeat(1_000)).join("");
        return Buffer.concat(chunks).toString() === expected;
      }),
    );
    assert.deepEqual(new Set(received), new Set([true]));
  });

  it("a reader that returns false receives nothing until the connection is resumed", async () => {
    const { client, accepted } = await open();
    let bytesReceived = 0;
    shareReads(accepted, ({ length }) => {
      bytesReceived += length;
      return false;
    });
    client.write(Buffer.alloc(1_000_000));
    while (bytesReceived === 0) await new Promise(setImmediate);
    const first = bytesReceived;
    for (let ticks = 0; ticks < 50; ticks += 1) await new Promise(setImmediate);
    assert.equal(bytesReceived, first);
    while (bytesReceived < 1_000_000) {
      accepted.resume();
      await new Promise(setImmediate);
    }
    client.destroy();
    accepted.destroy();
  });
});
