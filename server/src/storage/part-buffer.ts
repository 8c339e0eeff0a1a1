const bytesMax = 8_388_608; // S3 takes 10,000 parts: 80 GiB
const bytesFirst = 65_536;

/** Gathers chunks into one part. Grows with what it holds, so that small objects take little memory, however many chunks. */
export class PartBuffer {
  #buffer = Buffer.allocUnsafeSlow(bytesFirst);
  #length = 0;

  /** What has been gathered; good until `clear`. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  get isFull(): boolean {
    return this.#length === bytesMax;
  }

  /** Takes as much of a chunk as fits. @returns how many bytes */
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
