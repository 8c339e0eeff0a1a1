import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";

type Address = IPv4 | IPv6;
type Network = readonly [network: Address, prefixLength: number];

/** Decides which addresses a URL in an application's settings may lead to. */
export interface AddressRule {
  /**
   * False for a string that is not an IP address, and for an address that is neither public nor in an open network.
   */
  isAllowed(address: string): boolean;
  /** Whether an address is allowed and in an open network. */
  isOpened(address: string): boolean;
}

/**
 * Link-local addresses, and the metadata services of AWS (IPv6) and Azure. No setting opens them, because cloud
 * platforms serve machine credentials there to any process.
 */
const closedNetworks = ["169.254.0.0/16", "fe80::/10", "fd00:ec2::/32", "168.63.129.16/32"].map(parseNetwork);

/** The only IPv6 block assigned for global unicast (RFC 4291); `range()` reports unassigned blocks as unicast too. */
const globalUnicast = parseNetwork("2000::/3");

/** @param openNetworks blocks such as `10.0.0.0/8`, or single addresses, that are allowed in addition to public ones */
export function createAddressRule(openNetworks: readonly string[]): AddressRule {
  const open = openNetworks.map(parseNetwork);

  function isPublicOrOpen(address: Address): boolean {
    if (open.some((network) => isIn(address, network))) return true;
    const embedded = embeddedAddresses(address);
    return embedded.length > 0 ? embedded.every(isPublicOrOpen) : isGlobalUnicast(address);
  }

  function isAllowed(text: string): boolean {
    const address = parseAddress(text);
    if (address === undefined) return false;
    const all = [address, ...embeddedAddresses(address)];
    return !all.some((each) => closedNetworks.some((network) => isIn(each, network))) && isPublicOrOpen(address);
  }

  return {
    isAllowed,
    isOpened(text) {
      const address = parseAddress(text);
      if (address === undefined || !isAllowed(text)) return false;
      const embedded = embeddedAddresses(address);
      return [address, ...embedded].some((each) => open.some((network) => isIn(each, network)));
    },
  };
}

function parseAddress(text: string): Address | undefined {
  // The library misreads the deprecated `::1.2.3.4` as an IPv4-mapped address.
  return ipaddr.isValid(text) && !/^::\d+\./.test(text) ? ipaddr.parse(text) : undefined;
}

function isGlobalUnicast(address: Address): boolean {
  return address.range() === "unicast" && (address.kind() === "ipv4" || isIn(address, globalUnicast));
}

/**
 * Returns the IPv4 addresses that a packet to an IPv6 address can reach through the machine, a translator or a tunnel.
 */
function embeddedAddresses(address: Address): readonly IPv4[] {
  if (address.kind() === "ipv4") return [];
  const bytes = address.toByteArray();
  const at = (start: number) => ipaddr.fromByteArray(bytes.slice(start, start + 4)) as IPv4; // four bytes
  const text = (address as IPv6).toNormalizedString(); // it is not IPv4
  switch (address.range()) {
    case "ipv4Mapped": // ::ffff:a.b.c.d
    case "rfc6145": // ::ffff:0:a.b.c.d
      return [at(12)];
    case "rfc6052": // NAT64. The local-use prefix (RFC 8215) is refused, because it has no fixed position for the address.
      return text.startsWith("64:ff9b:0:") ? [at(12)] : [];
    case "6to4":
      return [at(2)];
    case "teredo": // the server, and the client with its bits inverted (RFC 4380 section 4)
      return [at(4), ipaddr.fromByteArray(bytes.slice(12).map((byte) => byte ^ 0xff)) as IPv4]; // four bytes
    default:
      return [];
  }
}

function isIn(address: Address, [network, length]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, length);
}

function parseNetwork(text: string): Network {
  if (text.includes("/")) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}
