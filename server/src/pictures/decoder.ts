import type { Readable } from "node:stream";
import type { Log } from "../config/log.ts";
import { ApiError } from "../lib/errors.ts";
import { DecoderChild, type DecoderTimes } from "./decoder-child.ts";
import type { PictureAnswer, PictureJob } from "./picture-job.ts";

/** Decodes pictures in a separate process, isolated from crashes, which runs only while it is needed. */
export interface Decoder {
  /** The id of the process, while there is one. */
  readonly pid: number | undefined;
  /**
   * Decodes one picture; callers must not overlap calls.
   *
   * @throws ApiError FileUploadFailed when the picture cannot be decoded, ServiceUnavailable when the process does not
   *   work; and errors of the stream
   */
  decode(
    job: PictureJob,
    bytes: Readable,
  ): Promise<Exclude<PictureAnswer, { readonly refusal: string }> & { readonly made: Buffer }>;
  /** Ends the process and its current job. */
  close(): Promise<void>;
}

export interface DecoderLimits extends DecoderTimes {
  /** Idle time after which the process ends, to return its memory to the system. */
  readonly idleMs: number;
}

const defaults: DecoderLimits = { startMs: 20_000, arrivalMs: 30_000, decodingMs: 60_000, idleMs: 30_000 };

export function createDecoder(log: Log, given: Partial<DecoderLimits> = {}): Decoder {
  const limits = { ...defaults, ...given };
  let child: DecoderChild | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function start(): DecoderChild {
    const started = new DecoderChild(limits);
    child = started;
    started.ended.then(({ isCrash, signal }) => {
      if (isCrash) log.warn({ signal }, "the picture decoder process has died, and the next picture starts a new one");
      if (child === started) child = undefined;
    });
    return started;
  }

  function drop(): void {
    child?.kill();
    child = undefined;
  }

  return {
    get pid() {
      return child?.pid;
    },

    async decode(job, bytes) {
      const closed = () => new ApiError("ServiceUnavailable", "The server is shutting down.");
      if (isClosed) throw closed();
      clearTimeout(idleTimer);
      try {
        const { answer, made } = await (child ?? start()).ask(job, bytes);
        if ("refusal" in answer) throw new Refusal(answer.refusal);
        return { ...answer, made };
      } catch (error) {
        if (error instanceof Refusal) throw new ApiError("FileUploadFailed", error.message);
        drop(); // its state is unknown
        throw isClosed ? closed() : error;
      } finally {
        idleTimer = setTimeout(drop, limits.idleMs).unref();
      }
    },

    async close() {
      isClosed = true;
      clearTimeout(idleTimer);
      await child?.end();
    },
  };
}

/** A refused picture; the process can continue. */
class Refusal extends Error {}
