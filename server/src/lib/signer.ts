import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

/** Signs public texts so that only the holder of the secret can create them. Signatures are deterministic. */
export interface Signer {
  sign(text: string): string;
  isSigned(text: string, signature: string): boolean;
}

/**
 * A signer with HMAC-SHA256.
 *
 * @param secrets newest first: the first one signs, all of them verify
 * @param purpose signatures are valid for one purpose only
 */
export function createSigner(secrets: readonly string[], purpose: string): Signer {
  const keys = secrets.map((secret) => Buffer.from(hkdfSync("sha256", secret, "rollcall", purpose, 32)));
  const [newest] = keys;
  if (newest === undefined) throw new Error("createSigner needs a secret");
  const signatureOf = (key: Buffer, text: string) => createHmac("sha256", key).update(text).digest("base64url");
  return {
    sign: (text) => signatureOf(newest, text),
    isSigned: (text, signature) =>
      keys.some((key) => {
        const [right, given] = [Buffer.from(signatureOf(key, text)), Buffer.from(signature)];
        return right.length === given.length && timingSafeEqual(right, given);
      }),
  };
}
