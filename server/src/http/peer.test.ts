import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { processorTime } from "../../test/processor-time.ts";
import { createPeers } from "./peer.ts";

/** A request over a connection from this address: no other machine is there to call from. */
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

describe("the address of a client", () => {
  it("is that of the connection when nobody is trusted, whatever the headers say", () => {
    assert.equal(addressOf([], "203.0.113.9", "198.51.100.7"), "203.0.113.9");
    assert.equal(addressOf([], "127.0.0.1", "198.51.100.7"), "127.0.0.1");
  });

  it("is that of the connection when another one is trusted", () => {
    assert.equal(addressOf(["10.0.0.1", "loopback"], "203.0.113.9", "198.51.100.7"), "203.0.113.9");
  });

  it("is the rightmost that no trusted proxy has: what a client puts before it is its own claim", () => {
    const trusted = ["10.0.0.0/8", "2001:db8::/32"];
    assert.equal(addressOf(trusted, "10.0.0.1", "203.0.113.9"), "203.0.113.9");
    assert.equal(addressOf(trusted, "10.0.0.1", "198.51.100.7, 203.0.113.9"), "203.0.113.9");
    assert.equal(addressOf(trusted, "10.0.0.1", "10.0.0.9,203.0.113.9 , 10.1.2.3"), "203.0.113.9");
    assert.equal(addressOf(trusted, "2001:db8::1", "127.0.0.1, 2001:dead::1,10.1.2.3"), "2001:dead::1");
    assert.equal(addressOf(trusted, "10.0.0.1", "10.0.0.3, 10.0.0.2"), "10.0.0.3", "a proxy that calls by itself");
  });

  it("is that of the last proxy that tells one: not what is none", () => {
    for (const text of ["", " ", "unknown", "_hidden", "1.2.3", "1.2.3.4.5", "::g", "a".repeat(9_000), "<script>"]) {
      assert.equal(addressOf(["10.0.0.0/8"], "10.0.0.1", text), "10.0.0.1", text);
      assert.equal(addressOf(["10.0.0.0/8"], "10.0.0.1", `203.0.113.9, ${text}`), "10.0.0.1", text);
      assert.equal(addressOf(["10.0.0.0/8"], "10.0.0.1", `${text}, 10.0.0.2`), "10.0.0.2", text);
    }
  });

  it("is read with a port too, and in one spelling", () => {
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

  it("takes no time to speak of to find, however long the header is", () => {
    const peers = createPeers(["10.0.0.0/8"]);
    const request = requestFrom("10.0.0.1", { "x-forwarded-for": "10.0.0.1,".repeat(100_000) });
    const spentMs = processorTime();
    for (let n = 0; n < 10; n += 1) peers.addressOf(request);
    assert.ok(spentMs() < 1_000);
  });

  it("is a text also when the connection has gone", () => {
    assert.equal(createPeers(["loopback"]).addressOf(new IncomingMessage(new Socket())), "");
  });
});

describe("whether a client came over https", () => {
  const isSecure = (from: string, protocol: string) =>
    createPeers(["10.0.0.0/8"]).isSecure(requestFrom(from, { "x-forwarded-proto": protocol }));

  it("is believed of a trusted proxy, which writes last", () => {
    for (const text of ["https", "HTTPS", "http, https", " https "])
      assert.equal(isSecure("10.0.0.1", text), true, text);
    for (const text of ["http", "", "https, http", "https;", "wss"])
      assert.equal(isSecure("10.0.0.1", text), false, text);
  });

  it("is nobody else's to say", () => {
    for (const from of ["203.0.113.9", "127.0.0.1", "::1"]) assert.equal(isSecure(from, "https"), false, from);
  });
});
