import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";

/** The chunk size; a slow reader keeps two chunks in memory. */
const pieceBytes = 65_536;

/** For fast readers: halves the processor time per byte, with fewer ticks and less garbage. */
const largePieceBytes = 524_288;

/** At most this many readers get large chunks, so that a thousand stalled readers do not hold a gigabyte. */
const largeReadersMax = 32;

/** Far below the speed of any nearby reader, so that a reader does not count as slow on a busy machine. */
const fastBytesPerMs = 2_048;
const measuredMs = 5;

let largeReaders = 0;

/**
 * Streams an open file from `start` to `end`, in chunks that depend on the speed of the reader. Closes the file at the
 * end.
 */
export class FileBytes extends Readable {
  readonly #file: FileHandle;
  readonly #end: number;
  #position: number;
  readonly #now: () => number;
  #isLarge = false;
  #measuredAt: number;
  #measuredPosition: number;

  /** @param now the time in ms, from which the speed of the reader is measured */
  constructor(file: FileHandle, start: number, end: number, now: () => number = () => performance.now()) {
    super({ highWaterMark: pieceBytes });
    this.#now = now;
    this.#measuredAt = now();
    this.#file = file;
    this.#position = start;
    this.#measuredPosition = start + 2 * pieceBytes; // read ahead, before the reader takes any
    this.#end = end;
  }

  override _read(): void {
    this.#measureSpeed();
    const length = Math.min(this.#isLarge ? largePieceBytes : pieceBytes, this.#end - this.#position);
    if (length <= 0) {
      this.push(null);
      return;
    }
    this.#file.read(Buffer.allocUnsafeSlow(length), 0, length, this.#position).then(
      ({ buffer, bytesRead }) => {
        this.#position += bytesRead;
        this.push(bytesRead === 0 ? null : buffer.subarray(0, bytesRead)); // 0 when the file was truncated
      },
      (error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#setLarge(false);
    this.#file.close().then(
      () => done(error),
      (failure) => done(error ?? failure),
    );
  }

  #measureSpeed(): void {
    const now = this.#now();
    const passedMs = now - this.#measuredAt;
    if (passedMs < measuredMs) return;
    this.#setLarge((this.#position - this.#measuredPosition) / passedMs >= fastBytesPerMs);
    this.#measuredAt = now;
    this.#measuredPosition = this.#position;
  }

  #setLarge(isWanted: boolean): void {
    if (this.#isLarge) largeReaders -= 1;
    this.#isLarge = isWanted && largeReaders < largeReadersMax;
    if (this.#isLarge) largeReaders += 1;
  }
}
