import { PageOf } from "../contract/paging.ts";
import { named, type ObjectSchema, type Static, Type } from "../contract/schema.ts";
import { Raw, Text, UserIdInput, WireLocation } from "../contract/wire.ts";
import type { FileRow, ShownRow } from "../db/tables.ts";
import { commonChange, commonCreation, commonResults, commonSearch, pathOf, presentOwned } from "../owned/contract.ts";
import { changesOf, filtersOf, inputsOf, resultsOf } from "../owned/fields.ts";
import { shownLocation } from "../privacy/visibility.ts";
import { captionCharactersMax, type FileKind, titleCharactersMax } from "./files.kinds.ts";

const FileSize = named(
  "PictureSize",
  "The size of a picture in pixels.",
  Type.Object({ w: Type.Integer({ description: "Width." }), h: Type.Integer({ description: "Height." }) }),
);

/** The wire contract of one kind of file. */
export function fileContract(kind: FileKind) {
  const Result = named(
    kind.idKind,
    `A ${kind.noun} of a user.`,
    Type.Object({ ...resultsOf(kind.fields), ...(kind.isPicture ? ofPictures : {}), ...common }),
  );
  return {
    Path: pathOf(kind),
    Create: Type.Object({ ...inputsOf(kind.fields), ...commonCreation }),
    Change: Type.Object({ ...changesOf(kind.fields), ...commonChange }),
    Search: Type.Object({ ...filtersOf(kind.fields), ...commonSearch(kind) }),
    Result,
    Page: PageOf(Result),
  };
}

/** The static type omits it, like the fields of single kinds. */
const ofPictures: Readonly<Record<never, never>> = { size: Type.Optional(FileSize) };

const common = {
  id: Type.String(),
  userID: Type.String(),
  contentType: Type.String(),
  contentLength: Type.Optional(
    Type.Integer({
      format: "int64",
      description: "Absent, as contentHash, for others while the owner has locationFuzzing.",
    }),
  ),
  contentHash: Type.Optional(Type.String({ description: "SHA-256 of the bytes, in lower-case hex." })),
  signedUrl: Type.String({ description: "Reads the bytes without a token, for some time." }),
  tag: Type.Optional(Type.String({ description: "Any text of the app." })),
  location: Type.Optional(WireLocation),
  ...commonResults,
};

const ofSignedUrl = (type: "string" | "integer") =>
  Type.Optional(Raw({ type, description: "As `signedUrl` brings it, in place of a token." }));

/** Alternatives to the token in the query. `signedUrl` adds the last three, which the signature check validates. */
export const ReadFile = Type.Object({
  application: ofSignedUrl("string"),
  expires: ofSignedUrl("integer"),
  signature: ofSignedUrl("string"),
});

export const ReadPicture = Type.Object({
  size: Type.Optional(Text({ description: "Scaled to fit <n> or <w>,<h> pixels, and never up.", maxLength: 32 })),
  ...ReadFile.properties,
});

export const ProfilePicturePath = Type.Object({ userId: UserIdInput({ description: "Me, or one's own id." }) });

export const CreateProfilePicture = Type.Object({
  caption: Type.Optional(Text({ maxLength: captionCharactersMax })),
  title: Type.Optional(Text({ maxLength: titleCharactersMax })),
});

export const ReadProfilePicture = Type.Object({ size: ReadPicture.properties.size });

/** The fields of a new file of any kind. */
export type NewFile = Static<ObjectSchema<typeof commonCreation>>;

export type FileAnswer = Static<ReturnType<typeof fileContract>["Result"]>;

/**
 * Presents a file as this user sees it.
 *
 * @param isStripped whether this user receives other bytes than the owner; the result then does not describe the
 * original bytes
 */
export function presentFile(
  kind: FileKind,
  file: ShownRow<FileRow>,
  readerId: string,
  signedUrl: string,
  isStripped = false,
): FileAnswer {
  const location = shownLocation(file, file.user_id === readerId);
  return presentOwned(file, kind.fields, {
    contentType: file.content_type,
    ...(!isStripped && { contentLength: file.content_length, contentHash: file.content_hash }),
    signedUrl,
    ...(file.width !== null && file.height !== null && { size: { w: file.width, h: file.height } }),
    ...(location !== undefined && { location }),
  });
}
