import { callWith } from "../contract/call.ts";
import type { UserCaller } from "../contract/route.ts";
import { Type } from "../contract/schema.ts";
import { Bytes, resolveUserId, UserIdInput } from "../contract/wire.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import {
  CreateProfilePicture,
  type FileAnswer,
  fileContract,
  ProfilePicturePath,
  presentFile,
  ReadPicture,
  ReadProfilePicture,
} from "./files.contract.ts";
import { createFile } from "./files.creation.ts";
import { fileResult, parseFit, sizeWithin } from "./files.download.ts";
import { pictureKind } from "./files.kinds.ts";
import { bytesPath } from "./files.links.ts";
import {
  findProfilePicture,
  findShownProfilePicture,
  isUserShown,
  lockProfilePicture,
  recordPictureChange,
  setProfilePicture,
} from "./files.profile-pictures.store.ts";
import { removeFile } from "./files.removal.ts";
import { storeUpload } from "./files.uploads.ts";

const path = "/users/{userId}/profilepicture";
const tag = "Users";

const contract = fileContract(pictureKind);

function present(picture: FileRow, { fileLinks }: Services): FileAnswer {
  const { application_id, id, user_id } = picture;
  return presentFile(pictureKind, picture, user_id, fileLinks.urlOf(application_id, bytesPath(pictureKind, id)));
}

/** Requires that the path names the caller. @throws ApiError ItemDoesNotExist, ObjectPermissionDenied */
async function requireSelf(
  { applicationId, userId }: UserCaller,
  given: string,
  { database }: Services,
): Promise<void> {
  const id = resolveUserId(given, userId);
  if (id === userId) return;
  const isShown = await isUserShown(applicationId, id, database.reads);
  throw new ApiError(isShown ? "ObjectPermissionDenied" : "ItemDoesNotExist");
}

const setPicture = operation({
  method: "POST",
  path,
  operation: "setProfilePicture",
  summary: "Upload one's own profile picture, replacing an existing one",
  description: "The bytes are read by every user of the application who can see the profile.",
  tag,
  caller: "user",
  isBatchable: false,
  pathParameters: ProfilePicturePath,
  parameters: CreateProfilePicture,
  upload: {
    store: (caller, part, call, services) =>
      storeUpload(pictureKind, caller, part, callWith(call, { isReplacement: true }), services),
  },
  status: 201,
  result: contract.Result,
  errors: ["ItemDoesNotExist", "ObjectPermissionDenied", "ServiceUnavailable"],
  async handle({ caller, path: { userId: given }, parameters, file }, services) {
    await requireSelf(caller, given, services);
    const { applicationId, userId } = caller;
    const picture = await services.database.write(async (transaction) => {
      const { queries } = transaction;
      const locked = await lockProfilePicture(applicationId, userId, queries);
      if (locked === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token check
      if (locked.picture !== undefined) await removeFile(applicationId, locked.picture, transaction, services);
      const shared = { ...parameters, readPermissions: "App" } as const;
      const created = await createFile(pictureKind, caller, shared, file, services, transaction);
      const owner = await setProfilePicture(created, services.clock.now(), queries);
      await recordPictureChange(applicationId, owner, services.events, queries);
      return created;
    });
    return present(picture, services);
  },
});

const getPicture = operation({
  method: "GET",
  path,
  operation: "getProfilePicture",
  summary: "Read one's own profile picture, optionally scaled",
  description: "Answers with the picture's fields and a signedUrl, of the given size if one is sent.",
  tag,
  caller: "user",
  pathParameters: ProfilePicturePath,
  parameters: ReadProfilePicture,
  status: 200,
  result: contract.Result,
  errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, path: { userId: given }, parameters: { size } }, services) {
    await requireSelf(caller, given, services);
    const fit = size === undefined ? undefined : parseFit(size);
    const picture = await findProfilePicture(caller.applicationId, caller.userId, services.database.reads);
    if (picture === undefined) throw new ApiError("ItemDoesNotExist");
    const { width, height } = picture;
    const scaled = fit && width !== null && height !== null && sizeWithin({ w: width, h: height }, fit);
    const shown = present(picture, services);
    if (!scaled) return shown;
    // The signature covers only the path, so the size can be appended; the file route scales by the same rule.
    return { ...shown, ...{ size: scaled }, signedUrl: `${shown.signedUrl}&size=${fit.w},${fit.h}` };
  },
});

const readFile = operation({
  method: "GET",
  path: `${path}/file`,
  operation: "readProfilePictureFile",
  summary: "Read the bytes of a user's profile picture, optionally scaled",
  description: "Answers with the bytes, in ranges on request.",
  tag,
  caller: "user",
  isBatchable: false,
  pathParameters: Type.Object({ userId: UserIdInput({ description: "The id of a user, or me." }) }),
  parameters: ReadPicture,
  download: {
    async handleSigned() {
      throw new ApiError("AuthSignatureInvalid"); // a signedUrl names the picture, never the user
    },
  },
  status: 200,
  result: Bytes("image/*"),
  errors: ["ItemDoesNotExist", "FileUploadFailed"],
  async handle({ caller: { applicationId, userId }, path: { userId: given }, parameters: { size }, call }, services) {
    const id = resolveUserId(given, userId);
    const isOwner = id === userId;
    const find = isOwner ? findProfilePicture : findShownProfilePicture;
    const picture = await find(applicationId, id, services.database.reads);
    if (picture === undefined) throw new ApiError("ItemDoesNotExist");
    const reader = { isOwner, lane: "read", caller: userId } as const;
    return fileResult(picture, reader, size, call, services);
  },
});

const deletePicture = operation({
  method: "DELETE",
  path,
  operation: "deleteProfilePicture",
  summary: "Delete one's own profile picture",
  description: "Deletes the picture and its bytes.",
  tag,
  caller: "user",
  pathParameters: ProfilePicturePath,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, path: { userId: given } }, services) {
    await requireSelf(caller, given, services);
    const { applicationId, userId } = caller;
    await services.database.write(async (transaction) => {
      const locked = await lockProfilePicture(applicationId, userId, transaction.queries);
      const isRemoved =
        locked?.picture !== undefined && (await removeFile(applicationId, locked.picture, transaction, services));
      if (!isRemoved) throw new ApiError("ItemDoesNotExist");
    });
    return true as const;
  },
});

/** A user's profile picture: one of the user's pictures that other users may read (spec/users#profile-pictures). */
export const profilePictureOperations = [setPicture, getPicture, readFile, deletePicture];
