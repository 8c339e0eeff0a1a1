import type { Background } from "../background.ts";
import type { Database } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import { searchPage } from "../db/search.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { changedPermissions, requireOwner } from "../http/permissions.ts";
import { requireEnabled } from "../http/policy.ts";
import type { RateLimits } from "../http/rate-limits.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import { changedText } from "../http/wire.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { addressGroup } from "../lib/ip-addresses.ts";
import type { Location } from "../lib/locations.ts";
import type { Pictures } from "../pictures/pictures.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import { noteSharing } from "../privacy/sharing.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import type { Policies } from "../tenancy/policies.ts";
import { fileContract, presentFile, ReadFile, ReadPicture } from "./files.contract.ts";
import { createFile } from "./files.creation.ts";
import { fileResult } from "./files.download.ts";
import { type FileKind, fileKinds, ownColumns } from "./files.kinds.ts";
import { bytesPath, type FileLinks } from "./files.links.ts";
import { updatePictureShared } from "./files.profile-pictures.store.ts";
import { removeFile } from "./files.removal.ts";
import { fileSearch } from "./files.search.ts";
import { findFile, findFuzzedOwners, findLiveFile, updateFile } from "./files.store.ts";
import { storeUpload } from "./files.uploads.ts";

interface FilesServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly pictures: Pictures;
  readonly background: Background;
  readonly paging: Paging;
  readonly policies: Policies;
  readonly rateLimits: RateLimits;
  readonly fuzzing: Fuzzing;
  readonly fileLinks: FileLinks;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

/** Pictures, videos and blobs (spec/files). */
export function filesRoutes(services: FilesServices): Route[] {
  return fileKinds.flatMap((kind) => routesOf(kind, services));
}

