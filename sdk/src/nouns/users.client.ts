import {
  changeUser,
  deleteProfilePicture,
  deleteUser,
  getOwnUser,
  getProfilePicture,
  getUser,
  readProfilePictureFile,
  searchUsers,
  setProfilePicture,
} from "../generated/calls.ts";
import type {
  ChangeUserRequest,
  OwnUser,
  Picture,
  SearchUsersQuery,
  SetProfilePictureRequest,
  ShownUser,
} from "../generated/types.ts";
import type { PageOptions, Pages } from "../pages/pages.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Download } from "../wire/download.ts";
import type { Source } from "../wire/source.ts";
import { type PictureSize, sizeText } from "./files.ts";
import { listPages, type Send } from "./send.ts";

export interface ProfilePictureOptions extends CallOptions {
  /** Scales the picture to fit this size, in pixels. */
  readonly size?: PictureSize;
  /** The user whose picture it is; by default the caller. */
  readonly userId?: string;
}

/** The caller's own user, and the visible profiles of other users. */
export interface UsersNoun {
  me(options?: CallOptions): Promise<OwnUser>;
  get(id: string, options?: CallOptions): Promise<ShownUser>;
  search(query?: SearchUsersQuery, options?: PageOptions): Pages<ShownUser>;
  /** Changes the caller's own user. */
  change(fields: ChangeUserRequest, options?: CallOptions): Promise<OwnUser>;
  /** Revokes all other sessions of the user. */
  changePassword(
    input: { readonly currentPassword: string; readonly password: string },
    options?: CallOptions,
  ): Promise<void>;
  /** Deletes the caller's own user and all its data. */
  delete(options?: CallOptions): Promise<void>;
  setProfilePicture(source: Source, fields?: SetProfilePictureRequest, options?: CallOptions): Promise<Picture>;
  profilePicture(options?: ProfilePictureOptions): Promise<Picture>;
  downloadProfilePicture(options?: ProfilePictureOptions): Promise<Download>;
  deleteProfilePicture(options?: CallOptions): Promise<void>;
}

export function createUsersNoun(send: Send): UsersNoun {
  return {
    me: (options) => send(getOwnUser(), options),
    get: (id, options) => send(getUser(id), options),
    search: (query, options) => listPages(send, searchUsers, query, options),
    change: (fields, options) => send(changeUser("me", fields), options),
    async changePassword(input, options) {
      await send(changeUser("me", input), options);
    },
    delete: (options) => send(deleteUser("me"), options),
    setProfilePicture: (data, fields, options) => send(setProfilePicture("me", { ...fields, data }), options),
    profilePicture: ({ size, userId = "me", ...options } = {}) =>
      send(getProfilePicture(userId, { size: sizeText(size) }), options),
    downloadProfilePicture: ({ size, userId = "me", ...options } = {}) =>
      send(readProfilePictureFile(userId, { size: sizeText(size) }), options),
    deleteProfilePicture: (options) => send(deleteProfilePicture("me"), options),
  };
}
