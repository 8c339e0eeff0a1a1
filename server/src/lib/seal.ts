import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, timingSafeEqual } from "node:crypto";
import { LruMap } from "./lru-map.ts";
import { takeRandomBytes } from "./random.ts";
import { type Derived, deriveFromEach, type Secrets } from "./secret-ring.ts";

/** Encrypts bytes into a string that only the holder of the secret can read or create. */
export interface Sealer {
  /** @param context is authenticated: the string opens only with the same context */
  seal(plain: string | Uint8Array, context: string): string;
  /**
   * Returns the plain text; undefined if the string is forged, altered, or sealed for another secret, purpose or
   * context.
   */
  open(sealed: string, context: string): string | undefined;
  /** Returns the plain bytes, with the same conditions. */
  openBytes(sealed: string, context: string): Buffer | undefined;
  /** Whether the string was sealed with the secret that currently seals. */
  isNewest(sealed: string): boolean;
}

const keyIdBytes = 4;
const saltBytes = 16;
const saltEnd = keyIdBytes + saltBytes;
const tagBytes = 16;
const constantNonce = Buffer.alloc(12);
const base64urlPattern = /^[A-Za-z0-9_-]+$/;

/** The key of a secret for one purpose and layout, and its id. */
interface SecretKey {
  readonly id: Buffer;
  readonly key: Buffer;
  /** @returns undefined if the bytes are forged, altered, or sealed for another context */
  open(bytes: Buffer, context: string): Buffer | undefined;
}

/**
 * Creates a sealer with AES-256-GCM. Layout: key id (4 bytes), salt (16), ciphertext, tag (16), in base64url.
 *
 * Each string has the key HMAC-SHA256(key of the secret, salt), with a constant nonce. Random 96-bit nonces with a
 * single key would limit the number of strings to about four billion; a 128-bit salt does not.
 *
 * @param secrets newest first: one seals, and all open, so that secrets can be rotated
 * @param purpose strings of one purpose do not open with another
 */
export function createSealer(secrets: Secrets, purpose: string): Sealer {
  const keys = deriveFromEach(secrets, (secret) => singleKey(secret, purpose));
  return sealerOf(keys, [], (plain, context) => {
    const { id, key } = keys.sealing;
    const salt = takeRandomBytes(saltBytes);
    const cipher = createCipheriv("aes-256-gcm", keyOfSalt(key, salt), constantNonce);
    cipher.setAAD(Buffer.from(context, "utf8"));
    const body = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain);
    cipher.final();
    return Buffer.concat([id, salt, body, cipher.getAuthTag()]);
  });
}

function singleKey(secret: string, purpose: string): SecretKey {
  const { id, key } = deriveKey(secret, purpose);
  function open(bytes: Buffer, context: string): Buffer | undefined {
    if (bytes.length < saltEnd + tagBytes) return undefined;
    const keyOfText = keyOfSalt(key, bytes.subarray(keyIdBytes, saltEnd));
    const decipher = createDecipheriv("aes-256-gcm", keyOfText, constantNonce);
    decipher.setAAD(Buffer.from(context, "utf8"));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const plain = decipher.update(bytes.subarray(saltEnd, -tagBytes));
      decipher.final();
      return plain;
    } catch {
      return undefined;
    }
  }
  return { id, key, open };
}

const blockBytes = 16;
const numberBytes = 4;
const seriesHeadBytes = saltEnd + numberBytes;
/**
 * The lifetime of a series: long enough that the cost of its keys per string is negligible, and short in case a copy of
 * a running virtual machine repeats the rest of the series. A lifetime in strings would reveal in the salts how many
 * strings a process seals.
 */
const seriesMs = 5_000;
const textsPerSeries = 100_000;
/** A short string takes a random slot of the key stream, out of a run that is computed together. */
const blocksPerSlot = 32;
const slotsPerRun = 64;
/**
 * Runs begin at random multiples of this, so that the numbers of two strings do not reveal how many are between them.
 */
const blocksPerRun = 4_096;
const runsMax = 2 ** (8 * numberBytes) / blocksPerRun;
/** Cached, because most opened strings are recent. */
const seriesCached = 16;

/**
 * Creates a sealer for strings that are as frequent as requests: all strings of a series have one salt, and so the same
 * keys, and each has a separate part of one key stream. Layout: key id (4 bytes), salt (16), number of the first block
 * in the key stream (4), ciphertext, tag (16), in base64url. Each process draws random salts, so that two processes
 * never share a key. Numbers are not ordered. Also opens the strings of `createSealer`.
 *
 * The ciphertext is AES-256-CTR, and the tag is half of the HMAC-SHA256 of all preceding bytes and the context.
 */
