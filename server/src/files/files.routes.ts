import { requireEnabled } from "../contract/policy.ts";
import { Bytes } from "../contract/wire.ts";
import type { FileRow, ShownRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { addressGroup } from "../lib/ip-addresses.ts";
import { type Operation, operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { ownedOperations } from "../owned/operations.ts";
import { getReadable } from "../owned/store.ts";
import { fileContract, presentFile, ReadFile, ReadPicture } from "./files.contract.ts";
import { createFile } from "./files.creation.ts";
import { fileResult } from "./files.download.ts";
import { type FileKind, fileKinds } from "./files.kinds.ts";
import { bytesPath } from "./files.links.ts";
import { recordPictureChange, updatePictureShared } from "./files.profile-pictures.store.ts";
import { removeFile } from "./files.removal.ts";
import { findFuzzedOwners, findLiveFile } from "./files.store.ts";
import { storeUpload } from "./files.uploads.ts";

function operationsOf(kind: FileKind): Operation[] {
  const { idKind, collection, noun, tag } = kind;
  const contract = fileContract(kind);
  // The path has no other parameter.
  const idIn = (path: Readonly<Record<string, string>>) => path[kind.pathParameter] ?? "";

  function present(
    file: ShownRow<FileRow>,
    { applicationId, userId }: { readonly applicationId: string; readonly userId: string },
    { fileLinks }: Services,
    fuzzed?: ReadonlySet<string>,
  ) {
    const url = fileLinks.urlOf(applicationId, bytesPath(kind, file.id));
    return presentFile(kind, file, userId, url, fuzzed?.has(file.user_id));
  }

  const upload = operation({
    method: "POST",
    path: `/${collection}`,
    operation: `create${idKind}`,
    summary: `Upload a ${noun}`,
    description: "The parameters may come before or after the file. Larger files are better sent as resumable uploads.",
    tag,
    caller: "user",
    isBatchable: false,
    parameters: contract.Create,
    upload: { store: (caller, part, call, services) => storeUpload(kind, caller, part, call, services) },
    status: 201,
    result: contract.Result,
    errors: ["ServiceUnavailable"],
    async handle({ caller, parameters, file }, services) {
      const stored = await services.database.write((transaction) =>
        createFile(kind, caller, parameters, file, services, transaction),
      );
      return present(stored, caller, services);
    },
  });

  const { search, get, change, remove } = ownedOperations(kind, {
    contract,
    summaries: {
      get: `Read a ${noun}`,
      change: `Change what is known of a ${noun}: one's own, or one that its owner lets others write`,
      remove: `Delete one's own ${noun}, and its bytes`,
    },
    async presenter(files, caller, services) {
      const { applicationId, userId } = caller;
      const others = files.filter(({ user_id }) => user_id !== userId).map(({ user_id }) => user_id);
      // The owners whose bytes this reader receives without location data.
      const fuzzed = await findFuzzedOwners(applicationId, others, services.database.reads);
      return (file) => present(file, caller, services, fuzzed);
    },
    async beforeChange({ applicationId, userId }, id, { readPermissions }, queries, { events }) {
      if (!kind.isPicture || readPermissions === undefined) return;
      const owner = await updatePictureShared(applicationId, userId, id, readPermissions === "App", queries);
      await recordPictureChange(applicationId, owner, events, queries);
    },
    remove: (file, transaction, services) => removeFile(file.application_id, file, transaction, services),
  });

  const reading = { method: "GET", path: `/${collection}/{${kind.pathParameter}}/file` } as const;
  const read = operation({
    ...reading,
    operation: `read${idKind}File`,
    summary: `Read the bytes of a ${noun}`,
    description: "In ranges on request, and without a token at the address of `signedUrl`.",
    tag,
    caller: "user",
    isBatchable: false,
    pathParameters: contract.Path,
    parameters: kind.isPicture ? ReadPicture : (ReadFile as typeof ReadPicture), // videos and blobs have no size
    download: {
      async handleSigned({ path, parameters, call }, services) {
        const { database, fileLinks, policies, rateLimits } = services;
        const id = idIn(path);
        const applicationId = fileLinks.open(parameters, bytesPath(kind, id));
        const policy = await policies.load(applicationId);
        if (policy !== undefined) {
          requireEnabled(policy, reading, path);
          await rateLimits.admitTo({ id: applicationId, policy }, reading, call);
        }
        const file = await findLiveFile(applicationId, id, database.reads);
        if (file === undefined) throw new ApiError("ItemDoesNotExist");
        const reader = { isOwner: false, lane: "link", caller: addressGroup(call.address) } as const;
        return fileResult(file, reader, parameters.size, call, services);
      },
    },
    status: 200,
    result: Bytes(kind.isPicture ? "image/*" : "application/octet-stream"),
    // Also for blobs: a picture uploaded as a blob is decoded for other users while its owner has locationFuzzing.
    errors: ["ItemDoesNotExist", "FileUploadFailed", ...(kind.isPicture ? [] : (["ObjectPermissionDenied"] as const))],
    async handle({ caller: { applicationId, userId }, path, parameters, call }, services) {
      const file = await getReadable<FileRow>("files", applicationId, userId, idIn(path), services.database.reads);
      const reader = { isOwner: file.user_id === userId, lane: "read", caller: userId } as const;
      return fileResult(file, reader, parameters.size, call, services);
    },
  });

  return [upload, search, get, read, change, remove];
}

/** Pictures, videos and blobs (spec/files). */
export const fileOperations = fileKinds.flatMap(operationsOf);
