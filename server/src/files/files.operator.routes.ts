import { requireApplication } from "../auth/operated-application.ts";
import { mayDo } from "../config/roles.ts";
import { Type } from "../contract/schema.ts";
import { Bytes } from "../contract/wire.ts";
import { ApiError } from "../lib/errors.ts";
import { type Operation, operation } from "../operations/operation.ts";
import { OperatedPath, operatedOperations } from "../owned/operator.operations.ts";
import { findUsage } from "../storage/usage.ts";
import { loadApplicationSettings } from "../tenancy/application-settings.ts";
import { fileResult } from "./files.download.ts";
import { type FileKind, fileKinds } from "./files.kinds.ts";
import {
  FileUsage,
  operatedFileContract,
  presentOperatedFile,
  ReadOperatedPicture,
  SearchOperatedFiles,
} from "./files.operator.contract.ts";
import { findLiveFile } from "./files.store.ts";

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
    parameters: kind.isPicture ? ReadOperatedPicture : (Type.Object({}) as typeof ReadOperatedPicture), // no size then
    status: 200,
    result: Bytes(kind.isPicture ? "image/*" : "application/octet-stream"),
    errors: [
      ...(["ItemDoesNotExist", "RangeOutsideFile"] as const),
      ...(kind.isPicture ? (["FileUploadFailed"] as const) : []),
    ],
    async handle({ caller, path, parameters, call }, services) {
      const { appid = "", [pathParameter]: id = "" } = path; // its only parameters
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
