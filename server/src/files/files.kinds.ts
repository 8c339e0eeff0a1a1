import type { FileRow } from "../db/tables.ts";
import { type Schema, Type } from "../http/schema.ts";
import { ClearableText, Decimal, IdInput, Integer, Text } from "../http/wire.ts";
import type { IdKind } from "../lib/ids.ts";

/** A field of one kind of file. It can be filtered and sorted by, because its column is indexed. */
export interface OwnField {
  readonly name: string;
  readonly column: "title" | "detail" | "label" | "bit_rate" | "length_in_seconds" | "thumbnail_id";
  /** The schema for creating and changing it; the empty text clears a text. */
  readonly input: Schema;
  readonly change: Schema;
  readonly result: Schema;
}

/** Everything in which the kinds of files differ. */
export interface FileKind {
  readonly idKind: IdKind & ("Picture" | "Video" | "Blob");
  /** The first part of its paths. */
  readonly collection: string;
  readonly pathParameter: string;
  readonly noun: string;
  readonly isPicture: boolean;
  readonly fields: readonly OwnField[];
}

function textField(name: string, column: "title" | "detail" | "label", maxLength: number): OwnField {
  return {
    name,
    column,
    input: Text({ maxLength }),
    change: ClearableText({ maxLength }),
    result: Type.String(),
  };
}

function plainField(name: string, column: OwnField["column"], input: Schema, result: Schema): OwnField {
  return { name, column, input, change: input, result };
}

export const titleCharactersMax = 256;
export const captionCharactersMax = 4_000;

export const fileKinds = [
  {
    idKind: "Picture",
    collection: "pictures",
    pathParameter: "pictureId",
    noun: "picture",
    isPicture: true,
    fields: [
      textField("caption", "detail", captionCharactersMax),
      textField("title", "title", titleCharactersMax),
      textField("watermark", "label", titleCharactersMax),
    ],
  },
  {
    idKind: "Video",
    collection: "videos",
    pathParameter: "videoId",
    noun: "video",
    isPicture: false,
    fields: [
      textField("title", "title", titleCharactersMax),
      textField("encoding", "detail", titleCharactersMax),
      textField("friendlyName", "label", titleCharactersMax),
      plainField(
        "bitRate",
        "bit_rate",
        Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: "In bits per second." }),
        Type.Integer(),
      ),
      plainField("lengthInSeconds", "length_in_seconds", Decimal({ minimum: 0 }), Type.Number()),
      plainField("thumbnailID", "thumbnail_id", IdInput("Picture"), Type.String()),
    ],
  },
  {
    idKind: "Blob",
    collection: "blobs",
    pathParameter: "blobId",
    noun: "blob",
    isPicture: false,
    fields: [textField("friendlyName", "title", titleCharactersMax)],
  },
] as const satisfies readonly FileKind[];

export const [pictureKind] = fileKinds;

/** The stored columns of a kind: the given fields over the existing ones. */
export function ownColumns(
  kind: FileKind,
  given: Readonly<Record<string, unknown>>,
  current?: Pick<FileRow, OwnField["column"]>,
): Pick<FileRow, OwnField["column"]> {
  const empty = { title: null, detail: null, label: null, bit_rate: null, length_in_seconds: null, thumbnail_id: null };
  const { title, detail, label, bit_rate, length_in_seconds, thumbnail_id } = current ?? empty;
  const columns: Record<string, unknown> = { title, detail, label, bit_rate, length_in_seconds, thumbnail_id };
  for (const { name, column } of kind.fields) {
    if (given[name] !== undefined) columns[column] = given[name] === "" ? null : given[name];
  }
  return columns as Pick<FileRow, OwnField["column"]>; // the schema of each column has read its value
}
