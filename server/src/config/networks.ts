import { BlockList, isIP } from "node:net";
import { checked, list } from "./reader.ts";

/** IP addresses, blocks such as `10.0.0.0/8`, and `loopback`. */
export const trustedProxies = checked(
  list,
  (words) => words.every((word) => word === "loopback" || isAddressBlock(word)),
  "must be IP addresses, blocks of them (10.0.0.0/8) and loopback, separated by commas; not everybody (/0)",
);

export const networks = checked(
  list,
  (words) => words.every(isAddressBlock),
  "must be IP addresses and blocks of them (10.0.0.0/8), separated by commas; not all addresses (/0)",
);

/** Whether the string is an IP address, or a block that does not contain all addresses. */
function isAddressBlock(given: string): boolean {
  const [, address = "", mask] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(given) ?? [];
  const family = isIP(address);
  const bits = family === 4 ? 32 : 128;
  const length = mask === undefined ? bits : Number(mask);
  if (family === 0 || length < 1 || length > bits) return false;
  const block = new BlockList();
  block.addSubnet(address, length, family === 4 ? "ipv4" : "ipv6");
  return !(block.check("0.0.0.0") && block.check("255.255.255.255")); // some IPv6 blocks contain all of IPv4
}

export function isLoopback(host: string): boolean {
  return ["localhost", "::1"].includes(host.toLowerCase()) || /^127(\.\d{1,3}){3}$/.test(host);
}
