// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createAddressRule } from "./address-rule.ts";

const publicAddresses = [
  "1.1.1.1",
  "93.184.215.14",
  "100.63.255.255",
  "172.32.0.1",
  "192.0.1.1",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00:1450:4001:82b::200e",
  "::ffff:1.1.1.1",
  "64:ff9b::1.1.1.1",
  "2002:101:101::1",
];

const otherAddresses: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.1", "127.255.255.254", "::1"],
  unspecified: ["0.0.0.0", "0.1.2.3", "::"],
  private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
  "link-local": ["169.254.169.254", "fe80::1", "febf::1", "fe80::1%eth0"],
  shared: ["100.64.0.1", "100.100.100.200", "100.127.255.255"],
  "unique local": ["fc00::1", "fd12:3456::1", "fd00:ec2::254"],
  "site-local": ["fec0::1"],
  multicast: ["224.0.0.1", "239.255.255.250", "ff02::1"],
  documentation: ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
  benchmarking: ["198.18.0.1", "198.19.255.255", "2001:2::1"],
  reserved: [
    "192.0.0.192",
    "192.88.99.1",
    "240.0.0.1",
    "255.255.255.255",
    "2001::1",
    "100::1",
    "5f00::1",
    "4000::1",
    "e000::1",
  ],
  "metadata services": ["168.63.129.16"],
  "inside an IPv4-mapped address": ["::ffff:10.0.0.1", "::ffff:7f00:1", "::FFFF:169.254.169.254"],
  "inside an IPv4-compatible address": ["::127.0.0.1", "::10.0.0.1", "::1.1.1.1"],
  "inside an IPv4-translated address": ["::ffff:0:10.0.0.1"],
  "inside a NAT64 address": ["64:ff9b::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1.1.1.1", "64:ff9b:1:a00:1::"],
  "inside a 6to4 address": ["2002:a00:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1"],
  // The client of a Teredo address is inverted: f5ff:fffe is 10.0.0.1, fefe:fefe is 1.1.1.1.
  "inside a Teredo address": ["2001:0:101:101:0:0:f5ff:fffe", "2001:0:a00:1:0:0:fefe:fefe"],
  "no address": ["", "localhost", "example.com", "1.2.3.4.5", "1.2.3.4/8", ":::", "1.1.1.1 "],
};

describe("the addresses that an editor's URL may lead to (hostile.md 44)", () => {
  const { isAllowed } = createAddressRule([]);

  it("include public ones, even embedded in IPv6 addresses", () => {
    for (const address of publicAddresses) assert.ok(isAllowed(address), address);
  });

  for (const [kind, addresses] of Object.entries(otherAddresses)) {
    it(`exclude: ${kind}`, () => {
      for (const address of addresses) assert.ok(!isAllowed(address), address);
    });
  }
});

describe("OUTGOING_NETWORKS", () => {
  it("opens only its blocks and addresses, even embedded in IPv6 addresses", () => {
    const { isAllowed } = createAddressRule(["10.1.0.0/16", "192.168.7.7", "fd12::/16"]);
    for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "192.168.7.7", "fd12::1", "1.1.1.1"]) {
      assert.ok(isAllowed(address), address);
    }
    for (const address of ["10.2.0.1", "192.168.7.8", "fd13::1", "::1"]) assert.ok(!isAllowed(address), address);
  });

  it("opens no link-local address and no metadata service", () => {
    const all = ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"];
    const { isAllowed } = createAddressRule(all);
    assert.ok(isAllowed("127.0.0.1"));
    for (const closed of ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"]) {
      assert.ok(!isAllowed(closed), closed);
    }
    for (const closed of ["fe80::1", "fd00:ec2::254", "168.63.129.16"]) assert.ok(!isAllowed(closed), closed);
  });
});
