import type { IncomingMessage } from "node:http";
import { isIP, type Socket } from "node:net";
import { createAddressBlocks, unmapIpv4 } from "../lib/ip-addresses.ts";

/** Information about the client of a request, which may be behind trusted proxies. */
export interface Peers {
  /** Returns the IP address of the client; behind trusted proxies, the last untrusted address in the chain. */
  addressOf(request: IncomingMessage): string;
  /** Whether the client used TLS, to this server or to a trusted proxy. */
  isSecure(request: IncomingMessage): boolean;
  /**
   * Returns the root URL that the client used, as reported by the client or a trusted proxy; undefined if it is
   * invalid.
   */
  rootOf(request: IncomingMessage): string | undefined;
  /** Whether the client is on this machine. Behind a proxy, true only if the proxy is trusted and reports it. */
  isLocal(request: IncomingMessage): boolean;
}

/**
 * Reads the parts of `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host` that trusted proxies have written.
 * Each proxy appends the address that called it:
 *
 * ```
 * X-Forwarded-For: 198.51.100.7, 203.0.113.9, 10.0.0.2      from 10.0.0.1
 *                  └ unverified  └ the client └ trusted          └ trusted
 * ```
 *
 * So the header is read from the right, and the first untrusted address is the client: the client itself may have sent
 * the addresses to its left.
 *
 * @param trusted addresses, blocks such as `10.0.0.0/8`, and `loopback`
 */
export function createPeers(trusted: readonly string[]): Peers {
  const proxies = createAddressBlocks(trusted);
  const trustsAny = trusted.length > 0;

  function isProxied({ socket }: IncomingMessage): boolean {
    return trustsAny && proxies.contain(socketAddress(socket));
  }

  function addressOf(request: IncomingMessage): string {
    let address = socketAddress(request.socket);
    const forwarded = request.headers["x-forwarded-for"];
    if (!trustsAny || forwarded === undefined) return address;
    for (const hop of hopsOf(forwarded)) {
      if (!proxies.contain(address)) return address;
      const before = readAddress(hop);
      if (before === undefined) return address; // the proxy does not report an address
      address = before;
    }
    return address;
  }

  function isSecure(request: IncomingMessage): boolean {
    const protocol = request.headers["x-forwarded-proto"];
    if (protocol === undefined || !isProxied(request)) return "encrypted" in request.socket;
    return `${protocol}`.split(",").at(-1)?.trim().toLowerCase() === "https"; // the entry of the proxy itself
  }

  return {
    addressOf,
    isSecure,
    rootOf(request) {
      const forwarded = isProxied(request) ? request.headers["x-forwarded-host"] : undefined;
      const [host = ""] = `${forwarded ?? request.headers.host ?? ""}`.split(","); // the entry of the client's proxy
      return hostPattern.test(host.trim()) ? `${isSecure(request) ? "https" : "http"}://${host.trim()}` : undefined;
    },
    isLocal(request) {
      const { headers, socket } = request;
      if (!loopback.contain(socketAddress(socket))) return false;
      if (forwardingHeaders.every((name) => headers[name] === undefined)) return true;
      const forwarded = headers["x-forwarded-for"];
      return (
        forwarded !== undefined &&
        isProxied(request) &&
        hopsOf(forwarded).every((hop) => loopback.contain(readAddress(hop) ?? ""))
      );
    },
  };
}

/** Returns the addresses in X-Forwarded-For, last hop first. */
function hopsOf(forwarded: string | string[]): string[] {
  return `${forwarded}`.split(",").slice(-hopsMax).reverse();
}

/** A name or an address, with an optional port. */
const hostPattern = /^(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Bounds the work; longer proxy chains do not exist. */
const hopsMax = 32;

const forwardingHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-real-ip"];
const loopback = createAddressBlocks(["loopback"]);

/** Returns an empty string if the connection closed before the first call. */
function socketAddress({ remoteAddress = "" }: Socket): string {
  return plainAddress(remoteAddress);
}

/** Parses an address as proxies write it: with an optional port, and with IPv6 in brackets before a port. */
function readAddress(text: string): string | undefined {
  const [, address = text.trim()] = /^\[([^\]]*)\](?::\d+)?$|^/.exec(text.trim()) ?? [];
  const plain = plainAddress(/^[\d.]+:\d+$/.test(address) ? address.slice(0, address.indexOf(":")) : address);
  return isIP(plain) === 0 ? undefined : plain;
}

/** Normalizes an address: an IPv4-mapped IPv6 address becomes IPv4, and a zone id is removed. */
function plainAddress(address: string): string {
  if (!address.includes(":")) return address;
  return unmapIpv4(address.includes("%") ? address.slice(0, address.indexOf("%")) : address);
}
