import { isIPv6 } from "node:net";
import { setFlagsFromString } from "node:v8";

/**
 * Compiles the IPv6 pattern of Node.js, which it applies to each address that it listens on, without optimizing it: the
 * optimization takes V8 about 3 % of the start-up time, and otherwise runs before the first use.
 */
export function compileAddressPattern(): void {
  setFlagsFromString("--no-regexp-optimization");
  isIPv6("::1");
  setFlagsFromString("--regexp-optimization"); // V8's default
}
