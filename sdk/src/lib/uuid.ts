import { hexOf, randomBytes } from "./hex.ts";

/** A random UUID (version 4). `crypto.randomUUID` is missing in pages without TLS. */
export function newUuid(): string {
  const bytes = randomBytes();
  bytes[6] = ((bytes[6] ?? 0) & 15) | 64;
  bytes[8] = ((bytes[8] ?? 0) & 63) | 128;
  return hexOf(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
