import { randomBytes } from "node:crypto";
import { createSigner } from "../lib/signer.ts";

/** Issues the tokens of operators' sessions, and tells them from made-up ones without asking the database (hostile.md 1). */
export interface OperatorTokens {
  /** A new token: 256 random bits behind a prefix that tells it from every token of a client, and their signature. */
  issue(): string;
  /** True for what was issued in this region under one of the secrets, be its session over by now or not. */
  isIssued(text: string): boolean;
}

/** The random bits and their signature. */
const pattern = /^ro_([\w-]{43})([\w-]{43})$/;

export function createOperatorTokens(settings: {
  readonly secrets: readonly string[];
  readonly region: string;
}): OperatorTokens {
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
