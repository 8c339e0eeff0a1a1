const firstBytes = 1_024;
/** The maximum length of an integer, with seven bits per byte. */
const integerBytesMax = 8;

/** The bytes are truncated, altered or forged: no {@link ByteWriter} writes them. */
export class MalformedBytesError extends Error {
  override name = "MalformedBytesError";
}

/** Writes numbers and strings as bytes; {@link ByteReader} reads them in the same order. */
export class ByteWriter {
  #buffer = Buffer.allocUnsafe(firstBytes);
  #length = 0;

  /**
   * @param value an integer from 0; above 2^53 - 1, which a sum of forged counts can exceed, it is written as 2^53 - 1
   */
  integer(value: number): void {
    this.#reserve(8);
    let rest = Math.min(value, Number.MAX_SAFE_INTEGER);
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#length++] = rest;
  }

  /** Writes a signed integer; small ones take few bytes. */
  signed(value: number): void {
    this.integer(value < 0 ? -2 * value - 1 : 2 * value);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  /** Writes bytes without their length, which the reader must pass to `raw`. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  bytes(bytes: Uint8Array): void {
    this.integer(bytes.length);
    this.raw(bytes);
  }

  text(text: string): void {
    const length = Buffer.byteLength(text);
    this.integer(length);
    this.#reserve(length);
    this.#length += this.#buffer.write(text, this.#length);
  }

  /** Returns the bytes. Do not use the writer afterwards. */
  finish(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}

/** Reads the output of {@link ByteWriter}. Each method throws MalformedBytesError for other bytes. */
export class ByteReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** @param max the largest accepted number; decoders pass it for every count and length */
  integer(max = Number.MAX_SAFE_INTEGER): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < integerBytesMax; count += 1) {
      const byte = this.#buffer[this.#at++];
      if (byte === undefined) throw new MalformedBytesError("The bytes are truncated");
      value += (byte & 0x7f) * scale;
      if (byte < 0x80 && value <= max) return value;
      if (byte < 0x80) break;
      scale *= 0x80;
    }
    throw new MalformedBytesError(`There is a number above ${max}`);
  }

  /** Whether all bytes have been read. */
  get isAtEnd(): boolean {
    return this.#at === this.#buffer.length;
  }

  signed(): number {
    const value = this.integer();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }

  double(): number {
    const at = this.#at;
    this.raw(8);
    return this.#buffer.readDoubleLE(at);
  }

  /** Returns a view of the bytes, not a copy. */
  raw(count: number): Uint8Array {
    const end = this.#at + count;
    if (end > this.#buffer.length) throw new MalformedBytesError("The bytes are truncated");
    const bytes = this.#buffer.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  bytes(): Uint8Array {
    return this.raw(this.integer());
  }

  text(): string {
    const { length } = this.bytes();
    return this.#buffer.toString("utf8", this.#at - length, this.#at);
  }
}
