import { BlockList } from "node:net";

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
