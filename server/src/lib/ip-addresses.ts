import { isIPv4, isIPv6 } from "node:net";

/** Unwraps an IPv4-mapped IPv6 address in any spelling; returns other addresses unchanged. */
export function unmapIpv4(address: string): string {
  const [, dotted, high = "", low = ""] = mappedPattern.exec(address) ?? [];
  if ((dotted === undefined && high === "") || !isIPv6(address)) return address;
  const pairs = [high, low].map((group) => Number.parseInt(group, 16));
  return dotted ?? pairs.flatMap((pair) => [pair >> 8, pair & 0xff]).join(".");
}

/** Matches an IPv6 address: five groups of zeros come before. */
const mappedPattern = /^[0:]+:ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i;

/** The presumed client behind an address: for IPv6 the first 64 bits, because a household owns all the others. */
export function addressGroup(given: string): string {
  if (!given.includes(":")) return given;
  const address = unmapIpv4(given);
  return isIPv6(address) ? ipv6Prefix(address, 4) : address;
}

/** The network of an address that one operator typically owns: an IPv4 /24, an IPv6 /48. */
export function networkOf(given: string): string {
  const address = unmapIpv4(given);
  if (isIPv4(address)) return `${address.slice(0, address.lastIndexOf("."))}.0`;
  return isIPv6(address) ? ipv6Prefix(address, 3) : address;
}

/** The networks around {@link networkOf}, from coarse to fine: /8, /16 and /24 for IPv4; /16, /32 and /48 for IPv6. */
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
  // An IPv4 address at the end stands for two groups; no more than the first four groups are needed.
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

/** Whether an address is of this machine, or unknown because its connection is closed. */
export function isLoopback(address: string): boolean {
  return address === "" || address === "::1" || address.startsWith("127.");
}
