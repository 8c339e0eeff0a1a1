import { hash, randomBytes } from "node:crypto";

/** A new application key: 256 random bits behind a prefix that no id has, so that it stands out where it must not be. */
export function newApplicationKey(): string {
  return `rk_${randomBytes(32).toString("base64url")}`;
}

/** A new password of an operator, 120 random bits that can be typed. */
export function newOperatorPassword(): string {
  return randomBytes(15).toString("base64url");
}

/** How long a secret may be that an application shares with its clients, in characters. */
export const signingSecretCharacters = { min: 16, max: 256 } as const;

/** A new secret that an application shares with its clients (surface.md section 13). */
export function newSigningSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** A new secret for a deployment (ROLLCALL_SECRET). */
export function newServerSecret(): string {
  return randomBytes(32).toString("hex");
}

/**
 * What is stored of a secret with full entropy: its SHA-256 in hex. Not for passwords, which need a slow hash.
 */
export function digestSecret(secret: string): string {
  return hash("sha256", secret, "hex");
}
