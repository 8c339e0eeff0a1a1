import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import { setPriority } from "node:os";
import { extname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { ApiError } from "../lib/errors.ts";
import { FrameReader, frameHead } from "./decoder-frames.ts";
import { decoderPriority, madeBytesMax, type PictureAnswer, type PictureJob, pictureBytesMax } from "./picture-job.ts";

/**
 * Wall-clock limits for starting the process, for sending a picture to it and for decoding. The process limits its own
 * processor time; these limits catch hangs and overloaded machines.
 */
export interface DecoderTimes {
  readonly startMs: number;
  readonly arrivalMs: number;
  readonly decodingMs: number;
}

interface DecoderEnd {
  /** Whether the process exited without a request to exit. */
  readonly isCrash: boolean;
  readonly signal: NodeJS.Signals | null;
}

const program = fileURLToPath(new URL(`./decoder-process${extname(import.meta.url)}`, import.meta.url));
/** The variables that libraries may need; the others are not passed on, because they include secrets. */
const inherited = ["LD_LIBRARY_PATH", "SystemRoot"];

/** The server's handle of a process that decodes pictures. The process keeps the server running only during a job. */
export class DecoderChild {
  readonly #child: ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };
  readonly #frames: AsyncGenerator<Buffer>;
  readonly #times: DecoderTimes;
  #isReady = false;
  #isKilled = false;
  /** Resolves when the process has exited. */
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
    for (const pipe of [this.#child.stdin, this.#child.stdout]) {
      pipe.on("error", () => {}); // errors surface where something is sent or awaited
      if (pipe instanceof Socket) pipe.unref();
    }
    this.#child.unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Decodes one picture. After a rejection the process is in an unknown state and must be killed.
   *
   * @throws ApiError FileUploadFailed when the process crashes or takes too long, ServiceUnavailable when
   *   it does not start or the bytes do not arrive; and errors of the stream
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

  /** Kills the process, and waits for its exit. */
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
      throw new ApiError("ServiceUnavailable", "Pictures cannot be decoded at the moment.", { cause });
    }
    this.#isReady = true;
    // Only now: where all processors are busy, the lowest priority could make it start too late.
    if (this.#child.pid !== undefined) lowerPriority(this.#child.pid);
  }

  async #send(job: PictureJob, bytes: Readable): Promise<void> {
    const late = new ApiError("ServiceUnavailable", "The bytes of the picture did not arrive in time.");
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true; // either the source or the process has stalled
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
        if (part.length > 0) await this.#write(part); // an empty frame would mark the end
      }
      await this.#write(Buffer.alloc(0));
    } catch (error) {
      throw isLate ? late : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when the frame has been handed to the system, so that at most one waits in memory. */
  #write(frame: Buffer): Promise<void> {
    const { stdin } = this.#child;
    return new Promise((resolve, reject) => {
      stdin.cork();
      stdin.write(frameHead(frame.length));
      stdin.write(frame, (cause) => {
        if (!cause) resolve();
        // Waits, because otherwise a crash could not be distinguished from this kill.
        else this.ended.then(() => reject(diedOfIt(cause)));
      });
      stdin.uncork();
    });
  }

  /** Kills the process when the work exceeds its time. */
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
    await this.ended; // otherwise a crash could not be distinguished from this kill
    throw diedOfIt();
  }

  async #end(): Promise<DecoderEnd> {
    try {
      const [, signal] = await once(this.#child, "exit");
      return { isCrash: !this.#isKilled, signal };
    } catch {
      return { isCrash: true, signal: null }; // it failed to start
    }
  }
}

function minimalEnvironment(): Record<string, string> {
  const passedOn = inherited.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  // One picture at a time needs one thread; with several arenas, memory would not be returned to the system.
  return { ...Object.fromEntries(passedOn), UV_THREADPOOL_SIZE: "1", MALLOC_ARENA_MAX: "2" };
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, decoderPriority);
  } catch {
    // A sandbox may forbid this, or the process has already exited.
  }
}

async function* readFrames(bytes: Readable): AsyncGenerator<Buffer> {
  const reader = new FrameReader(madeBytesMax);
  for await (const chunk of bytes) yield* reader.read(chunk);
}

function diedOfIt(cause?: unknown): ApiError {
  return new ApiError("FileUploadFailed", "The picture is damaged or too large.", { cause });
}

/** The process reads untrusted bytes, so its answers are not trusted either. */
function parseAnswer(frame: Buffer): PictureAnswer {
  const answer: unknown = JSON.parse(frame.toString());
  if (typeof answer === "object" && answer !== null) {
    if ("refusal" in answer && typeof answer.refusal === "string") return { refusal: answer.refusal };
    if ("w" in answer && "h" in answer && isSide(answer.w) && isSide(answer.h)) {
      const isUnscalable = "isUnscalable" in answer && answer.isUnscalable === true;
      return { w: answer.w, h: answer.h, ...(isUnscalable && { isUnscalable }) };
    }
  }
  throw diedOfIt();
}

function isSide(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
