import type {
  ChangeVideoRequest,
  CreateVideoForm,
  CreateVideoRequest,
  SearchVideosQuery,
  Video,
} from "../generated/types.ts";
import { createFilesNoun, type FilesNoun } from "./files.ts";
import { type OwnedCalls, ownedCalls } from "./owned.ts";
import type { Send } from "./send.ts";

/** Videos of users. */
export interface VideosNoun extends FilesNoun<Video, CreateVideoRequest, ChangeVideoRequest, SearchVideosQuery> {}

const calls: OwnedCalls<Video, CreateVideoForm, ChangeVideoRequest, SearchVideosQuery> = /* @__PURE__ */ ownedCalls(
  "Video",
  "sf",
);

export function createVideosNoun(send: Send): VideosNoun {
  return createFilesNoun(send, calls);
}
