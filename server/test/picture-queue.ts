import type { Readable } from "node:stream";
import type { PictureSize } from "../src/pictures/picture-job.ts";
import type { Pictures } from "../src/pictures/pictures.ts";

/** Returns a queue for tests of decoding, with one caller whose streams are open from the start. */
export function asOneCaller(pictures: Pictures) {
  const ticket = { lane: "upload", application: "app", caller: "caller" } as const;
  return {
    readPictureSize: (bytes: Readable) => pictures.readPictureSize(() => bytes, ticket),
    scalePicture: (bytes: Readable, contentType: string, fit: PictureSize) =>
      pictures.scalePicture(() => bytes, contentType, fit, ticket),
    stripPicture: (bytes: Readable, contentType: string) => pictures.stripPicture(() => bytes, contentType, ticket),
    get decoderPid() {
      return pictures.decoderPids[0];
    },
    close: () => pictures.close(),
  };
}

export type PicturesOfOneCaller = ReturnType<typeof asOneCaller>;
