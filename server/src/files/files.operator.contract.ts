import { pagingParameters } from "../contract/paging.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { sortOrders } from "../contract/search.ts";
import { alsoAs, Choice, DateRangeInput, IdInput } from "../contract/wire.ts";
import type { FileRow } from "../db/tables.ts";
import { operatedPathOf } from "../owned/operator.operations.ts";
import { fileContract, presentFile, ReadPicture } from "./files.contract.ts";
import type { FileKind } from "./files.kinds.ts";

export const SearchOperatedFiles = Type.Object({
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

/** The operators' view of one kind of file: all that its owner sees, and the original file name. */
export function operatedFileContract(kind: FileKind) {
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

export const ReadOperatedPicture = Type.Object({ size: ReadPicture.properties.size });

export function presentOperatedFile(
  kind: FileKind,
  file: FileRow,
): Static<ReturnType<typeof operatedFileContract>["Result"]> {
  const { signedUrl: _, ...shown } = presentFile(kind, file, file.user_id, "");
  const { file_name: fileName } = file;
  return { ...shown, ...(fileName !== null && { fileName }) };
}

/** How much an application stores, and its limits; absent where there is no limit. */
export const FileUsage = named(
  "FileUsage",
  "The stored amounts of an application, and its limits.",
  Type.Object({
    files: Type.Integer({ format: "int64", description: "The number of files." }),
    bytes: Type.Integer({ format: "int64", description: "Their bytes together." }),
    filesMax: Type.Optional(Type.Integer({ format: "int64", description: "The quota of files, if there is one." })),
    bytesMax: Type.Optional(Type.Integer({ format: "int64", description: "The quota of bytes, if there is one." })),
  }),
);
