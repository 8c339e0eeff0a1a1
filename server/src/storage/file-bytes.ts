import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";

/** Two of them lie in memory for each reader that takes its time. */
const pieceBytes = 65_536;

/** Costs a fast reader half the processor time for each byte: fewer turns of the event loop, less for the collector. */
const largePieceBytes = 524_288;

/** So many readers at once have large pieces, the others small ones: a thousand that stand still are no gigabyte. */
const largeReadersMax = 32;

/** Far below what any reader nearby takes, so that a busy machine does not make it a slow one. */
const fastBytesPerMs = 2_048;
const judgedMs = 5;

let largeReaders = 0;

/** The bytes of an open file from `start` to `end`, in pieces as its reader is fast. Closes the file when it is done. */
export class FileBytes extends Readable {
  readonly #file: FileHandle;
  readonly #end: number;
  #position: number;
  #isLarge = false;
  #judgedAt = performance.now();
  #judgedPosition: number;

  constructor(file: FileHandle, start: number, end: number) {
    super({ highWaterMark: pieceBytes });
    this.#file = file;
    this.#position = start;
    this.#judgedPosition = start;
    this.#end = end;
  }

  override _read(): void {
    this.#judge();
    const length = Math.min(this.#isLarge ? largePieceBytes : pieceBytes, this.#end - this.#position);
    if (length <= 0) {
      this.push(null);
      return;
    }
    this.#file.read(Buffer.allocUnsafeSlow(length), 0, length, this.#position).then(
      ({ buffer, bytesRead }) => {
        this.#position += bytesRead;
        this.push(bytesRead === 0 ? null : buffer.subarray(0, bytesRead)); // 0 when somebody else has cut the file
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

  #judge(): void {
    const now = performance.now();
    const passedMs = now - this.#judgedAt;
    if (passedMs < judgedMs) return;
    this.#setLarge((this.#position - this.#judgedPosition) / passedMs >= fastBytesPerMs);
    this.#judgedAt = now;
    this.#judgedPosition = this.#position;
  }

  #setLarge(isWanted: boolean): void {
    if (this.#isLarge) largeReaders -= 1;
    this.#isLarge = isWanted && largeReaders < largeReadersMax;
    if (this.#isLarge) largeReaders += 1;
  }
}
