const firstBytes = 1_024;

/** Writes numbers and texts as bytes; {@link ByteReader} reads them in the same order. */
export class ByteWriter {
  #buffer = Buffer.allocUnsafe(firstBytes);
  #length = 0;

  /** @param value an integer from 0 to 2^53 - 1 */
  integer(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#length++] = rest;
  }

  /** A signed integer; small ones take few bytes. */
  signed(value: number): void {
    this.integer(value < 0 ? -2 * value - 1 : 2 * value);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  /** Bytes whose length the reader knows. */
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

  /** Returns the bytes. The writer must not be used any more. */
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

/** Reads the output of {@link ByteWriter}. */
export class ByteReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  integer(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#buffer.readUInt8(this.#at++);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  /** Whether everything has been read. */
  get isAtEnd(): boolean {
    return this.#at === this.#buffer.length;
  }

  signed(): number {
    const value = this.integer();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }

  double(): number {
    const value = this.#buffer.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  /** A view of the bytes, not a copy. */
  raw(count: number): Uint8Array {
    const end = this.#at + count;
    if (end > this.#buffer.length) throw new RangeError("There are not so many bytes");
    const bytes = this.#buffer.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  bytes(): Uint8Array {
    return this.raw(this.integer());
  }

  text(): string {
    const count = this.integer();
    const text = this.#buffer.toString("utf8", this.#at, this.#at + count);
    this.#at += count;
    return text;
  }
}
