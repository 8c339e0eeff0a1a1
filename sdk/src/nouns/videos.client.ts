import { changeVideo, createVideo, deleteVideo, getVideo, readVideoFile, searchVideos } from "../generated/calls.ts";
import type { ChangeVideoRequest, CreateVideoRequest, SearchVideosQuery, Video } from "../generated/types.ts";
import { createFileMethods, type FilesNoun } from "./files.ts";
import { createOwnedNoun } from "./owned.ts";
import type { Send } from "./send.ts";

/** Videos of users. */
export interface VideosNoun extends FilesNoun<Video, CreateVideoRequest, ChangeVideoRequest, SearchVideosQuery> {}

export function createVideosNoun(send: Send): VideosNoun {
  return {
    ...createOwnedNoun(send, { get: getVideo, search: searchVideos, change: changeVideo, remove: deleteVideo }),
    ...createFileMethods<Video, CreateVideoRequest>(send, { create: createVideo, get: getVideo, read: readVideoFile }),
  };
}
