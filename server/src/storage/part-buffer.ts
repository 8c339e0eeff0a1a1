const bytesMax = 8_388_608; // S3 allows 10,000 parts: 80 GiB
const bytesFirst = 65_536;

/** Gathers chunks into one part. Grows with its contents, so that small objects need little memory. */
export class PartBuffer {
  #buffer = Buffer.allocUnsafeSlow(bytesFirst);
  #length = 0;

  /** The gathered bytes; valid until `clear`. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  get isFull(): boolean {
    return this.#length === bytesMax;
  }

  /** Adds as much of a chunk as fits. @returns the number of bytes added */
  add(chunk: Uint8Array): number {
    const taken = Math.min(chunk.length, bytesMax - this.#length);
    this.#grow(this.#length + taken);
    this.#buffer.set(chunk.subarray(0, taken), this.#length);
    this.#length += taken;
    return taken;
  }

  clear(): void {
    this.#length = 0;
  }

  #grow(length: number): void {
    let size = this.#buffer.length;
    while (size < length) size *= 2;
    if (size === this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(size);
    grown.set(this.bytes);
    this.#buffer = grown;
  }
}

/** The maximum memory of a part buffer for an object of this size. */
export function partBufferBytes(size: number): number {
  return Math.min(2 ** Math.ceil(Math.log2(Math.max(size, bytesFirst))), bytesMax);
}