function routesOf(kind: FileKind, services: FilesServices): Route[] {
  const { database, policies, rateLimits, paging, fuzzing, fileLinks, clock } = services;
  const { idKind, collection, noun } = kind;
  const contract = fileContract(kind);
  const tag = `${idKind}s`;
  const itemPath = `/${collection}/{${kind.pathParameter}}`;
  const idIn = (path: Readonly<Record<string, string>>) => path[kind.pathParameter] ?? ""; // its only parameter
  type Shown = Parameters<typeof presentFile>[1];
  const present = (file: Shown, applicationId: string, readerId: string, fuzzed?: ReadonlySet<string>) =>
    presentFile(
      kind,
      file,
      readerId,
      fileLinks.urlOf(applicationId, bytesPath(kind, file.id)),
      fuzzed?.has(file.user_id),
    );
  /** The owners among these files whose bytes this reader gets without location data. */
  const findFuzzed = (applicationId: string, readerId: string, files: readonly Shown[]) => {
    const others = files.filter(({ user_id }) => user_id !== readerId).map(({ user_id }) => user_id);
    return findFuzzedOwners(applicationId, others, database.reads);
  };

  const uploadFile = route({
    method: "POST",
    path: `/${collection}`,
    operation: `create${idKind}`,
    summary: `Upload a ${noun}`,
    tag,
    caller: "user",
    isBatchable: false,
    parameters: contract.Create,
    upload: { store: (caller, part, call) => storeUpload(kind, caller, part, call, services) },
    status: 201,
    result: contract.Result,
    errors: ["ServiceUnavailable"],
    async handle({ caller, parameters, file }) {
      const stored = await database.write(({ queries }) =>
        createFile(kind, caller, parameters, file, services, queries),
      );
      return present(stored, caller.applicationId, caller.userId);
    },
  });

  const searchFiles = route({
    method: "GET",
    path: `/${collection}`,
    operation: `search${idKind}s`,
    summary: `Search one's own ${noun}s and those that others share`,
    tag,
    caller: "user",
    parameters: contract.Search,
    status: 200,
    result: contract.Page,
    errors: [],
    async handle({ caller, parameters, call }) {
      const { applicationId, userId } = caller;
      const request = await paging.read(collection, caller, parameters, call);
      const { filters, position, size } = request;
      const search = fileSearch(kind, applicationId, userId, filters);
      const page = await searchPage(search, position, size, database.reads, call.work);
      const fuzzed = await findFuzzed(applicationId, userId, page.rows);
      return paging.present(collection, caller, request, page, (row) => present(row, applicationId, userId, fuzzed));
    },
  });

  const getFile = route({
    method: "GET",
    path: itemPath,
    operation: `get${idKind}`,
    summary: `Read what is known of one ${noun}`,
    tag,
    caller: "user",
    pathParameters: contract.Path,
    status: 200,
    result: contract.Result,
    errors: ["ItemDoesNotExist"],
    async handle({ caller: { applicationId, userId }, path }) {
      const file = await findFile(applicationId, userId, idIn(path), database.reads);
      if (file === undefined) throw new ApiError("ItemDoesNotExist");
      return present(file, applicationId, userId, await findFuzzed(applicationId, userId, [file]));
    },
  });

  const readFile = route({
    method: "GET",
    path: `${itemPath}/file`,
    operation: `read${idKind}File`,
    summary: `Read the bytes of one ${noun}`,
    tag,
    caller: "user",
    isBatchable: false,
    pathParameters: contract.Path,
    parameters: kind.isPicture ? ReadPicture : (ReadFile as typeof ReadPicture), // no size then
    download: {
      async handleSigned({ path, parameters, call }) {
        const id = idIn(path);
        const applicationId = fileLinks.open(parameters, bytesPath(kind, id));
        const policy = await policies.load(applicationId);
        if (policy !== undefined) {
          requireEnabled(policy, readFile, path);
          rateLimits.admitTo({ id: applicationId, policy }, readFile, call);
        }
        const file = await findLiveFile(applicationId, id, database.reads);
        if (file === undefined) throw new ApiError("ItemDoesNotExist");
        const reader = { isOwner: false, lane: "link", caller: addressGroup(call.address) } as const;
        return fileResult(file, reader, parameters.size, call, services);
      },
    },
    status: 200,
    result: Type.String({ format: "binary" }),
    // Blobs too: one that is a picture is decoded for other users while its owner has locationFuzzing.
    errors: ["ItemDoesNotExist", "FileUploadFailed", ...(kind.isPicture ? [] : (["ObjectPermissionDenied"] as const))],
    async handle({ caller: { applicationId, userId }, path, parameters, call }) {
      const file = await findFile(applicationId, userId, idIn(path), database.reads);
      if (file === undefined) throw new ApiError("ItemDoesNotExist");
      const reader = { isOwner: file.user_id === userId, lane: "read", caller: userId } as const;
      return fileResult(file, reader, parameters.size, call, services);
    },
  });

  const changeFile = route({
    method: "PATCH",
    path: itemPath,
    operation: `change${idKind}`,
    summary: `Change what is known of a ${noun}: one's own, or one that its owner lets others write`,
    tag,
    caller: "user",
    pathParameters: contract.Path,
    parameters: contract.Change,
    status: 200,
    result: contract.Result,
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
    async handle({ caller: { applicationId, userId }, path, parameters }) {
      const id = idIn(path);
      const { readPermissions } = parameters;
      const changed = await database.write(async ({ queries }) => {
        if (kind.isPicture && readPermissions !== undefined) {
          await updatePictureShared(applicationId, userId, id, readPermissions === "App", queries);
        }
        await lockRow(database.dialect, "files", applicationId, id, queries);
        const found = await findFile(applicationId, userId, id, queries);
        if (found === undefined) throw new ApiError("ItemDoesNotExist");
        const { location } = parameters;
        const row: FileRow = {
          ...found,
          ...changedPermissions(found, userId, parameters),
          ...(location !== undefined &&
            !isSeenAt(found, userId, location) && {
              setter_id: userId === found.user_id ? null : userId,
              ...(await fuzzing.locate({ applicationId, userId: found.user_id, setterId: userId, location }, queries)),
            }),
          ...ownColumns(kind, parameters, found),
          tag: changedText(found.tag, parameters.tag),
          modified_at: clock.now(),
        };
        await noteSharing(found, row, fuzzing, queries);
        await updateFile(row, queries);
        return row;
      });
      return present(changed, applicationId, userId, await findFuzzed(applicationId, userId, [changed]));
    },
  });

  const deleteFile = route({
    method: "DELETE",
    path: itemPath,
    operation: `delete${idKind}`,
    summary: `Delete one's own ${noun}, and its bytes`,
    tag,
    caller: "user",
    pathParameters: contract.Path,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
    async handle({ caller: { applicationId, userId }, path }) {
      const id = idIn(path);
      await database.write(async (transaction) => {
        const found = await findFile(applicationId, userId, id, transaction.queries);
        if (found === undefined) throw new ApiError("ItemDoesNotExist");
        requireOwner(found, userId);
        if (!(await removeFile(applicationId, found, transaction, services))) throw new ApiError("ItemDoesNotExist");
      });
      return true as const;
    },
  });

  return [uploadFile, searchFiles, getFile, readFile, changeFile, deleteFile];
}

/** Whether a location in a request equals the one that the user sees, as for check-ins. */
function isSeenAt(file: FileRow, userId: string, location: Location): boolean {
  const seen = shownLocation(file, file.user_id === userId);
  return seen?.lat === location.lat && seen.lng === location.lng;
}
