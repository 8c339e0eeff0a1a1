// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { PostgresSession } from "./session.ts";

/** A server's reply to a startup without authentication: authentication succeeded, ready for statements. */
const welcome = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");
const timeoutMs = 5_000;

describe("a session of PostgreSQL", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /** @returns the address of the server and its number of connections */
  async function listen(receive: (socket: Socket) => void) {
    const accepted = { count: 0, at: "" };
    const server = createServer((socket) => {
      accepted.count += 1;
      socket.on("error", () => {});
      receive(socket);
    });
    servers.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    accepted.at = `127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
    return accepted;
  }

  /** @returns the error codes of two statements */
  async function run(hosts: readonly string[], parameters = ""): Promise<unknown[]> {
    const session = new PostgresSession(`postgres://rollcall@${hosts.join(",")}/rollcall${parameters}`, { timeoutMs });
    const outcomes = await Promise.allSettled([session.run("select 1", []), session.run("select 2", [])]);
    assert.ok(session.isBroken);
    return outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.code : outcome.value));
  }

  const lost = ["CONNECTION_CLOSED", "CONNECTION_CLOSED"];

  for (const parameters of ["", "?sslmode=require"]) {
    it(`tries once when connections are closed without an answer ${parameters}`, async () => {
      const server = await listen((socket) => socket.end());
      assert.deepEqual(await run([server.at], parameters), lost);
      assert.equal(server.count, 1);
    });
  }

  it("tries each of several hosts once when none of them answers", async () => {
    const [one, other] = [await listen((socket) => socket.end()), await listen((socket) => socket.resetAndDestroy())];
    assert.deepEqual(await run([one.at, other.at]), lost);
    assert.deepEqual([one.count, other.count], [1, 1]);
  });

  it("an unreachable address fails the statements and does not crash the process", async () => {
    // Thrown before a listener is attached.
    assert.deepEqual(await run(["255.255.255.255"]), ["ENETUNREACH", "CONNECTION_CLOSED"]);
  });

  it("an invalid address fails immediately", async () => {
    assert.deepEqual(await run(["127.0.0.1:1", "127.0.0.1:70000"]), ["ERR_SOCKET_BAD_PORT", "CONNECTION_CLOSED"]);
  });

  it("a reset before the first answer fails only the waiting statements", async () => {
    const server = await listen((socket) => {
      socket.once("data", () => {
        socket.write(welcome);
        socket.once("data", () => socket.resetAndDestroy());
      });
    });
    // An unhandled rejection would crash the process.
    assert.deepEqual(await run([server.at]), ["ECONNRESET", "CONNECTION_CLOSED"]);
    assert.equal(server.count, 1);
  });
});
