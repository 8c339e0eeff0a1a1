import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { ApiError } from "../lib/errors.ts";

/** The pixels of a picture in memory: three bytes each, in rows, upright. */
export interface DecodedHeic {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array<ArrayBuffer>;
  /** The ICC profile of the colours. */
  readonly profile: Uint8Array | undefined;
}

export type HeicAnswer = DecodedHeic | { readonly isTooLarge: true } | { readonly problem: string };

/** The complete picture is in memory several times: the planes of the codec, and its colours. */
export const heicPixelsMax = 50_000_000;

const program = new URL(`./heic-worker${extname(import.meta.url)}`, import.meta.url);

/** @throws ApiError FileUploadFailed for a picture with too many pixels; Error for one that cannot be decoded */
export async function decodeHeic(bytes: Buffer): Promise<DecodedHeic> {
  const worker = new Worker(program, { workerData: bytes });
  try {
    const [answer] = (await once(worker, "message")) as [HeicAnswer]; // heic-worker.ts sends nothing else
    if ("problem" in answer) throw new Error(answer.problem);
    if ("isTooLarge" in answer) throw new ApiError("FileUploadFailed", "The picture has too many pixels.");
    return answer;
  } finally {
    await worker.terminate();
  }
}
