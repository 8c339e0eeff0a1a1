import { randomInt } from "node:crypto";
import type { StoredRow } from "../db/snapshot.ts";

/**
 * Rows that grant access without another check: any row that was deleted or used after the backup would be valid again.
 */
const credentialTables: ReadonlySet<string> = new Set(["user_tokens", "operator_sessions", "password_resets"]);

/**
 * Changes restored rows so that all earlier credentials become invalid: a backup knows neither later revocations nor
 * later versions.
 *
 * The version of each application, the root of the revocation tree, grows by a random number far beyond what
 * revocations can reach: a small step could lead to a version under which tokens were issued and revoked after the
 * backup. For the same reason, two restores of one backup lead to different versions.
 *
 * @returns the change of a row; undefined omits the row
 */
export function createTokenRevocation(): (table: string, row: StoredRow) => StoredRow | undefined {
  const versionsMoved = 2 ** 31 + randomInt(2 ** 31);
  return (table, row) => {
    if (credentialTables.has(table)) return undefined;
    if (table === "mail_outbox" && row["kind"] === "resetCode") return undefined; // its code is no longer valid
    if (table !== "applications") return row;
    return { ...row, token_version: Number(row["token_version"]) + versionsMoved };
  };
}
