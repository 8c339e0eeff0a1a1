import { isIPv6 } from "node:net";

/**
 * Who is behind an address, as far as one can tell: of IPv6 the first 64 bits, of which a household has all the others;
 * IPv4 is the same in either spelling.
 */
export function addressGroup(address: string): string {
  if (!address.includes(":") || !isIPv6(address)) return address;
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
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