export function createSeriesSealer(secrets: Secrets, purpose: string): Sealer {
  const keys = deriveFromEach(secrets, (secret) => seriesKey(secret, purpose));
  const others = deriveFromEach(secrets, (secret) => singleKey(secret, purpose)).all;
  let series = newSeries(keys.sealing);
  return sealerOf(keys, others, (plain, context) => {
    const isExpired = series.texts === textsPerSeries || performance.now() >= series.endsAt;
    if (isExpired || series.of !== keys.sealing) series = newSeries(keys.sealing);
    const size = typeof plain === "string" ? Buffer.byteLength(plain) : plain.length;
    const blocks = Math.max(1, Math.ceil(size / blockBytes)); // an empty string also needs a unique number
    const { number, stream } = takeBlocks(series, blocks);
    const bytes = Buffer.allocUnsafe(seriesHeadBytes + size + tagBytes);
    series.head.copy(bytes);
    bytes.writeUInt32BE(number, saltEnd);
    if (typeof plain === "string") bytes.write(plain, seriesHeadBytes, "utf8");
    else bytes.set(plain, seriesHeadBytes);
    encrypt(bytes.subarray(seriesHeadBytes, seriesHeadBytes + size), stream);
    bytes.write(tagOf(series.tagKey, bytes.subarray(0, -tagBytes), context), seriesHeadBytes + size, "latin1");
    return bytes;
  });
}

function encrypt(bytes: Buffer, stream: Buffer): void {
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = (bytes[index] ?? 0) ^ (stream[index] ?? 0);
}

/** A part of a key stream that only one string uses. */
interface Slot {
  /** The number of its first block. */
  readonly number: number;
  readonly stream: Buffer;
}

/** The strings with one salt. */
interface Series {
  readonly of: SecretKey;
  /** Key id and salt. */
  readonly head: Buffer;
  readonly cipherKey: Buffer;
  readonly tagKey: HmacKey;
  readonly endsAt: number;
  texts: number;
  /** The runs that have been computed. */
  readonly runs: Set<number>;
  /** The unused slots, in random order. */
  slots: Slot[];
}

function newSeries(of: SecretKey): Series {
  const { id, key } = of;
  const salt = takeRandomBytes(saltBytes);
  const { cipherKey, tagKey } = keysOfSeries(key, salt);
  const endsAt = performance.now() + seriesMs;
  return { of, head: Buffer.concat([id, salt]), cipherKey, tagKey, endsAt, texts: 0, runs: new Set(), slots: [] };
}

/** Takes blocks of the key stream, each for one string only. */
function takeBlocks(series: Series, blocks: number): Slot {
  series.texts += 1;
  if (blocks > blocksPerSlot) return computeRun(series, blocks);
  if (series.slots.length === 0) series.slots = newSlots(series);
  return series.slots.pop() as Slot; // the list is not empty
}

function newSlots(series: Series): Slot[] {
  const { number, stream } = computeRun(series, slotsPerRun * blocksPerSlot);
  const bytes = blocksPerSlot * blockBytes;
  const order = takeRandomBytes(slotsPerRun * 4);
  return Array.from({ length: slotsPerRun }, (_, index) => ({
    slot: { number: number + index * blocksPerSlot, stream: stream.subarray(index * bytes, (index + 1) * bytes) },
    rank: order.readUInt32BE(index * 4),
  }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ slot }) => slot);
}

/** Computes an unused part of the key stream, at a random position. */
function computeRun({ cipherKey, runs }: Series, blocks: number): Slot {
  const count = Math.ceil(blocks / blocksPerRun);
  for (;;) {
    const first = Math.floor((takeRandomBytes(4).readUInt32BE() / 2 ** 32) * (runsMax - count + 1));
    const taken = Array.from({ length: count }, (_, index) => first + index);
    if (taken.some((run) => runs.has(run))) continue;
    for (const run of taken) runs.add(run);
    const number = first * blocksPerRun;
    const cipher = createCipheriv("aes-256-ctr", cipherKey, counterAt(number));
    return { number, stream: cipher.update(Buffer.alloc(blocks * blockBytes)) };
  }
}

