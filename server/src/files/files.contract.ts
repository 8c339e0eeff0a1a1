import type { ShownFileRow } from "../db/tables.ts";
import { PageOf } from "../http/paging.ts";
import { permissionParameters, permissionResults, presentPermissions } from "../http/permissions.ts";
import { type ObjectSchema, type Properties, type Static, Type } from "../http/schema.ts";
import { searchParameters } from "../http/search.ts";
import {
  alsoAs,
  ClearableText,
  IdInput,
  LocationInput,
  Raw,
  Text,
  UserIdInput,
  WireDate,
  WireLocation,
} from "../http/wire.ts";
import { formatDate } from "../lib/dates.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import { captionCharactersMax, type FileKind, type OwnField, titleCharactersMax } from "./files.kinds.ts";

const tagCharactersMax = 256;

const common = {
  create: Type.Object({
    tag: Type.Optional(Text({ maxLength: tagCharactersMax })),
    location: Type.Optional(LocationInput()),
    ...permissionParameters,
  }),
  change: Type.Object({
    tag: Type.Optional(ClearableText({ maxLength: tagCharactersMax })),
    location: Type.Optional(LocationInput()),
    ...permissionParameters,
  }),
  result: Type.Object({
    id: Type.String(),
    userID: Type.String(),
    contentType: Type.String(),
    contentLength: Type.Optional(
      Type.Integer({ description: "Absent, as contentHash, for others while the owner has locationFuzzing." }),
    ),
    contentHash: Type.Optional(Type.String({ description: "SHA-256 of the bytes, in lower-case hex." })),
    signedUrl: Type.String({ description: "Reads the bytes without a token, for some time." }),
    tag: Type.Optional(Type.String()),
    location: Type.Optional(WireLocation),
    ...permissionResults,
    created: WireDate,
    lastModified: WireDate,
  }),
};

const FileSize = Type.Object({ w: Type.Integer(), h: Type.Integer() });

export type FileOrder =
  | "created"
  | "lastModified"
  | "tag"
  | "title"
  | "caption"
  | "encoding"
  | "friendlyName"
  | "watermark"
  | "bitRate"
  | "lengthInSeconds"
  | "thumbnailID";

/** The wire contract of one kind of file. */
export function fileContract(kind: FileKind) {
  const orders = ["created", "lastModified", "tag", ...kind.fields.map(({ name }) => name)] as FileOrder[]; // the names of `fileKinds`
  const search = Type.Object({
    userID: Type.Optional(
      alsoAs("ownerID", UserIdInput({ description: "Only files of this user; me for one's own." })),
    ),
    tag: Type.Optional(Text({ maxLength: tagCharactersMax })),
    ...searchParameters(orders),
  });
  const result = withOwn(common.result, [
    ...kind.fields.map((field) => [field.name, field.result] as const),
    ...(kind.isPicture ? [["size", FileSize] as const] : []),
  ]);
  return {
    Path: Type.Object({ [kind.pathParameter]: IdInput(kind.idKind) }),
    Create: withOwn(common.create, kind.fields.map(inputOf)),
    Change: withOwn(
      common.change,
      kind.fields.map((field) => [field.name, field.change]),
    ),
    Search: withOwn(search, kind.fields.map(inputOf)),
    Result: result,
    Page: PageOf(result),
  };
}

function inputOf({ name, input }: OwnField) {
  return [name, input] as const;
}

/** Shared fields are typed statically; fields of a single kind are read by name (`ownColumns`). */
function withOwn<Shape extends ObjectSchema>(
  shape: Shape,
  own: readonly (readonly [string, Properties[string]])[],
): Shape {
  const fields = Object.fromEntries(own.map(([name, schema]) => [name, Type.Optional(schema)]));
  return Type.Object({ ...fields, ...shape.properties }) as ObjectSchema as Shape; // with more fields than the shape
}

const ofSignedUrl = () => Type.Optional(Raw({ description: "As `signedUrl` brings it, in place of a token." }));

/** Alternatives to the token in the query. `signedUrl` adds the last three, which the signature check validates. */
export const ReadFile = Type.Object({
  application: ofSignedUrl(),
  expires: ofSignedUrl(),
  signature: ofSignedUrl(),
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
export type NewFile = Static<typeof common.create>;

export type FileAnswer = Static<typeof common.result>;

/**
 * Presents a file as this user sees it.
 *
 * @param isStripped whether this user gets bytes other than the owner's; the result then does not describe the original
 *   bytes
 */
export function presentFile(
  kind: FileKind,
  file: ShownFileRow,
  readerId: string,
  signedUrl: string,
  isStripped = false,
): FileAnswer {
  const location = shownLocation(file, file.user_id === readerId);
  const own = kind.fields.map(({ name, column }) => [name, file[column]]).filter(([, value]) => value !== null);
  return {
    id: file.id,
    userID: file.user_id,
    contentType: file.content_type,
    ...(!isStripped && { contentLength: file.content_length, contentHash: file.content_hash }),
    signedUrl,
    ...Object.fromEntries(own),
    ...(file.width !== null && file.height !== null && { size: { w: file.width, h: file.height } }),
    ...(file.tag !== null && { tag: file.tag }),
    ...(location !== undefined && { location }),
    ...presentPermissions(file),
    created: formatDate(file.created_at),
    lastModified: formatDate(file.modified_at),
  };
}
