import { isIPv6 } from "node:net";
import { setFlagsFromString } from "node:v8";

/**
 * Compiles the regular expression of Node.js for IPv6, with which it checks each address that it listens on. V8 takes a
 * thirtieth of the start to optimize it before its first use, so that is left to the second.
 */
export function compileAddressPattern(): void {
  setFlagsFromString("--no-regexp-optimization");
  isIPv6("::1");
  setFlagsFromString("--regexp-optimization"); // V8's default
}
