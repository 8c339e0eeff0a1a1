import { Resolver } from "node:dns/promises";

/** Resolves a host name. @returns an empty list if it has no address or cannot be resolved */
export type LookUp = (name: string) => Promise<readonly string[]>;

const timeoutMs = 2_000;
const tries = 2;

/**
 * Creates a `LookUp` that queries the name servers of the machine. `dns.lookup` would use the small thread pool, where
 * unanswered queries block other work, such as password hashing.
 */
export function createLookUp(): LookUp {
  return async (name) => {
    if (isLocalhost(name)) return ["127.0.0.1", "::1"]; // RFC 6761 section 6.3; name servers may not resolve it
    const resolver = new Resolver({ timeout: timeoutMs, tries }); // reads the machine's current name servers
    const families = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return families.flatMap((family) => (family.status === "fulfilled" ? family.value : []));
  };
}

function isLocalhost(name: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(name);
}
