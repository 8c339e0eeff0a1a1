import type { Readable } from "node:stream";
import { ApiError } from "../errors.ts";
import type { Log } from "../log.ts";
import { DecoderChild, type DecoderTimes } from "./decoder-child.ts";
import type { PictureJob, PictureSize } from "./picture-job.ts";

/** Decodes pictures in a process of its own, whatever they do to it. It is there while it is needed. */
export interface Decoder {
  /** Of the process, while there is one. */
  readonly pid: number | undefined;
  /**
   * One at a time; the callers see to that. @throws ApiError FileUploadFailed when this cannot be decoded,
   * ServiceUnavailable when nothing can; and what the stream throws
   */
  decode(job: PictureJob, bytes: Readable): Promise<PictureSize & { readonly made: Buffer }>;
  /** Ends the process, and whatever it is at. */
  close(): Promise<void>;
}

export interface DecoderLimits extends DecoderTimes {
  /** After so long without a picture the process ends, and its memory goes back to the system. */
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
      if (isCrash) log.warn({ signal }, "the process that decodes pictures has died");
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
        drop(); // nobody knows what it is at
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

/** Of a picture, by a process that can go on. */
class Refusal extends Error {}
