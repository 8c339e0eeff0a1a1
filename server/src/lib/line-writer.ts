import { write, writeSync } from "node:fs";
import { fieldsOf } from "./fields.ts";
import { pauseThread } from "./pause-thread.ts";

/** Writes lines to a destination that may stall: a full disk, or a pipe whose reader is slow or closed. */
export interface LineWriter {
  write(line: string): void;
  /** Calls back when all earlier lines are written, or cannot be written. */
  flush(done: () => void): void;
}

export interface LineWriterOptions {
  /**
   * Lines are buffered for this long or up to `gatheredBytes`, because a write per line would cost more than formatting
   * it.
   */
  readonly gatherMs: number;
  readonly gatheredBytes: number;
  /** The maximum size of a write, except for a longer single line. */
  readonly writeBytesMax: number;
  /** When more bytes are waiting, lines are dropped. */
  readonly waitingBytesMax: number;
  /** Called with the number of dropped lines when writing works again. */
  onLost(lines: number): void;
}

const flushMsMax = 1_000;
/** How long an exiting process tries to write its last lines. */
const exitMsMax = 200;
const pollMs = 10;

/** Creates a writer that buffers lines, retries after any write error, and never throws or blocks. */
export function createLineWriter(fd: number, options: LineWriterOptions): LineWriter {
  const { gatherMs, gatheredBytes, writeBytesMax, waitingBytesMax, onLost } = options;
  const chunks = new Chunks(writeBytesMax);
  /** The unwritten rest of the current chunk. */
  let rest: Buffer | undefined;
  let waitingBytes = 0;
  let isWriting = false;
  let lost = 0;
  const flushes = new Set<() => void>();

  function writeOut(): void {
    rest ??= chunks.next();
    if (rest === undefined) {
      finishFlushes();
      return;
    }
    isWriting = true;
    write(fd, rest, (error, written) => {
      isWriting = false;
      if (error === null) onWritten(written);
      else if (error.code !== "EAGAIN") finishFlushes();
    });
  }

  function onWritten(written: number): void {
    advance(written);
    if (lost > 0 && rest === undefined) {
      const lines = lost;
      lost = 0;
      onLost(lines);
    }
    if (!isWriting && (rest !== undefined || flushes.size > 0 || waitingBytes >= gatheredBytes)) writeOut();
  }

  function advance(written: number): void {
    waitingBytes -= written;
    rest = rest === undefined || written >= rest.length ? undefined : rest.subarray(written);
  }

  function finishFlushes(): void {
    for (const end of flushes) end();
  }

  const timer = setInterval(() => {
    if (!isWriting && waitingBytes > 0) writeOut();
  }, gatherMs);
  timer.unref();

  process.on("exit", () => {
    if (isWriting) rest = undefined; // already being written
    const until = performance.now() + exitMsMax;
    for (rest ??= chunks.next(); rest !== undefined; rest ??= chunks.next()) {
      try {
        advance(writeSync(fd, rest));
      } catch (error) {
        if (fieldsOf(error).code !== "EAGAIN" || performance.now() > until) return;
        pauseThread(pollMs);
      }
    }
  });

  return {
    write(line) {
      const bytes = Buffer.byteLength(line);
      if (waitingBytes + bytes > waitingBytesMax) {
        lost += 1;
        return;
      }
      chunks.add(line, bytes);
      waitingBytes += bytes;
      if (!isWriting && rest === undefined && waitingBytes >= gatheredBytes) writeOut();
    },

    flush(done) {
      if (waitingBytes === 0) {
        done();
        return;
      }
      const end = () => {
        clearTimeout(late);
        flushes.delete(end);
        done();
      };
      const late = setTimeout(end, flushMsMax);
      flushes.add(end);
      if (!isWriting) writeOut();
    },
  };
}

/** Chunks of complete lines; new lines are appended to the last chunk. */
class Chunks {
  readonly #chunks: { text: string; bytes: number }[] = [];
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(line: string, bytes: number): void {
    const last = this.#chunks.at(-1);
    if (last === undefined || last.bytes + bytes > this.#bytesMax) {
      this.#chunks.push({ text: line, bytes });
    } else {
      last.text += line;
      last.bytes += bytes;
    }
  }

  next(): Buffer | undefined {
    const chunk = this.#chunks.shift();
    return chunk && Buffer.from(chunk.text);
  }
}
