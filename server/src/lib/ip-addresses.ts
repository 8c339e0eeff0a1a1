import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Converts an IPv4-mapped IPv6 address in any spelling to IPv4; returns other addresses unchanged. */
export function unmapIpv4(address: string): string {
  const [, dotted, high = "", low = ""] = mappedPattern.exec(address) ?? [];
  if ((dotted === undefined && high === "") || !isIPv6(address)) return address;
  const pairs = [high, low].map((group) => Number.parseInt(group, 16));
  return dotted ?? pairs.flatMap((pair) => [pair >> 8, pair & 0xff]).join(".");
}

/** Applied to valid IPv6 addresses only, so that five groups of zeros precede. */
const mappedPattern = /^[0:]+:ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i;

/**
 * Groups addresses by presumed client: IPv6 by the first 64 bits, because one household has all addresses with them.
 */
export function addressGroup(given: string): string {
  if (!given.includes(":")) return given;
  const address = unmapIpv4(given);
  return isIPv6(address) ? ipv6Prefix(address, 4) : address;
}

/** Returns the network of an address that typically has one owner: an IPv4 /24, an IPv6 /48. */
export function networkOf(given: string): string {
  const address = unmapIpv4(given);
  if (isIPv4(address)) return `${address.slice(0, address.lastIndexOf("."))}.0`;
  return isIPv6(address) ? ipv6Prefix(address, 3) : address;
}

/** Returns the networks of an address, from coarse to fine: /8, /16 and /24 for IPv4; /16, /32 and /48 for IPv6. */
export function networksOf(given: string): readonly string[] {
  const address = unmapIpv4(given);
  if (isIPv4(address)) {
    const [first, second, third] = address.split(".");
    return [`${first}`, `${first}.${second}`, `${first}.${second}.${third}`];
  }
  return isIPv6(address) ? [1, 2, 3].map((count) => ipv6Prefix(address, count)) : [address];
}

function ipv6Prefix(address: string, groupCount: number): string {
  const [head = "", tail] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const groups = head === "" ? [] : head.split(":");
  // A trailing IPv4 address stands for two groups, whose values are irrelevant: the result has at most four groups.
  const after =
    tail === undefined || tail === ""
      ? []
      : tail.split(":").flatMap((each) => (each.includes(".") ? ["", ""] : [each]));
  const whole =
    tail === undefined ? groups : [...groups, ...Array(8 - groups.length - after.length).fill("0"), ...after];
  return `${whole
    .slice(0, groupCount)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::`;
}

/** Whether an address belongs to this machine, or is empty because its connection is closed. */
export function isLoopback(address: string): boolean {
  return address === "" || address === "::1" || address.startsWith("127.");
}

/** A set of IP addresses. */
export interface AddressBlocks {
  /** Returns false for an empty address. */
  contain(address: string): boolean;
}

const loopbackBlocks = ["127.0.0.0/8", "::1/128"];

/** @param blocks addresses, blocks such as `10.0.0.0/8`, and `loopback` */
export function createAddressBlocks(blocks: readonly string[]): AddressBlocks {
  const list = new BlockList();
  for (const block of blocks.flatMap((each) => (each === "loopback" ? loopbackBlocks : [each]))) {
    const [address = "", length] = block.split("/");
    if (length === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(length), familyOf(address));
  }
  return { contain: (address) => address !== "" && list.check(address, familyOf(address)) };
}

/** Returns a check whether an address is in one of the blocks. Without blocks, every address passes. */
export function createAddressRule(blocks: readonly string[]): (address: string) => boolean {
  const allowed = createAddressBlocks(blocks);
  return (address) => blocks.length === 0 || allowed.contain(address);
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}
