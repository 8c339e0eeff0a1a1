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
const numberBytes = 2;
const tagBytes = 16;
const nonceBytes = 12;
/** Enough that a key costs nothing per text, and few in case a running machine is copied and repeats their numbers. */
const textsPerSeries = 1_000;
const base64urlPattern = /^[A-Za-z0-9_-]+$/;

/** The key of a secret for one purpose and layout, and its id. */
interface SecretKey {
  readonly id: Buffer;
  readonly key: Buffer;
  readonly isSeries: boolean;
}

/**
 * A sealer with AES-256-GCM. Layout: key id (4 bytes), salt (16), ciphertext, tag (16), in base64url.
 *
 * The key of a text is HMAC-SHA256(key of the secret, salt), under a constant nonce. Random 96-bit nonces under a single
 * key would limit the number of texts to about four billion; a 128-bit salt does not.
 *
 * @param secrets newest first: the first one seals, all of them open, so that secrets can be rotated
 * @param purpose texts of one purpose do not open under another
 */
export function createSealer(secrets: readonly string[], purpose: string): Sealer {
  const keys = secrets.map((secret) => deriveKey(secret, purpose, false));
  const newest = newestOf(keys);
  return sealerOf(keys, newest, () => {
    const salt = takeRandomBytes(saltBytes);
    return { head: Buffer.concat([newest.id, salt]), key: keyOfSalt(newest, salt), nonce: Buffer.alloc(nonceBytes) };
  });
}

/**
 * A sealer for texts as frequent as requests: all texts of a series have one salt, hence one key, and each its number as
 * nonce. Layout: key id (4 bytes), salt (16), number (2), ciphertext, tag (16), in base64url. The salt is drawn at random
 * by each process, so two processes never share a key. Also opens what `createSealer` sealed.
 */
export function createSeriesSealer(secrets: readonly string[], purpose: string): Sealer {
  const keys = secrets.map((secret) => deriveKey(secret, purpose, true));
  const newest = newestOf(keys);
  let salt: Buffer = Buffer.alloc(0);
  let key: Buffer = salt;
  let count = textsPerSeries;
  return sealerOf([...keys, ...secrets.map((secret) => deriveKey(secret, purpose, false))], newest, () => {
    if (count === textsPerSeries) {
      salt = takeRandomBytes(saltBytes);
      key = keyOfSalt(newest, salt);
      count = 0;
    }
    const number = Buffer.alloc(numberBytes);
    number.writeUInt16BE(count);
    count += 1;
    return { head: Buffer.concat([newest.id, salt, number]), key, nonce: nonceOf(number) };
  });
}

/**
 * @param nextText the bytes before the ciphertext of the next text, and a pair of key and nonce that no other text has
 */
function sealerOf(
  keys: readonly SecretKey[],
  newest: SecretKey,
  nextText: () => { readonly head: Buffer; readonly key: Buffer; readonly nonce: Buffer },
): Sealer {
  function openBytes(sealed: string, context: string): Buffer | undefined {
    if (!base64urlPattern.test(sealed)) return undefined;
    const bytes = Buffer.from(sealed, "base64url");
    // The unused bits of the last character would allow several spellings of one token.
    if (bytes.toString("base64url") !== sealed) return undefined;
    const key = keys.find(({ id }) => id.equals(bytes.subarray(0, keyIdBytes)));
    if (key === undefined) return undefined;
    const saltEnd = keyIdBytes + saltBytes;
    const headEnd = key.isSeries ? saltEnd + numberBytes : saltEnd;
    if (bytes.length < headEnd + tagBytes) return undefined;
    const nonce = nonceOf(bytes.subarray(saltEnd, headEnd));
    const decipher = createDecipheriv("aes-256-gcm", keyOfSalt(key, bytes.subarray(keyIdBytes, saltEnd)), nonce);
    decipher.setAAD(Buffer.from(context, "utf8"));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const plain = decipher.update(bytes.subarray(headEnd, -tagBytes));
      decipher.final();
      return plain;
    } catch {
      return undefined;
    }
  }

  return {
    seal(plain, context) {
      const { head, key, nonce } = nextText();
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      cipher.setAAD(Buffer.from(context, "utf8"));
      const body = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain);
      cipher.final();
      return Buffer.concat([head, body, cipher.getAuthTag()]).toString("base64url");
    },

    open: (sealed, context) => openBytes(sealed, context)?.toString("utf8"),
    openBytes,

    isNewest: (sealed) => Buffer.from(sealed, "base64url").subarray(0, keyIdBytes).equals(newest.id),
  };
}

function newestOf(keys: readonly SecretKey[]): SecretKey {
  const [newest] = keys;
  if (newest === undefined) throw new Error("a sealer needs a secret");
  return newest;
}

function deriveKey(secret: string, purpose: string, isSeries: boolean): SecretKey {
  const info = isSeries ? `${purpose}, series` : purpose;
  const bytes = Buffer.from(hkdfSync("sha256", secret, "rollcall", info, 32 + keyIdBytes));
  return { key: bytes.subarray(0, 32), id: bytes.subarray(32), isSeries };
}

function keyOfSalt({ key }: SecretKey, salt: Buffer): Buffer {
  return createHmac("sha256", key).update(salt).digest();
}

/** @param number empty for the constant nonce */
function nonceOf(number: Buffer): Buffer {
  const nonce = Buffer.alloc(nonceBytes);
  number.copy(nonce, nonceBytes - number.length);
  return nonce;
}
