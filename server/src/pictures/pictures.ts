import type { Readable } from "node:stream";
import type { Log } from "../log.ts";
import { createDecoder, type DecoderLimits } from "./decoder.ts";
import type { PictureJob, PictureSize } from "./picture-job.ts";
import { createPictureQueue } from "./picture-queue.ts";

export interface ScaledPicture extends PictureSize {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/**
 * What is done with pictures: one at a time, in a process of its own. The bytes come from a store and not from a client
 * that may be slow; their stream is left destroyed. Whatever a picture does, to that process too, only it is refused.
 */
export interface Pictures {
  /**
   * The size as shown, which is the stored one turned by the EXIF orientation, of a picture that is read to its end: a
   * damaged one has none (surface.md section 10). @throws ApiError FileUploadFailed, ServiceUnavailable
   */
  readPictureSize(bytes: Readable): Promise<PictureSize>;
  /**
   * The picture in the same format, scaled to fit and never up, upright, without metadata (where it was taken, by which
   * camera), an animation with its first frames. @throws ApiError FileUploadFailed, ServiceUnavailable
   *
   * @param isWanted asked when its turn comes: what nobody waits for any more is not made
   */
  scalePicture(
    bytes: Readable,
    contentType: string,
    fit: PictureSize,
    isWanted?: () => boolean,
  ): Promise<ScaledPicture>;
  /**
   * The same picture upright and without metadata: what others see when its owner does not tell where they are.
   * @throws ApiError FileUploadFailed, ServiceUnavailable
   *
   * @param isWanted as of `scalePicture`
   */
  stripPicture(bytes: Readable, contentType: string, isWanted?: () => boolean): Promise<Buffer>;
  /** Of the process that decodes, while there is one. */
  readonly decoderPid: number | undefined;
  statistics(): { readonly running: number; readonly waiting: number };
  /** Ends that process; what is asked of it from then on is refused with ServiceUnavailable. */
  close(): Promise<void>;
}

/** @param limits other times than the usual ones, for tests */
export function createPictures(log: Log, limits?: Partial<DecoderLimits>): Pictures {
  const queue = createPictureQueue();
  const decoder = createDecoder(log, limits);

  async function decode(job: PictureJob, bytes: Readable, isWanted?: () => boolean) {
    bytes.on("error", () => {}); // one that fails while it waits is told when it is read
    try {
      return await queue.enqueue(() => decoder.decode(job, bytes), isWanted);
    } finally {
      bytes.destroy();
    }
  }

  return {
    async readPictureSize(bytes) {
      const { w, h } = await decode({ kind: "size" }, bytes);
      return { w, h };
    },

    async scalePicture(bytes, contentType, fit, isWanted) {
      const { w, h, made } = await decode({ kind: "scale", contentType, fit }, bytes, isWanted);
      return { contentType, w, h, bytes: made };
    },

    async stripPicture(bytes, contentType, isWanted) {
      const { made } = await decode({ kind: "strip", contentType }, bytes, isWanted);
      return made;
    },

    get decoderPid() {
      return decoder.pid;
    },

    statistics: () => ({ running: queue.isRunning ? 1 : 0, waiting: queue.waitingCount }),

    close: () => decoder.close(),
  };
}
