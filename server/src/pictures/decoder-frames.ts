/**
 * What the server and the process that decodes say to each other over its pipes: frames, each behind its length. A job is
 * its JSON, the bytes of the picture in as many frames as they come in, and an empty frame. The process says that it is
 * ready with an empty frame, and answers a job with a frame of JSON and a frame of bytes.
 */
const headBytes = 4;

/** Goes before a frame of so many bytes. */
export function frameHead(length: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(length);
  return head;
}

/** Puts frames together again, of which each comes in any number of chunks. */
export class FrameReader {
  readonly #lengthMax: number;
  readonly #head = Buffer.alloc(headBytes);
  #body: Buffer | undefined;
  #filled = 0;

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  /** The frames that end within this chunk. @throws RangeError when one says that it is longer than any may be */
  *read(chunk: Buffer): Generator<Buffer> {
    for (let at = 0; at < chunk.length; ) {
      if (this.#body === undefined) {
        at += this.#fill(this.#head, chunk, at);
        if (this.#filled < headBytes) return;
        const length = this.#head.readUInt32BE();
        if (length > this.#lengthMax) throw new RangeError(`a frame of ${length} bytes`);
        this.#body = Buffer.allocUnsafe(length);
        this.#filled = 0;
      }
      at += this.#fill(this.#body, chunk, at);
      if (this.#filled < this.#body.length) return;
      const body = this.#body;
      this.#body = undefined;
      this.#filled = 0;
      yield body;
    }
  }

  #fill(target: Buffer, chunk: Buffer, at: number): number {
    const copied = chunk.copy(target, this.#filled, at);
    this.#filled += copied;
    return copied;
  }
}
