import {
  changePicture,
  createPicture,
  deletePicture,
  getPicture,
  readPictureFile,
  searchPictures,
} from "../generated/calls.ts";
import type { ChangePictureRequest, CreatePictureRequest, Picture, SearchPicturesQuery } from "../generated/types.ts";
import type { Download } from "../wire/download.ts";
import { createFileMethods, type DownloadOptions, type FilesNoun, type PictureSize } from "./files.ts";
import { createOwnedNoun } from "./owned.ts";
import type { Send } from "./send.ts";

/** Pictures of users. */
export interface PicturesNoun
  extends FilesNoun<Picture, CreatePictureRequest, ChangePictureRequest, SearchPicturesQuery> {
  /** An address that reads the bytes without a token, for some time; with a size, scaled to fit it. */
  url(picture: { readonly signedUrl: string }, options?: { readonly size?: PictureSize }): string;
  /** With a size, scaled to fit it. */
  download(id: string, options?: DownloadOptions & { readonly size?: PictureSize }): Promise<Download>;
}

export function createPicturesNoun(send: Send): PicturesNoun {
  return {
    ...createOwnedNoun(send, { get: getPicture, search: searchPictures, change: changePicture, remove: deletePicture }),
    ...createFileMethods<Picture, CreatePictureRequest>(send, {
      create: createPicture,
      get: getPicture,
      read: readPictureFile,
    }),
  };
}
