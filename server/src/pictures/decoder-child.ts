import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import { setPriority } from "node:os";
import { extname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { ApiError } from "../errors.ts";
import { FrameReader, frameHead } from "./decoder-frames.ts";
import { decoderPriority, madeBytesMax, type PictureAnswer, type PictureJob, pictureBytesMax } from "./picture-job.ts";

/**
 * How long the process may take: to start, to be given the bytes of a picture, and to decode it. It ends by itself when that
 * takes too much of a processor; this is for what hangs, and for a machine that has no time for it.
 */
export interface DecoderTimes {
  readonly startMs: number;
  readonly arrivalMs: number;
  readonly decodingMs: number;
}

interface DecoderEnd {
  /** Whether it went without being told to. */
  readonly isCrash: boolean;
  readonly signal: NodeJS.Signals | null;
}

const program = fileURLToPath(new URL(`./decoder-process${extname(import.meta.url)}`, import.meta.url));
/** Of the server's environment, which has its secrets, only what a system may need to find libraries. */
const inherited = ["LD_LIBRARY_PATH", "SystemRoot"];

/** A process that decodes pictures, as the server sees it. It keeps the server running only while it is asked something. */
export class DecoderChild {
  readonly #child: ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };
  readonly #frames: AsyncGenerator<Buffer>;
  readonly #times: DecoderTimes;
  #isReady = false;
  #isKilled = false;
  /** Resolves when it is gone. */
  readonly ended: Promise<DecoderEnd>;

  constructor(times: DecoderTimes) {
    this.#times = times;
    this.#child = spawn(process.execPath, ["--v8-pool-size=1", "--max-semi-space-size=1", program], {
      env: minimalEnvironment(),
      stdio: ["pipe", "pipe", "inherit"],
      windowsHide: true,
    });
    this.#frames = readFrames(this.#child.stdout);
    this.ended = this.#end();
    // At once; the threads that it has started before lower themselves.
    if (this.#child.pid !== undefined) lowerPriority(this.#child.pid);
    for (const pipe of [this.#child.stdin, this.#child.stdout]) {
      pipe.on("error", () => {}); // it is noticed where something is sent or awaited
      if (pipe instanceof Socket) pipe.unref();
    }
    this.#child.unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Leaves it as it was only when it answers: after a rejection it has to be killed.
   *
   * @throws ApiError FileUploadFailed when it dies of the picture or takes too long, ServiceUnavailable when it does not
   * start or the bytes do not arrive; and what the stream throws
   */
  async ask(job: PictureJob, bytes: Readable): Promise<{ answer: PictureAnswer; made: Buffer }> {
    this.#child.ref();
    try {
      await this.#becomeReady();
      await this.#send(job, bytes);
      return await this.#within(this.#times.decodingMs, async () => {
        const answer = parseAnswer(await this.#receive());
        return { answer, made: await this.#receive() };
      });
    } finally {
      this.#child.unref();
    }
  }

  kill(): void {
    this.#isKilled = true;
    this.#child.kill("SIGKILL");
  }

  /** Kills it, and waits until it is gone. */
  async end(): Promise<void> {
    this.#child.ref();
    this.kill();
    await this.ended;
  }

  async #becomeReady(): Promise<void> {
    if (this.#isReady) return;
    try {
      await this.#within(this.#times.startMs, () => this.#receive());
    } catch (cause) {
      throw new ApiError("ServiceUnavailable", "Pictures cannot be read now.", { cause });
    }
    this.#isReady = true;
  }

  async #send(job: PictureJob, bytes: Readable): Promise<void> {
    const late = new ApiError("ServiceUnavailable", "The bytes of the picture did not arrive in time.");
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true; // whichever of the two has not gone on
      bytes.destroy(late);
      this.kill();
    }, this.#times.arrivalMs);
    try {
      await this.#write(Buffer.from(JSON.stringify(job)));
      let length = 0;
      for await (const chunk of bytes) {
        const part: Buffer = chunk; // streams of stores have no encoding
        length += part.length;
        if (length > pictureBytesMax) throw new ApiError("FileUploadFailed", "The picture has too many bytes.");
        if (part.length > 0) await this.#write(part); // an empty one would say that this is all
      }
      await this.#write(Buffer.alloc(0));
    } catch (error) {
      throw isLate ? late : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when the system has the frame, so that no more than one waits in memory. */
  #write(frame: Buffer): Promise<void> {
    const { stdin } = this.#child;
    return new Promise((resolve, reject) => {
      stdin.cork();
      stdin.write(frameHead(frame.length));
      stdin.write(frame, (cause) => (cause ? reject(diedOfIt(cause)) : resolve()));
      stdin.uncork();
    });
  }

  /** What does not end by itself is ended by killing the process. */
  async #within<T>(ms: number, work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.kill(), ms);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  }

  async #receive(): Promise<Buffer> {
    try {
      const { done, value } = await this.#frames.next();
      if (done !== true) return value;
    } catch (cause) {
      throw diedOfIt(cause);
    }
    await this.ended; // else nobody could tell a crash from being killed for it
    throw diedOfIt();
  }

  async #end(): Promise<DecoderEnd> {
    try {
      const [, signal] = await once(this.#child, "exit");
      return { isCrash: !this.#isKilled, signal };
    } catch {
      return { isCrash: true, signal: null }; // it has not even started
    }
  }
}

function minimalEnvironment(): Record<string, string> {
  const kept = inherited.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  // One picture at a time needs one thread; memory of many arenas would not go back.
  return { ...Object.fromEntries(kept), UV_THREADPOOL_SIZE: "1", MALLOC_ARENA_MAX: "2" };
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, decoderPriority);
  } catch {
    // A sandbox may forbid it, or it is gone already.
  }
}

async function* readFrames(bytes: Readable): AsyncGenerator<Buffer> {
  const reader = new FrameReader(madeBytesMax);
  for await (const chunk of bytes) yield* reader.read(chunk);
}

function diedOfIt(cause?: unknown): ApiError {
  return new ApiError("FileUploadFailed", "The picture is damaged or too large.", { cause });
}

/** It reads what anybody has uploaded, so that it is not believed either. */
function parseAnswer(frame: Buffer): PictureAnswer {
  const answer: unknown = JSON.parse(frame.toString());
  if (typeof answer === "object" && answer !== null) {
    if ("refusal" in answer && typeof answer.refusal === "string") return { refusal: answer.refusal };
    if ("w" in answer && "h" in answer && isSide(answer.w) && isSide(answer.h)) return { w: answer.w, h: answer.h };
  }
  throw diedOfIt();
}

function isSide(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
