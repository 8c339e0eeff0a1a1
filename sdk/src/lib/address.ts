/**
 * Normalizes an address: removes the query, the fragment and trailing slashes.
 *
 * @returns undefined if it is not an http(s) address, or contains a user name
 */
export function normalizeAddress(address: unknown): string | undefined {
  try {
    const { protocol, username, password, origin, pathname } = new URL(`${address}`);
    if (!/^https?:$/.test(protocol) || username !== "" || password !== "") return undefined;
    return origin + pathname.replace(/\/+$/, "");
  } catch {
    return undefined;
  }
}

/** Whether traffic to an address can be read in transit: it is neither https nor this machine. */
export function isInsecure(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "http:" && !/^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
