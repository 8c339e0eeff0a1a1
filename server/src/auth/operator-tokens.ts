import { randomBytes } from "node:crypto";
import type { Secrets } from "../lib/secret-ring.ts";
import { createSigner } from "../lib/signer.ts";

/** Issues the tokens of operator sessions, and detects forged ones without asking the database (hostile.md 1). */
export interface OperatorTokens {
  /** A new token: a prefix that distinguishes it from every client token, 256 random bits, and their signature. */
  issue(): string;
  /** True for tokens issued in this region under one of the secrets, even after their session was deleted. */
  isIssued(text: string): boolean;
}

/** The random bits and their signature. */
const pattern = /^ro_([\w-]{43})([\w-]{43})$/;

export function createOperatorTokens(settings: { readonly secrets: Secrets; readonly region: string }): OperatorTokens {
  const signer = createSigner(settings.secrets, "operator token");
  const signed = (bits: string) => `${settings.region}.${bits}`;
  return {
    issue() {
      const bits = randomBytes(32).toString("base64url");
      return `ro_${bits}${signer.sign(signed(bits))}`;
    },
    isIssued(text) {
      const [, bits, signature] = pattern.exec(text) ?? [];
      return bits !== undefined && signature !== undefined && signer.isSigned(signed(bits), signature);
    },
  };
}
