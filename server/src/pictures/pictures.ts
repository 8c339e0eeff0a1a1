import type { Readable } from "node:stream";
import type { Log } from "../config/log.ts";
import { ApiError } from "../lib/errors.ts";
import type { LaneStatistics } from "../limits/fair-queue.ts";
import { DecoderChild, type DecoderTimes } from "./decoder-child.ts";
import type { PictureAnswer, PictureJob, PictureSize } from "./picture-job.ts";
import { createPictureQueue, decodersMax, type PictureLane, type PictureTicket } from "./picture-queue.ts";

export interface ScaledPicture extends PictureSize {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** The type of the pictures that are scaled or stripped from a stored type. Most browsers do not show HEIC. */
export function madeType(contentType: string): string {
  return contentType === "image/heic" ? "image/jpeg" : contentType;
}

/** Opens the bytes of a picture when a decoder is free for it. */
export type PictureSource = () => Readable | Promise<Readable>;

/**
 * Picture operations, in separate processes. The bytes come from a store instead of a possibly slow client; their
 * stream is destroyed afterwards. A picture that crashes its process is refused without affecting others.
 */
export interface Pictures {
  /**
   * The displayed size: the stored one rotated by the EXIF orientation. The picture is decoded to its end, so a damaged
   * one has no size (spec/files#valid-pictures).
   *
   * @throws ApiError FileUploadFailed, ServiceUnavailable
   */
  readPictureSize(source: PictureSource, ticket: PictureTicket): Promise<PictureSize>;
  /**
   * The picture in the format of {@link madeType}, scaled to fit and never up, upright, without metadata such as location and
   * camera, and with the first frames of an animation.
   *
   * @returns undefined for an animation that would lose its frames
   * @throws ApiError FileUploadFailed, ServiceUnavailable
   */
  scalePicture(
    source: PictureSource,
    contentType: string,
    fit: PictureSize,
    ticket: PictureTicket,
  ): Promise<ScaledPicture | undefined>;
  /**
   * The same picture in the format of {@link madeType}, upright and without metadata: the variant for other users while its owner has locationFuzzing.
   *
   * @throws ApiError FileUploadFailed, ServiceUnavailable
   */
  stripPicture(source: PictureSource, contentType: string, ticket: PictureTicket): Promise<Buffer>;
  /** The ids of the running decoder processes. The first one is used while one is enough. */
  readonly decoderPids: readonly number[];
  statistics(): Readonly<Record<PictureLane, LaneStatistics>>;
  /** Stops the decoder processes; later calls are refused with ServiceUnavailable. */
  close(): Promise<void>;
}

/** @param limits replace the default limits in tests */
export function createPictures(log: Log, limits?: Partial<DecoderLimits>): Pictures {
  const queue = createPictureQueue();
  const decoders = Array.from({ length: decodersMax }, () => createDecoder(log, limits));
  const idle = new Set(decoders);

  function decode(job: PictureJob, source: PictureSource, ticket: PictureTicket) {
    return queue.run(ticket, async () => {
      // As many jobs run as there are decoders. Takes the first idle one, so that the second starts only when needed.
      const decoder = decoders.find((each) => idle.has(each));
      if (decoder === undefined) throw new Error("More pictures are decoded than there are decoders.");
      idle.delete(decoder);
      try {
        const bytes = await source();
        bytes.on("error", () => {}); // the reader gets the error
        try {
          return await decoder.decode(job, bytes);
        } finally {
          bytes.destroy();
        }
      } finally {
        idle.add(decoder);
      }
    });
  }

  return {
    async readPictureSize(source, ticket) {
      const { w, h } = await decode({ kind: "size" }, source, ticket);
      return { w, h };
    },

    async scalePicture(source, contentType, fit, ticket) {
      const { w, h, made, isUnscalable } = await decode({ kind: "scale", contentType, fit }, source, ticket);
      return isUnscalable ? undefined : { contentType: madeType(contentType), w, h, bytes: made };
    },

    async stripPicture(source, contentType, ticket) {
      const { made } = await decode({ kind: "strip", contentType }, source, ticket);
      return made;
    },

    get decoderPids() {
      return decoders.flatMap(({ pid }) => pid ?? []);
    },

    statistics: () => queue.statistics(),

    async close() {
      await Promise.all(decoders.map((decoder) => decoder.close()));
    },
  };
}

/** Decodes pictures in a separate process, isolated from crashes, which runs only while it is needed. */
interface Decoder {
  /** The id of the process, while it is running. */
  readonly pid: number | undefined;
  /**
   * Decodes one picture; calls must not overlap.
   *
   * @throws ApiError FileUploadFailed when the picture cannot be decoded, ServiceUnavailable when the process does not
   * work; and errors of the stream
   */
  decode(
    job: PictureJob,
    bytes: Readable,
  ): Promise<Exclude<PictureAnswer, { readonly refusal: string }> & { readonly made: Buffer }>;
  /** Stops the process and its current job. */
  close(): Promise<void>;
}

interface DecoderLimits extends DecoderTimes {
  /** Idle time after which the process exits, to return its memory to the system. */
  readonly idleMs: number;
}

const defaults: DecoderLimits = { startMs: 20_000, arrivalMs: 30_000, decodingMs: 60_000, idleMs: 30_000 };

function createDecoder(log: Log, given: Partial<DecoderLimits> = {}): Decoder {
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
