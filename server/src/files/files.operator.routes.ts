import { requireApplication } from "../auth/operated-application.ts";
import type { Database, Queries } from "../db/database.ts";
import { searchPage } from "../db/search.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { Pictures } from "../pictures/pictures.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { findUsage } from "../storage/usage.ts";
import { loadApplicationSettings } from "../tenancy/application-settings.ts";
import { fileResult } from "./files.download.ts";
import { type FileKind, fileKinds } from "./files.kinds.ts";
import {
  FileUsage,
  OperatedFilesPath,
  operatedFileContract,
  presentOperatedFile,
  ReadOperatedPicture,
  SearchOperatedFiles,
} from "./files.operator.contract.ts";
import { operatedFileSearch } from "./files.operator.search.ts";
import { findLiveFile } from "./files.store.ts";

interface FilesOperatorServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly pictures: Pictures;
  readonly clock: Clock;
  readonly paging: Paging;
}

/** The operator view of an application's pictures, videos and blobs, and their storage use. */
export function filesOperatorRoutes(services: FilesOperatorServices): Route[] {
  const { reads } = services.database;

  const getUsage = route({
    method: "GET",
    path: "/_/api/applications/{appid}/file-usage",
    operation: "getFileUsage",
    summary: "Read how many files an application has, and how large they are together",
    tag: "Operators",
    caller: "operator",
    pathParameters: OperatedFilesPath,
    status: 200,
    result: FileUsage,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid } }) {
      await requireApplication(appid, reads);
      const { files, bytes } = await findUsage(appid, reads);
      const { filesPerApplication: filesMax, bytesPerApplication: bytesMax } =
        (await loadApplicationSettings(appid, reads)).quotas ?? {};
      return { files, bytes, ...(filesMax !== undefined && { filesMax }), ...(bytesMax !== undefined && { bytesMax }) };
    },
  });

  return [getUsage, ...fileKinds.flatMap((kind) => routesOf(kind, services))];
}

function routesOf(kind: FileKind, services: FilesOperatorServices): Route[] {
  const { database, paging } = services;
  const { idKind, collection, noun } = kind;
  const contract = operatedFileContract(kind);
  const itemPath = `/_/api/applications/{appid}/${collection}/{${kind.pathParameter}}`;
  const common = { method: "GET", tag: "Operators", caller: "operator", status: 200 } as const;
  const present = (file: FileRow) => presentOperatedFile(kind, file);

  const searchFiles = route({
    ...common,
    path: `/_/api/applications/{appid}/${collection}`,
    operation: `searchOperated${idKind}s`,
    summary: `Search the ${noun}s of an application, whoever may read them`,
    pathParameters: OperatedFilesPath,
    parameters: SearchOperatedFiles,
    result: contract.Page,
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: { appid }, parameters, call }) {
      const listing = `${collection} of ${appid}`;
      const request = await paging.read(listing, caller, parameters, call);
      await requireApplication(appid, database.reads);
      const search = operatedFileSearch(kind, appid, request.filters);
      const page = await searchPage(search, request.position, request.size, database.reads, call.work);
      return paging.present(listing, caller, request, page, present);
    },
  });

  const getFile = route({
    ...common,
    path: itemPath,
    operation: `getOperated${idKind}`,
    summary: `Read what is known of one ${noun}`,
    pathParameters: contract.Path,
    result: contract.Result,
    errors: ["ItemDoesNotExist"],
    handle: async ({ path }) => present(await requireFile(kind, path, database.reads)),
  });

  const readFile = route({
    ...common,
    path: `${itemPath}/file`,
    operation: `readOperated${idKind}File`,
    summary: `Read the bytes of one ${noun}`,
    isBatchable: false,
    pathParameters: contract.Path,
    parameters: kind.isPicture ? ReadOperatedPicture : (Type.Object({}) as typeof ReadOperatedPicture), // no size then
    result: Type.String({ format: "binary" }),
    errors: [
      ...(["ItemDoesNotExist", "RangeOutsideFile"] as const),
      ...(kind.isPicture ? (["FileUploadFailed"] as const) : []),
    ],
    async handle({ caller, path, parameters, call }) {
      const file = await requireFile(kind, path, database.reads);
      const reader = { isOwner: true, lane: "read", caller: caller.operatorId } as const;
      return fileResult(file, reader, parameters.size, call, services);
    },
  });

  return [searchFiles, getFile, readFile];
}

/** @throws ApiError ItemDoesNotExist */
async function requireFile(
  { pathParameter }: FileKind,
  path: Readonly<Record<string, string>>,
  queries: Queries,
): Promise<FileRow> {
  const { appid = "", [pathParameter]: id = "" } = path; // its only parameters
  const file = await findLiveFile(appid, id, queries); // `requireApplication` has run before
  if (file === undefined) throw new ApiError("ItemDoesNotExist");
  return file;
}
