import type { HeldBytes } from "../lib/byte-budget.ts";

const bytesFirst = 65_536;

/**
 * Collects a large body. Its memory is a resizable buffer, which returns to the operating system on release; malloc
 * would keep the memory of such buffers after a flood of requests.
 */
export class LargeBody {
  readonly #memory: ArrayBuffer;
  readonly #held: HeldBytes;
  #length = 0;

  /** @param bytesMax the capacity */
  constructor(bytesMax: number, held: HeldBytes) {
    this.#memory = new ArrayBuffer(0, { maxByteLength: bytesMax });
    this.#held = held;
  }

  /** @returns false when too many bytes are in flight */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length;
    if (length > this.#memory.byteLength) {
      const doubled = Math.max(2 * this.#memory.byteLength, bytesFirst, length);
      const size = Math.min(doubled, this.#memory.maxByteLength);
      if (!this.#held.tryAdd(size - this.#memory.byteLength)) return false;
      this.#memory.resize(size);
    }
    new Uint8Array(this.#memory, this.#length, chunk.length).set(chunk);
    this.#length = length;
    return true;
  }

  /** The added bytes; valid until the release. */
  get bytes(): Buffer {
    return Buffer.from(this.#memory, 0, this.#length);
  }

  release(): void {
    this.#memory.resize(0);
    this.#held.release();
  }
}
