// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { processorTime } from "../../test/processor-time.ts";
import { createPeers } from "./peer.ts";

/** A fake request from this address, because tests cannot connect from other machines. */
function requestFrom(address: string, headers: Readonly<Record<string, string>> = {}): IncomingMessage {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  const request = new IncomingMessage(socket);
  Object.assign(request.headers, headers);
  return request;
}

function addressOf(trusted: readonly string[], from: string, forwardedFor?: string): string {
  const headers = forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor };
  return createPeers(trusted).addressOf(requestFrom(from, headers));
}

// spec/transport#client-addresses
describe("the address of a client", () => {
  it("is the address of the connection when no proxy is trusted, whatever the headers are", () => {
    assert.equal(addressOf([], "203.0.113.9", "198.51.100.7"), "203.0.113.9");
    assert.equal(addressOf([], "127.0.0.1", "198.51.100.7"), "127.0.0.1");
  });

  it("is the address of the connection when only another proxy is trusted", () => {
    assert.equal(addressOf(["10.0.0.1", "loopback"], "203.0.113.9", "198.51.100.7"), "203.0.113.9");
  });

  it("is the rightmost address that is not a trusted proxy, because the client may have sent the ones before it", () => {
    const trusted = ["10.0.0.0/8", "2001:db8::/32"];
    assert.equal(addressOf(trusted, "10.0.0.1", "203.0.113.9"), "203.0.113.9");
    assert.equal(addressOf(trusted, "10.0.0.1", "198.51.100.7, 203.0.113.9"), "203.0.113.9");
    assert.equal(addressOf(trusted, "10.0.0.1", "10.0.0.9,203.0.113.9 , 10.1.2.3"), "203.0.113.9");
    assert.equal(addressOf(trusted, "2001:db8::1", "127.0.0.1, 2001:dead::1,10.1.2.3"), "2001:dead::1");
    assert.equal(addressOf(trusted, "10.0.0.1", "10.0.0.3, 10.0.0.2"), "10.0.0.3", "a proxy that calls by itself");
  });

  it("is the address of the last proxy that reports a valid one", () => {
    for (const text of ["", " ", "unknown", "_hidden", "1.2.3", "1.2.3.4.5", "::g", "a".repeat(9_000), "<script>"]) {
      assert.equal(addressOf(["10.0.0.0/8"], "10.0.0.1", text), "10.0.0.1", text);
      assert.equal(addressOf(["10.0.0.0/8"], "10.0.0.1", `203.0.113.9, ${text}`), "10.0.0.1", text);
      assert.equal(addressOf(["10.0.0.0/8"], "10.0.0.1", `${text}, 10.0.0.2`), "10.0.0.2", text);
    }
  });

  it("is accepted with a port, and normalized", () => {
    const spellings: Readonly<Record<string, string>> = {
      "203.0.113.9:4711": "203.0.113.9",
      "[2001:db8::1]:4711": "2001:db8::1",
      "[2001:db8::1]": "2001:db8::1",
      "::ffff:203.0.113.9": "203.0.113.9",
      "::ffff:cb00:7109": "203.0.113.9",
      "[::FFFF:CB00:7109]:4711": "203.0.113.9",
      "fe80::1%eth0": "fe80::1",
    };
    for (const [text, address] of Object.entries(spellings))
      assert.equal(addressOf(["loopback"], "::1", text), address);
    assert.equal(addressOf([], "::ffff:203.0.113.9"), "203.0.113.9");
    assert.equal(addressOf(["10.0.0.0/8"], "::ffff:10.0.0.1", "203.0.113.9"), "203.0.113.9");
    assert.equal(addressOf(["fe80::/10"], "fe80::2%eth0", "203.0.113.9"), "203.0.113.9");
  });

  it("is found in bounded time, however long the header is", () => {
    const peers = createPeers(["10.0.0.0/8"]);
    const request = requestFrom("10.0.0.1", { "x-forwarded-for": "10.0.0.1,".repeat(100_000) });
    const spentMs = processorTime();
    for (let n = 0; n < 10; n += 1) peers.addressOf(request);
    assert.ok(spentMs() < 1_000);
  });

  it("is a string even after the connection has closed", () => {
    assert.equal(createPeers(["loopback"]).addressOf(new IncomingMessage(new Socket())), "");
  });
});

describe("whether a client used https", () => {
  const isSecure = (from: string, protocol: string) =>
    createPeers(["10.0.0.0/8"]).isSecure(requestFrom(from, { "x-forwarded-proto": protocol }));

  it("is taken from the last entry of a trusted proxy", () => {
    for (const text of ["https", "HTTPS", "http, https", " https "])
      assert.equal(isSecure("10.0.0.1", text), true, text);
    for (const text of ["http", "", "https, http", "https;", "wss"])
      assert.equal(isSecure("10.0.0.1", text), false, text);
  });

  it("cannot be claimed by other clients", () => {
    for (const from of ["203.0.113.9", "127.0.0.1", "::1"]) assert.equal(isSecure(from, "https"), false, from);
  });
});
