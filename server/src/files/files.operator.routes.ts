import { requireApplication } from "../auth/operated-application.ts";
import { mayDo } from "../config/roles.ts";
import { pagingParameters } from "../contract/paging.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { sortOrders } from "../contract/search.ts";
import { alsoAs, Bytes, Choice, DateRangeInput, IdInput } from "../contract/wire.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { type Operation, operation } from "../operations/operation.ts";
import { OperatedPath, operatedOperations, operatedPathOf } from "../owned/operator.operations.ts";
import { findUsage } from "../storage/usage.ts";
import { loadApplicationSettings } from "../tenancy/application-settings.ts";
import { fileContract, presentFile, ReadPicture } from "./files.contract.ts";
import { fileResult } from "./files.download.ts";
import { type FileKind, fileKinds } from "./files.kinds.ts";
import { findLiveFile } from "./files.store.ts";

const SearchOperatedFiles = Type.Object({
  userID: Type.Optional(alsoAs("ownerID", IdInput("User"))),
  created: Type.Optional(DateRangeInput({ description: "When it was created." })),
  lastModified: Type.Optional(DateRangeInput({ description: "When it was changed last." })),
  sortOrder: Type.Optional(
    Choice(sortOrders("CreatedSortOrder", ["created"]), {
      description: "The order of the files.",
      default: "-created",
    }),
  ),
  ...pagingParameters,
});

/** The operators' view of one kind of file: the owner's view and the original file name. */
function operatedFileContract(kind: FileKind) {
  // Operators read the bytes with their token.
  const { signedUrl: _, ...shown } = fileContract(kind).Result.properties;
  return {
    Path: operatedPathOf(kind),
    Result: Type.Object({
      ...shown,
      fileName: Type.Optional(Type.String({ description: "The name that the file was uploaded with." })),
    }),
  };
}

const ReadOperatedPicture = Type.Object({ size: ReadPicture.properties.size });

function presentOperatedFile(kind: FileKind, file: FileRow): Static<ReturnType<typeof operatedFileContract>["Result"]> {
  const { signedUrl: _, ...shown } = presentFile(kind, file, file.user_id, "");
  const { file_name: fileName } = file;
  return { ...shown, ...(fileName !== null && { fileName }) };
}

/** How much an application stores, and its limits. Without a limit the field is absent. */
const FileUsage = named(
  "FileUsage",
  "The stored amounts of an application, and its limits.",
  Type.Object({
    files: Type.Integer({ format: "int64", description: "The number of files." }),
    bytes: Type.Integer({ format: "int64", description: "Their bytes together." }),
    filesMax: Type.Optional(Type.Integer({ format: "int64", description: "The quota of files, if there is one." })),
    bytesMax: Type.Optional(Type.Integer({ format: "int64", description: "The quota of bytes, if there is one." })),
  }),
);

const getUsage = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/file-usage",
  operation: "getFileUsage",
  summary: "Read the number and total size of an application's files",
  description: "With the quotas of the application, if it has some.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedPath,
  status: 200,
  result: FileUsage,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, { database: { reads } }) {
    await requireApplication(appid, reads);
    const { files, bytes } = await findUsage(appid, reads);
    const { filesPerApplication: filesMax, bytesPerApplication: bytesMax } =
      (await loadApplicationSettings(appid, reads)).quotas ?? {};
    return { files, bytes, ...(filesMax !== undefined && { filesMax }), ...(bytesMax !== undefined && { bytesMax }) };
  },
});

function operationsOf(kind: FileKind): Operation[] {
  const { idKind, collection, noun, pathParameter } = kind;
  const contract = operatedFileContract(kind);

  const { search, get } = operatedOperations(kind, {
    Search: SearchOperatedFiles,
    Result: contract.Result,
    present: (file) => presentOperatedFile(kind, file),
  });

  const read = operation({
    method: "GET",
    path: `/_/api/applications/{appid}/${collection}/{${pathParameter}}/file`,
    operation: `readOperated${idKind}File`,
    summary: `Read the bytes of a ${noun}`,
    description: `In ranges on request. Always the bytes that the owner uploaded.${kind.isPicture ? " Without `size`, this requires the role editor." : ""}`,
    tag: "Operators",
    caller: "operator",
    ...(kind.isPicture ? { roleWithout: { parameter: "size", role: "editor" } } : { role: "editor" }),
    isBatchable: false,
    pathParameters: contract.Path,
    // Videos and blobs have no size.
    parameters: kind.isPicture ? ReadOperatedPicture : (Type.Object({}) as typeof ReadOperatedPicture),
    status: 200,
    result: Bytes(kind.isPicture ? "image/*" : "application/octet-stream"),
    errors: [
      ...(["ItemDoesNotExist", "RangeOutsideFile"] as const),
      ...(kind.isPicture ? (["FileUploadFailed"] as const) : []),
    ],
    async handle({ caller, path, parameters, call }, services) {
      const { appid = "", [pathParameter]: id = "" } = path; // the path has no other parameters
      await requireApplication(appid, services.database.reads);
      const file = await findLiveFile(appid, id, services.database.reads);
      if (file === undefined) throw new ApiError("ItemDoesNotExist");
      const isWithoutOriginal = !mayDo(caller.role, "editor");
      const reader = { isOwner: true, isWithoutOriginal, lane: "read", caller: caller.operatorId } as const;
      return fileResult(file, reader, parameters.size, call, services);
    },
  });

  return [search, get, read];
}

/** The operators' view of an application's pictures, videos and blobs, and their storage use. */
export const fileOperatorOperations = [getUsage, ...fileKinds.flatMap(operationsOf)];
