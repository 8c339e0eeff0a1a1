import type { IncomingMessage } from "node:http";
import { BlockList, isIP, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { unmapIpv4 } from "../lib/ip-addresses.ts";

/** Who is at the other end of a request, as far as that can be known. */
export interface Peers {
  /** The IP address of the client; behind trusted proxies, the last one that they did not give themselves. */
  addressOf(request: IncomingMessage): string;
  /** Whether the client sent it over TLS, to this server or to a trusted proxy. */
  isSecure(request: IncomingMessage): boolean;
  /** Whether it was sent on this very machine. What a proxy hands on was, if the proxy is trusted and says so. */
  isLocal(request: IncomingMessage): boolean;
}

/**
 * Reads `X-Forwarded-For` and `X-Forwarded-Proto`, and believes them as far as trusted proxies have written them. Each
 * proxy appends the address that called it:
 *
 * ```
 * X-Forwarded-For: 198.51.100.7, 203.0.113.9, 10.0.0.2      from 10.0.0.1
 *                  └ whatever    └ the client └ trusted          └ trusted
 * ```
 *
 * So they are read from the right, and the first that is no trusted proxy is the client: what stands left of it is the
 * client's own claim.
 *
 * @param trusted addresses, blocks as `10.0.0.0/8`, and `loopback`
 */
export function createPeers(trusted: readonly string[]): Peers {
  const proxies = blockListOf(trusted);
  const trustsAny = trusted.length > 0;

  function isProxied({ socket }: IncomingMessage): boolean {
    return trustsAny && contains(proxies, socketAddress(socket));
  }

  function addressOf(request: IncomingMessage): string {
    let address = socketAddress(request.socket);
    const forwarded = request.headers["x-forwarded-for"];
    if (!trustsAny || forwarded === undefined) return address;
    for (const hop of hopsOf(forwarded)) {
      if (!contains(proxies, address)) return address;
      const before = readAddress(hop);
      if (before === undefined) return address; // the proxy does not tell
      address = before;
    }
    return address;
  }

  return {
    addressOf,
    isSecure(request) {
      const protocol = request.headers["x-forwarded-proto"];
      if (protocol === undefined || !isProxied(request)) return request.socket instanceof TLSSocket;
      return `${protocol}`.split(",").at(-1)?.trim().toLowerCase() === "https"; // what the proxy itself has seen
    },
    isLocal(request) {
      const { headers, socket } = request;
      if (!contains(loopback, socketAddress(socket))) return false;
      if (forwardingHeaders.every((name) => headers[name] === undefined)) return true;
      const forwarded = headers["x-forwarded-for"];
      return (
        forwarded !== undefined &&
        isProxied(request) &&
        hopsOf(forwarded).every((hop) => contains(loopback, readAddress(hop) ?? ""))
      );
    },
  };
}

/** The addresses that proxies say that they were called from, the last of them first. */
function hopsOf(forwarded: string | string[]): string[] {
  return `${forwarded}`.split(",").slice(-hopsMax).reverse();
}

/** More proxies in a row are nowhere; what is to be read is bounded. */
const hopsMax = 32;

const forwardingHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-real-ip"];
const loopbackBlocks = ["127.0.0.0/8", "::1/128"];
const loopback = blockListOf(loopbackBlocks);

function blockListOf(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks.flatMap((each) => (each === "loopback" ? loopbackBlocks : [each]))) {
    const [address = "", length] = block.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (length === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(length), family);
  }
  return list;
}

function contains(list: BlockList, address: string): boolean {
  return address !== "" && list.check(address, address.includes(":") ? "ipv6" : "ipv4");
}

/** Empty once the connection is gone, if nobody has asked before. */
function socketAddress({ remoteAddress = "" }: Socket): string {
  return plainAddress(remoteAddress);
}

/** As proxies write one: perhaps with a port, and then in brackets if it has colons itself. */
function readAddress(text: string): string | undefined {
  const [, address = text.trim()] = /^\[([^\]]*)\](?::\d+)?$|^/.exec(text.trim()) ?? [];
  const plain = plainAddress(/^[\d.]+:\d+$/.test(address) ? address.slice(0, address.indexOf(":")) : address);
  return isIP(plain) === 0 ? undefined : plain;
}

/** One spelling of an address: IPv4 as such also where the socket speaks IPv6, and without the name of a network card. */
function plainAddress(address: string): string {
  if (!address.includes(":")) return address;
  return unmapIpv4(address.includes("%") ? address.slice(0, address.indexOf("%")) : address);
}
