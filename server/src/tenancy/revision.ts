import { randomBytes } from "node:crypto";

/**
 * A new value of `applications.revision`, by which processes notice that their cache of its tokens and policy is
 * outdated. No application has had it before, so that none returns to an earlier one with a restored archive.
 */
export function newRevision(): string {
  return randomBytes(12).toString("base64url");
}
