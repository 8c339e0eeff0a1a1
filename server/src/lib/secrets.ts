import { hash, randomBytes } from "node:crypto";

/** Creates an application key: 256 random bits after a prefix that no id has, so that leaked keys are recognizable. */
export function newApplicationKey(): string {
  return `rk_${randomBytes(32).toString("base64url")}`;
}

/** Creates an operator password: 120 random bits that can be typed. */
export function newOperatorPassword(): string {
  return randomBytes(15).toString("base64url");
}

/** The allowed length of an application's shared secret, in characters. */
export const signingSecretCharacters = { min: 16, max: 256 } as const;

/** Creates a shared secret for an application and its clients (spec/authentication#signatures). */
export function newSigningSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Creates a secret for a deployment (ROLLCALL_SECRET). */
export function newServerSecret(): string {
  return randomBytes(32).toString("hex");
}

/**
 * Returns the stored form of a secret with full entropy: its SHA-256 in hex. Not for passwords, which need a slow hash.
 */
export function digestSecret(secret: string): string {
  return hash("sha256", secret, "hex");
}
