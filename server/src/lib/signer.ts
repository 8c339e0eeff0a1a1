import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { deriveFromEach, type Secrets } from "./secret-ring.ts";

/** Signs public strings, so that only the holder of the secret can create them. Signatures are deterministic. */
export interface Signer {
  sign(text: string): string;
  isSigned(text: string, signature: string): boolean;
}

/**
 * Creates a signer with HMAC-SHA256.
 *
 * @param secrets newest first: one signs, and all verify
 * @param purpose signatures are valid for one purpose only
 */
export function createSigner(secrets: Secrets, purpose: string): Signer {
  const keys = deriveFromEach(secrets, (secret) => Buffer.from(hkdfSync("sha256", secret, "rollcall", purpose, 32)));
  const signatureOf = (key: Buffer, text: string) => createHmac("sha256", key).update(text).digest("base64url");
  return {
    sign: (text) => signatureOf(keys.sealing, text),
    isSigned: (text, signature) =>
      keys.all.some((key) => {
        const [right, given] = [Buffer.from(signatureOf(key, text)), Buffer.from(signature)];
        return right.length === given.length && timingSafeEqual(right, given);
      }),
  };
}
