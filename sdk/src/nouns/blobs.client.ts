import { changeBlob, createBlob, deleteBlob, getBlob, readBlobFile, searchBlobs } from "../generated/calls.ts";
import type { Blob, ChangeBlobRequest, CreateBlobRequest, SearchBlobsQuery } from "../generated/types.ts";
import { createFileMethods, type FilesNoun } from "./files.ts";
import { createOwnedNoun } from "./owned.ts";
import type { Send } from "./send.ts";

/** Files of any kind. */
export interface BlobsNoun extends FilesNoun<Blob, CreateBlobRequest, ChangeBlobRequest, SearchBlobsQuery> {}

export function createBlobsNoun(send: Send): BlobsNoun {
  return {
    ...createOwnedNoun(send, { get: getBlob, search: searchBlobs, change: changeBlob, remove: deleteBlob }),
    ...createFileMethods<Blob, CreateBlobRequest>(send, { create: createBlob, get: getBlob, read: readBlobFile }),
  };
}
