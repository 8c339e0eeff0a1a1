import { isInsecure, normalizeAddress } from "../lib/address.ts";
import { ConfigurationError } from "./errors.ts";

/**
 * @param option the name of the app's option for the address
 * @throws ConfigurationError unless it is an address whose traffic cannot be read in transit
 */
export function checkAddress(option: string, address: unknown, isInsecureAllowed = false): string {
  const normal = normalizeAddress(address);
  if (normal !== undefined && (isInsecureAllowed || !isInsecure(normal))) return normal;
  const rule = "must be an https:// address without a password; http:// needs the option insecure";
  throw new ConfigurationError(`${option} ${rule}.`);
}

/** @throws ConfigurationError for a string that is invalid in a header; the runtime's own error would contain the token */
export function checkToken(option: string, token: unknown): void {
  if (typeof token !== "string" || !/^[!-~]+$/.test(token))
    throw new ConfigurationError(`${option} must be a token of the service.`);
}