function seriesKey(secret: string, purpose: string): SecretKey {
  const { id, key } = deriveKey(secret, `${purpose}, key stream`);
  const recent = new LruMap<string, ReturnType<typeof keysOfSeries>>(seriesCached);
  function keysOf(salt: Buffer): ReturnType<typeof keysOfSeries> {
    const name = salt.toString("latin1");
    const known = recent.get(name);
    if (known !== undefined) return known;
    const keys = keysOfSeries(key, salt);
    recent.set(name, keys);
    return keys;
  }
  function open(bytes: Buffer, context: string): Buffer | undefined {
    if (bytes.length < seriesHeadBytes + tagBytes) return undefined;
    const { cipherKey, tagKey } = keysOf(bytes.subarray(keyIdBytes, saltEnd));
    const tag = tagOf(tagKey, bytes.subarray(0, -tagBytes), context);
    if (!timingSafeEqual(Buffer.from(tag, "latin1"), bytes.subarray(-tagBytes))) return undefined;
    const decipher = createDecipheriv("aes-256-ctr", cipherKey, counterAt(bytes.readUInt32BE(saltEnd)));
    return decipher.update(bytes.subarray(seriesHeadBytes, -tagBytes));
  }
  return { id, key, open };
}

function keysOfSeries(key: Buffer, salt: Buffer): { readonly cipherKey: Buffer; readonly tagKey: HmacKey } {
  const bytes = createHmac("sha512", key).update(salt).digest();
  return { cipherKey: bytes.subarray(0, 32), tagKey: hmacKey(bytes.subarray(32)) };
}

/** The length separates the context from the bytes unambiguously. @returns Latin-1 */
function tagOf(tagKey: HmacKey, bytes: Buffer, context: string): string {
  const beginning = `${bytes.length} ${context}`;
  const message = Buffer.allocUnsafe(Buffer.byteLength(beginning) + bytes.length);
  bytes.copy(message, message.write(beginning));
  return hmac(tagKey, message).slice(0, tagBytes);
}

const hashBlockBytes = 64;

/** A key for `hmac`: the prefixes of its two messages. */
interface HmacKey {
  readonly inner: Buffer;
  readonly outer: Buffer;
}

/** @param key at most as long as a block of the hash */
export function hmacKey(key: Buffer): HmacKey {
  const padded = (pad: number) => Buffer.from(Buffer.concat([key], hashBlockBytes).map((byte) => byte ^ pad));
  return { inner: padded(0x36), outer: padded(0x5c) };
}

/**
 * HMAC-SHA256 (RFC 2104). Not `createHmac`, which looks up the algorithm at every call, at a higher cost than both
 * hashes.
 *
 * @returns Latin-1
 */
export function hmac({ inner, outer }: HmacKey, message: Buffer): string {
  const inside = Buffer.from(hash("sha256", Buffer.concat([inner, message]), "latin1"), "latin1");
  return hash("sha256", Buffer.concat([outer, inside]), "latin1");
}

function counterAt(block: number): Buffer {
  const counter = Buffer.alloc(blockBytes);
  counter.writeUInt32BE(block, blockBytes - numberBytes);
  return counter;
}

/** @param others keys that only open */
function sealerOf(
  keys: Derived<SecretKey>,
  others: readonly SecretKey[],
  sealBytes: (plain: string | Uint8Array, context: string) => Buffer,
): Sealer {
  const opening = [...keys.all, ...others];

  function openBytes(sealed: string, context: string): Buffer | undefined {
    if (!base64urlPattern.test(sealed)) return undefined;
    const bytes = Buffer.from(sealed, "base64url");
    // The unused bits of the last character would allow several spellings of one token.
    if (bytes.toString("base64url") !== sealed) return undefined;
    return opening.find(({ id }) => id.equals(bytes.subarray(0, keyIdBytes)))?.open(bytes, context);
  }

  return {
    seal: (plain, context) => sealBytes(plain, context).toString("base64url"),
    open: (sealed, context) => openBytes(sealed, context)?.toString("utf8"),
    openBytes,

    isNewest: (sealed) => Buffer.from(sealed, "base64url").subarray(0, keyIdBytes).equals(keys.sealing.id),
  };
}

function deriveKey(secret: string, info: string): { readonly id: Buffer; readonly key: Buffer } {
  const bytes = Buffer.from(hkdfSync("sha256", secret, "rollcall", info, 32 + keyIdBytes));
  return { key: bytes.subarray(0, 32), id: bytes.subarray(32) };
}

function keyOfSalt(key: Buffer, salt: Buffer): Buffer {
  return createHmac("sha256", key).update(salt).digest();
}
