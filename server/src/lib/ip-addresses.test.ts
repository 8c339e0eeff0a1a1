import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addressGroup, networkOf, networksOf, unmapIpv4 } from "./ip-addresses.ts";

const spellings = [
  "192.0.2.1",
  "::ffff:192.0.2.1",
  "::FFFF:192.0.2.1",
  "::ffff:c000:201",
  "::ffff:C000:0201",
  "0:0:0:0:0:ffff:c000:201",
  "0000:0000:0000:0000:0000:ffff:192.0.2.1",
  "::0:0:ffff:c000:201",
];

describe("unmapIpv4", () => {
  it("unmaps IPv4 addresses in every spelling", () => {
    for (const text of spellings) assert.equal(unmapIpv4(text), "192.0.2.1", text);
    assert.equal(unmapIpv4("::ffff:0:0"), "0.0.0.0");
    assert.equal(unmapIpv4("::ffff:ffff:ffff"), "255.255.255.255");
  });

  it("returns other strings unchanged", () => {
    const others = [
      "::1",
      "2001:db8::ffff:c000:201",
      "::c000:201",
      "::ffff:0:c000:201",
      "::ffff:1.2.3.999",
      ":ffff:1:2",
    ];
    for (const text of [...others, "0:0:ffff:1:2", "", "unknown"]) assert.equal(unmapIpv4(text), text);
  });
});

describe("addressGroup", () => {
  it("groups IPv4 by the complete address, in every spelling", () => {
    for (const text of spellings) assert.equal(addressGroup(text), "192.0.2.1", text);
  });

  it("groups IPv6 by the first 64 bits, in every spelling", () => {
    for (const [text, group] of [
      ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"],
      ["2001:0DB8:0001:0002::", "2001:db8:1:2::"],
      ["2001:db8:1:2::9", "2001:db8:1:2::"],
      ["2001:db8::9", "2001:db8:0:0::"],
      ["2001:db8:0:0:ffff::", "2001:db8:0:0::"],
      ["fe80::1%eth0", "fe80:0:0:0::"],
      ["::1", "0:0:0:0::"],
      ["::", "0:0:0:0::"],
      ["1::2:3:4:5:6:7", "1:0:2:3::"],
      ["64:ff9b::192.0.2.1", "64:ff9b:0:0::"],
    ] as const) {
      assert.equal(addressGroup(text), group, text);
    }
  });

  it("returns other strings unchanged", () => {
    for (const text of ["", "unknown", "a:b", "@"]) assert.equal(addressGroup(text), text);
  });
});

describe("networksOf", () => {
  it("is ordered from coarse to fine", () => {
    assert.deepEqual(networksOf("::ffff:192.0.2.1"), ["192", "192.0", "192.0.2"]);
    assert.deepEqual(networksOf("2001:db8:7:1::1"), ["2001::", "2001:db8::", "2001:db8:7::"]);
    assert.deepEqual(networksOf("unknown"), ["unknown"]);
  });
});

describe("networkOf", () => {
  it("is the /24 of an IPv4 address in every spelling, and the /48 of an IPv6 address", () => {
    for (const text of spellings) assert.equal(networkOf(text), "192.0.2.0", text);
    for (const text of ["2001:db8:7:1::1", "2001:0DB8:0007:ffff::", "2001:db8:7::1.2.3.4"])
      assert.equal(networkOf(text), "2001:db8:7::", text);
    assert.equal(networkOf("::1"), "0:0:0::");
    for (const text of ["", "unknown"]) assert.equal(networkOf(text), text);
  });
});
