import { Type } from "../contract/schema.ts";
import { Decimal, IdInput, Integer } from "../contract/wire.ts";
import type { FileRow } from "../db/tables.ts";
import { countField, textField, textFieldOf } from "../owned/fields.ts";
import { type OwnedKind, ownKind } from "../owned/kind.ts";

/** The differences between the kinds of files. */
export interface FileKind extends OwnedKind<FileRow> {
  readonly idKind: "Picture" | "Video" | "Blob";
  readonly isPicture: boolean;
}

export const titleCharactersMax = 256;
export const captionCharactersMax = 4_000;

const common = {
  kindColumn: "kind",
  plural: "files",
  columns: [
    ...(["content_type", "content_length", "content_hash", "title", "detail", "label"] as const),
    ...(["bit_rate", "length_in_seconds", "thumbnail_id", "width", "height"] as const),
  ],
} as const;

export const fileKinds: readonly [FileKind, FileKind, FileKind] = [
  {
    ...common,
    ...ownKind("Picture"),
    noun: "picture",
    isPicture: true,
    fields: [
      textField("caption", "detail", captionCharactersMax),
      textField("title", "title", titleCharactersMax),
      textField("watermark", "label", titleCharactersMax, "A text for a watermark, which the app draws."),
    ],
  },
  {
    ...common,
    ...ownKind("Video"),
    noun: "video",
    isPicture: false,
    fields: [
      textField("title", "title", titleCharactersMax),
      textField("encoding", "detail", titleCharactersMax, "The encoding of the video, defined by the app."),
      textField("friendlyName", "label", titleCharactersMax, "A name for people."),
      countField(
        "bitRate",
        "bit_rate",
        Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: "In bits per second." }),
        Type.Integer({ format: "int64", description: "In bits per second." }),
      ),
      countField(
        "lengthInSeconds",
        "length_in_seconds",
        Decimal({ minimum: 0, description: "The duration." }),
        Type.Number({ description: "The duration." }),
      ),
      textFieldOf("thumbnailID", "thumbnail_id", IdInput("Picture")),
    ],
  },
  {
    ...common,
    ...ownKind("Blob"),
    noun: "blob",
    isPicture: false,
    fields: [textField("friendlyName", "title", titleCharactersMax, "A name for people.")],
  },
];

export const [pictureKind] = fileKinds;
