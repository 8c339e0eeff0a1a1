import { isIPv6 } from "node:net";

/** An IPv4 address as such, also where it is written as an IPv6 one, in whichever of its spellings; others as they are. */
export function unmapIpv4(address: string): string {
  const [, dotted, high = "", low = ""] = mappedPattern.exec(address) ?? [];
  if ((dotted === undefined && high === "") || !isIPv6(address)) return address;
  const pairs = [high, low].map((group) => Number.parseInt(group, 16));
  return dotted ?? pairs.flatMap((pair) => [pair >> 8, pair & 0xff]).join(".");
}

/** Of what is an IPv6 address: five groups of zeros come before. */
const mappedPattern = /^[0:]+:ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i;

/** Who is behind an address, as far as one can tell: of IPv6 the first 64 bits, of which a household has all the others. */
export function addressGroup(given: string): string {
  if (!given.includes(":")) return given;
  const address = unmapIpv4(given);
  if (!isIPv6(address)) return address;
  const [head = "", tail] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const groups = head === "" ? [] : head.split(":");
  // An IPv4 address at the end stands for two groups; the first four are what is needed.
  const after =
    tail === undefined || tail === ""
      ? []
      : tail.split(":").flatMap((each) => (each.includes(".") ? ["", ""] : [each]));
  const whole =
    tail === undefined ? groups : [...groups, ...Array(8 - groups.length - after.length).fill("0"), ...after];
  return `${whole
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::`;
}
