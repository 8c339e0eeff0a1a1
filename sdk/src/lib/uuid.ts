import { hexOf, randomBytes } from "./hex.ts";

/** A random UUID (version 4). Pages without TLS lack `crypto.randomUUID`, which is the quicker way. */
export function newUuid(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  return hexOf(randomBytes()).replace(/^(.{8})(.{4}).(.{3}).(.{3})/, "$1-$2-4$3-8$4-");
}
