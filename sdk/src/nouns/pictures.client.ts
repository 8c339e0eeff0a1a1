import type {
  ChangePictureRequest,
  CreatePictureForm,
  CreatePictureRequest,
  Picture,
  SearchPicturesQuery,
} from "../generated/types.ts";
import type { Download } from "../wire/download.ts";
import { createFilesNoun, type DownloadOptions, type FilesNoun, type PictureSize } from "./files.ts";
import { type OwnedCalls, ownedCalls } from "./owned.ts";
import type { Send } from "./send.ts";

/** Pictures of users. */
export interface PicturesNoun
  extends FilesNoun<Picture, CreatePictureRequest, ChangePictureRequest, SearchPicturesQuery> {
  /** Returns a signed URL that serves the bytes without a token for a limited time; `size` scales the picture to fit. */
  url(picture: { readonly signedUrl: string }, options?: { readonly size?: PictureSize }): string;
  /** Downloads the picture; `size` scales it to fit. */
  download(id: string, options?: DownloadOptions & { readonly size?: PictureSize }): Promise<Download>;
}

const calls: OwnedCalls<Picture, CreatePictureForm, ChangePictureRequest, SearchPicturesQuery> =
  /* @__PURE__ */ ownedCalls("Picture", "sf");

export function createPicturesNoun(send: Send): PicturesNoun {
  return createFilesNoun(send, calls);
}
