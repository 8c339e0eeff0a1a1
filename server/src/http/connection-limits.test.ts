// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { openRaw, startTestApp } from "../../test/harness.ts";
import { until } from "../../test/until.ts";
import { createConnectionLimits } from "./http-server.ts";

/** A connection without a network. */
class Connection extends EventEmitter {
  readonly remoteAddress: string;
  isOpen = true;
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
  destroy(): void {
    this.isOpen = false;
    this.emit("close");
  }
}

// spec/limits#connections, hostile.md 43
describe("connections", () => {
  const warnings: object[] = [];
  const log = { warn: (details: object) => void warnings.push(details) };

  function limit(connectionsMax: number, connectionsPerAddressMax?: number) {
    const isProxy = (address: string) => address === "10.0.0.1";
    const limits = createConnectionLimits({ connectionsMax, connectionsPerAddressMax, isProxy, log });
    return (address: string) => {
      const connection = new Connection(address);
      limits.admit(connection as unknown as Socket); // of a socket, only these members are used
      return connection;
    };
  }

  it("of one address are bounded, by /64 for IPv6, except for trusted proxies and this machine", () => {
    const open = limit(100);
    const first = Array.from({ length: 25 }, () => open("203.0.113.7"));
    assert.ok(first.every(({ isOpen }) => isOpen));
    assert.equal(open("::ffff:203.0.113.7").isOpen, false);
    assert.equal(open("203.0.113.8").isOpen, true);
    first[0]?.destroy();
    assert.equal(open("203.0.113.7").isOpen, true);
    assert.equal(open("203.0.113.7").isOpen, false);
    for (let count = 0; count < 25; count += 1) assert.equal(open(`2001:db8::${count}`).isOpen, true);
    assert.equal(open("2001:db8::ff").isOpen, false);
    for (const address of ["10.0.0.1", "127.0.0.1"]) {
      const bare = limit(100, 2);
      for (let count = 0; count < 50; count += 1) assert.equal(bare(address).isOpen, true);
    }
  });

  it("are bounded in total, with at most one log line per minute", () => {
    warnings.length = 0;
    const open = limit(10, 10);
    const all = Array.from({ length: 12 }, (_, index) => open(`203.0.113.${index}`));
    assert.equal(all.filter(({ isOpen }) => isOpen).length, 10);
    all[0]?.destroy();
    assert.equal(open("127.0.0.1").isOpen, true);
    assert.equal(open("127.0.0.1").isOpen, false);
    assert.deepEqual(warnings, [{ address: "203.0.113.10", connections: 10 }]);
  });

  it("beyond CONNECTIONS_MAX are closed, and new ones are accepted when others have closed", async (t) => {
    const test = await startTestApp({ CONNECTIONS_MAX: "3" });
    t.after(() => test.close());
    const request = "GET /service/ping HTTP/1.1\r\nHost: a\r\n\r\n";
    const kept = Array.from({ length: 3 }, () => openRaw(test.port));
    for (const connection of kept) {
      connection.write(request);
      assert.equal((await connection.receive())?.status, 200);
    }
    assert.equal(await openRaw(test.port).receive(), undefined);
    for (const connection of kept) connection.close();
    await until(async () => {
      const connection = openRaw(test.port);
      connection.write(request);
      const answer = await connection.receive();
      connection.close();
      return answer?.status === 200;
    }, 10_000);
  });
});
