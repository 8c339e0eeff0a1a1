import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import { takeRandomBytes } from "./random.ts";

/** Encrypts bytes into a text that only the holder of the secret can read or create. */
export interface Sealer {
  /** @param context is authenticated: the text opens only with the same context */
  seal(plain: string | Uint8Array, context: string): string;
  /** Returns the plain text; undefined when the text is forged, altered, or of another secret, purpose or context. */
  open(sealed: string, context: string): string | undefined;
  /** The same for plain bytes. */
  openBytes(sealed: string, context: string): Buffer | undefined;
  /** Whether the text was sealed with the newest secret. */
  isNewest(sealed: string): boolean;
}

const keyIdBytes = 4;
const saltBytes = 16;
const tagBytes = 16;
const headBytes = keyIdBytes + saltBytes;
// Each text has its own key (below), so a fixed nonce is safe: no nonce repeats under a key.
const nonce = Buffer.alloc(12);
const base64urlPattern = /^[A-Za-z0-9_-]+$/;

/**
 * A sealer with AES-256-GCM. Layout: key id (4 bytes), salt (16), ciphertext, tag (16), in base64url.
 *
 * The key of a text is HMAC-SHA256(key of the secret, salt). Random 96-bit nonces under a single key would limit the
 * number of texts to about four billion; a 128-bit salt does not.
 *
 * @param secrets newest first: the first one seals, all of them open, so that secrets can be rotated
 * @param purpose texts of one purpose do not open under another
 */
export function createSealer(secrets: readonly string[], purpose: string): Sealer {
  const keys = secrets.map((secret) => deriveKey(secret, purpose));
  const newest = keys[0];
  if (newest === undefined) throw new Error("createSealer needs a secret");

  function openBytes(sealed: string, context: string): Buffer | undefined {
    if (!base64urlPattern.test(sealed)) return undefined;
    const bytes = Buffer.from(sealed, "base64url");
    // The unused bits of the last character would allow several spellings of one token.
    if (bytes.length < headBytes + tagBytes || bytes.toString("base64url") !== sealed) return undefined;
    const key = keys.find(({ id }) => id.equals(bytes.subarray(0, keyIdBytes)))?.key;
    if (key === undefined) return undefined;
    const salt = bytes.subarray(keyIdBytes, headBytes);
    const decipher = createDecipheriv("aes-256-gcm", keyOfText(key, salt), nonce);
    decipher.setAAD(Buffer.from(context, "utf8"));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const plain = decipher.update(bytes.subarray(headBytes, -tagBytes));
      decipher.final();
      return plain;
    } catch {
      return undefined;
    }
  }

  return {
    seal(plain, context) {
      const salt = takeRandomBytes(saltBytes);
      const cipher = createCipheriv("aes-256-gcm", keyOfText(newest.key, salt), nonce);
      cipher.setAAD(Buffer.from(context, "utf8"));
      const body = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain);
      cipher.final();
      return Buffer.concat([newest.id, salt, body, cipher.getAuthTag()]).toString("base64url");
    },

    open: (sealed, context) => openBytes(sealed, context)?.toString("utf8"),
    openBytes,

    isNewest: (sealed) => Buffer.from(sealed, "base64url").subarray(0, keyIdBytes).equals(newest.id),
  };
}

function deriveKey(secret: string, purpose: string): { id: Buffer; key: Buffer } {
  const bytes = Buffer.from(hkdfSync("sha256", secret, "rollcall", purpose, 32 + keyIdBytes));
  return { key: bytes.subarray(0, 32), id: bytes.subarray(32) };
}

function keyOfText(key: Buffer, salt: Buffer): Buffer {
  return createHmac("sha256", key).update(salt).digest();
}
