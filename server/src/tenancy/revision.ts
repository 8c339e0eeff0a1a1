import { randomBytes } from "node:crypto";

/**
 * Returns a new value of `applications.revision`, by which processes notice that their cache of its tokens and policy
 * is outdated. It is unique, so that a restored archive does not bring back an earlier revision.
 */
export function newRevision(): string {
  return randomBytes(12).toString("base64url");
}
