/**
 * The protocol between the server and the decoder process over its pipes: frames with a length prefix. A job is a JSON
 * frame, the bytes of the picture in any number of frames, and an empty frame. The process signals readiness with an
 * empty frame, and answers a job with a JSON frame and a frame of bytes.
 */
const headBytes = 4;

/** The length prefix of a frame with `length` bytes. */
export function frameHead(length: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(length);
  return head;
}

/** Reassembles frames that arrive in any number of chunks. */
export class FrameReader {
  readonly #lengthMax: number;
  readonly #head = Buffer.alloc(headBytes);
  #body: Buffer | undefined;
  #filled = 0;

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  /**
   * Yields the frames that this chunk completes. @throws RangeError for a frame that declares more than the maximum
   * length
   */
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
