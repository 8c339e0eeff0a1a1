import { createHmac, randomBytes } from "node:crypto";
import type { WebhookRow } from "../db/tables.ts";
import { createSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";

const secretPrefix = "whsec_";
const secretBytes = 32;

/** Returns a new secret in the format that receivers configure. */
export function newWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString("base64");
}

/** The decrypted columns that an attempt needs. */
export interface OpenedWebhook {
  /** The valid secrets, newest first. */
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

type SealedColumns = Pick<
  WebhookRow,
  "application_id" | "id" | "secret" | "older_secret" | "older_secret_ends_at" | "headers" | "header_names"
>;

/** Seals secrets and header values, bound to their webhook. */
export interface WebhookSealer {
  sealSecret(applicationId: string, id: string, secret: string): string;
  sealHeaders(applicationId: string, id: string, headers: ReadonlyMap<string, string>): string | null;
  /** @returns undefined when a column is missing, as after an import, or is sealed under another ROLLCALL_SECRET */
  open(row: SealedColumns, now: number): OpenedWebhook | undefined;
  /** Reseals the columns that are sealed under an older ROLLCALL_SECRET under the newest. */
  resealed(row: SealedColumns): Partial<Pick<WebhookRow, "secret" | "older_secret" | "headers">>;
}

/** @param given newest first */
export function createWebhookSealer(given: Secrets): WebhookSealer {
  const sealer = createSealer(given, "webhooks");
  const contextOf = (applicationId: string, id: string, what: "secret" | "headers") => `${applicationId} ${id} ${what}`;

  function reseal(row: SealedColumns, column: "secret" | "older_secret" | "headers") {
    const sealed = row[column];
    if (sealed === null || sealer.isNewest(sealed)) return {};
    const context = contextOf(row.application_id, row.id, column === "headers" ? "headers" : "secret");
    const text = sealer.open(sealed, context);
    return text === undefined ? {} : { [column]: sealer.seal(text, context) };
  }

  return {
    sealSecret: (applicationId, id, secret) => sealer.seal(secret, contextOf(applicationId, id, "secret")),

    sealHeaders: (applicationId, id, headers) =>
      headers.size === 0
        ? null
        : sealer.seal(JSON.stringify(Object.fromEntries(headers)), contextOf(applicationId, id, "headers")),

    open({ application_id, id, secret, older_secret, older_secret_ends_at, headers, header_names }, now) {
      const context = contextOf(application_id, id, "secret");
      const newest = secret === null ? undefined : sealer.open(secret, context);
      const older =
        older_secret === null || older_secret_ends_at <= now ? undefined : sealer.open(older_secret, context);
      const values = headers === null ? "{}" : sealer.open(headers, contextOf(application_id, id, "headers"));
      const areHeadersMissing = headers === null && header_names !== "[]";
      if (newest === undefined || values === undefined || areHeadersMissing) return undefined;
      const secrets = older === undefined ? [newest] : [newest, older];
      return { secrets, headers: JSON.parse(values) }; // the seal guarantees its shape
    },

    resealed: (row) => ({ ...reseal(row, "secret"), ...reseal(row, "older_secret"), ...reseal(row, "headers") }),
  };
}
/**
 * Returns the value of `webhook-signature` (Standard Webhooks 1.0).
 *
 * @param secrets newest first
 * @param timestamp in seconds
 */
export function signWebhook(secrets: readonly string[], id: string, timestamp: number, body: string): string {
  const signed = `${id}.${timestamp}.${body}`;
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
      return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
    })
    .join(" ");
}
