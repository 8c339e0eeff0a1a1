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
  /** An address that reads the bytes without a token, for some time; with a size, scaled to fit it. */
  url(picture: { readonly signedUrl: string }, options?: { readonly size?: PictureSize }): string;
  /** With a size, scaled to fit it. */
  download(id: string, options?: DownloadOptions & { readonly size?: PictureSize }): Promise<Download>;
}

const calls: OwnedCalls<Picture, CreatePictureForm, ChangePictureRequest, SearchPicturesQuery> =
  /* @__PURE__ */ ownedCalls("Picture", "sf");

export function createPicturesNoun(send: Send): PicturesNoun {
  return createFilesNoun(send, calls);
}
