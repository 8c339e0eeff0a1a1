// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, get } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { text } from "node:stream/consumers";
import { it } from "node:test";
import { listenOnOtherAddresses } from "./listening.ts";

/** Whether this machine has the address: a container may have no IPv6. */
async function canListen(host: string): Promise<boolean> {
  const probe = createNetServer().listen(0, host);
  try {
    await once(probe, "listening");
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

it("a server on localhost listens on each address of localhost, and closes all of them", async () => {
  const server = createServer((_request, response) => response.end("here"));
  server.listen(0, "localhost");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const closeOthers = await listenOnOtherAddresses(server, { host: "localhost", port });
  const addresses = (await lookup("localhost", { all: true })).map(({ address }) => address);
  const usable: string[] = [];
  for (const address of addresses) if (await canListen(address)) usable.push(address);
  assert.ok(usable.length > 0);
  const ask = async (host: string) => {
    const [response] = await once(get({ host, port, agent: false }), "response");
    return text(response);
  };
  for (const address of usable) assert.equal(await ask(address), "here", address);
  await Promise.all([new Promise((resolve) => server.close(resolve)), closeOthers()]);
  for (const address of usable) await assert.rejects(ask(address), { code: "ECONNREFUSED" }, address);
});

it("a server on another host listens only on its address", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const closeOthers = await listenOnOtherAddresses(server, { host: "127.0.0.1", port });
  await closeOthers();
  assert.ok(server.listening);
  server.close();
});
