import { write, writeSync } from "node:fs";
import { pauseThread } from "./pause-thread.ts";

/** Writes lines to where nobody may read them: a disk that is full, a pipe whose reader stands still or is gone. */
export interface LineWriter {
  write(line: string): void;
  /** Calls back when what was written before it is out, or does not come out. */
  flush(done: () => void): void;
}

export interface LineWriterOptions {
  /** Lines wait for at most this long, or until they are so many bytes: a write each would cost more than their making. */
  readonly gatherMs: number;
  readonly gatheredBytes: number;
  /** Of one write, unless a line alone has more. */
  readonly writeBytesMax: number;
  /** Lines beyond it are lost. */
  readonly waitingBytesMax: number;
  /** Some can be written again, and before them so many were lost. */
  onLost(lines: number): void;
}

const flushMsMax = 1_000;
/** What a process on its way out does for its last lines. */
const exitMsMax = 200;
const lookAgainMs = 10;

/** Whatever keeps it from writing, it keeps what it has, tries again, and never fails nor waits for it. */
export function createLineWriter(fd: number, options: LineWriterOptions): LineWriter {
  const { gatherMs, gatheredBytes, writeBytesMax, waitingBytesMax, onLost } = options;
  /** Whole lines each; the last one takes more. */
  const chunks: { text: string; bytes: number }[] = [];
  /** Of the chunk that has been begun. */
  let rest: Buffer | undefined;
  let waitingBytes = 0;
  let isWriting = false;
  let lost = 0;
  const flushes = new Set<() => void>();

  function writeOut(): void {
    rest ??= nextChunk();
    if (rest === undefined) {
      endFlushes();
      return;
    }
    isWriting = true;
    write(fd, rest, (error, written) => {
      isWriting = false;
      if (error === null) took(written);
      else if (error.code !== "EAGAIN") endFlushes();
    });
  }

  function took(written: number): void {
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

  function nextChunk(): Buffer | undefined {
    const chunk = chunks.shift();
    return chunk && Buffer.from(chunk.text);
  }

  function endFlushes(): void {
    for (const end of flushes) end();
  }

  const timer = setInterval(() => {
    if (!isWriting && waitingBytes > 0) writeOut();
  }, gatherMs);
  timer.unref();

  process.on("exit", () => {
    if (isWriting) rest = undefined; // on its way already
    const until = performance.now() + exitMsMax;
    for (rest ??= nextChunk(); rest !== undefined; rest ??= nextChunk()) {
      try {
        advance(writeSync(fd, rest));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || performance.now() > until) return;
        pauseThread(lookAgainMs);
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
      const last = chunks.at(-1);
      if (last === undefined || last.bytes + bytes > writeBytesMax) {
        chunks.push({ text: line, bytes });
      } else {
        last.text += line;
        last.bytes += bytes;
      }
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
