import type {
  Blob,
  ChangeBlobRequest,
  CreateBlobForm,
  CreateBlobRequest,
  SearchBlobsQuery,
} from "../generated/types.ts";
import { createFilesNoun, type FilesNoun } from "./files.ts";
import { type OwnedCalls, ownedCalls } from "./owned.ts";
import type { Send } from "./send.ts";

/** Files of any kind. */
export interface BlobsNoun extends FilesNoun<Blob, CreateBlobRequest, ChangeBlobRequest, SearchBlobsQuery> {}

const calls: OwnedCalls<Blob, CreateBlobForm, ChangeBlobRequest, SearchBlobsQuery> = /* @__PURE__ */ ownedCalls(
  "Blob",
  "sf",
);

export function createBlobsNoun(send: Send): BlobsNoun {
  return createFilesNoun(send, calls);
}
