import { applicationPathParameters } from "../auth/operated-application.ts";
import type { FileRow } from "../db/tables.ts";
import { PageOf, pagingParameters } from "../http/paging.ts";
import { type Schema, type Static, Type } from "../http/schema.ts";
import { alsoAs, Choice, DateRangeInput, IdInput, WireLocation } from "../http/wire.ts";
import { type FileAnswer, fileContract, presentFile, ReadPicture } from "./files.contract.ts";
import type { FileKind } from "./files.kinds.ts";

export const OperatedFilesPath = Type.Object(applicationPathParameters);

export const SearchOperatedFiles = Type.Object({
  userID: Type.Optional(alsoAs("ownerID", IdInput("User"))),
  created: Type.Optional(DateRangeInput()),
  lastModified: Type.Optional(DateRangeInput()),
  sortOrder: Type.Optional(
    Choice(["created", "-created"], {
      description: "What the files are sorted by, - for descending. Default -created.",
    }),
  ),
  ...pagingParameters,
});

/** Operators read the bytes with their token, so their view has no `signedUrl`. */
type OperatedFile = Omit<FileAnswer, "signedUrl"> & {
  readonly fileName?: string;
  readonly shownLocation?: Static<typeof WireLocation>;
};

/** The operator view of one kind of file: all that its owner sees, and the original file name. */
export function operatedFileContract(kind: FileKind) {
  const { signedUrl: _, ...shown } = fileContract(kind).Result.properties;
  const result: unknown = Type.Object({
    ...shown,
    fileName: Type.Optional(Type.String()),
    shownLocation: Type.Optional(WireLocation),
  });
  const Result = result as Schema<OperatedFile>; // read by name, as in `fileContract`
  return {
    Path: Type.Object({ ...applicationPathParameters, [kind.pathParameter]: IdInput(kind.idKind) }),
    Result,
    Page: PageOf(Result),
  };
}

export const ReadOperatedPicture = Type.Object({ size: ReadPicture.properties.size });

export function presentOperatedFile(kind: FileKind, file: FileRow): OperatedFile {
  const { signedUrl: _, ...shown } = presentFile(kind, file, file.user_id, "");
  const { seen_lat: lat, seen_lng: lng, file_name: fileName } = file;
  return {
    ...shown,
    ...(fileName !== null && { fileName }),
    ...(lat !== null && lng !== null && { shownLocation: { lat, lng } }),
  };
}

/** How much an application stores, and its limits; absent where there is no limit. */
export const FileUsage = Type.Object({
  files: Type.Integer(),
  bytes: Type.Integer(),
  filesMax: Type.Optional(Type.Integer()),
  bytesMax: Type.Optional(Type.Integer()),
});
