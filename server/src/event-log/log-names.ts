import { takeRandomBytes } from "../lib/random.ts";

const nameBytes = 6;

/** A name that no log has had: cursors with another name are reset. */
export function newLogName(): string {
  return takeRandomBytes(nameBytes).toString("base64url");
}
