import { isUtf8 } from "node:buffer";
import { compileParameters } from "../contract/parameters.ts";
import { newPermissions } from "../contract/permissions.ts";
import { Type } from "../contract/schema.ts";
import { Choice, Text } from "../contract/wire.ts";
import { ApiError } from "../lib/errors.ts";
import { fileContract, type NewFile } from "./files.contract.ts";
import { type FileKind, fileKinds } from "./files.kinds.ts";

/** The file that Upload-Metadata describes. */
export interface DescribedFile {
  readonly kind: FileKind;
  readonly fileName: string | undefined;
  readonly contentType: string;
  /** Validated by the schemas of the kind. */
  readonly parameters: NewFile;
}

const nouns = ["picture", "video", "blob"] as const satisfies (typeof fileKinds)[number]["noun"][];

const readKind = compileParameters(Type.Object({ kind: Choice({ enum: nouns }) }));

const readCommon = compileParameters(
  Type.Object({ filename: Type.Optional(Text({})), filetype: Type.Optional(Text({})) }),
);

const kinds = new Map(
  fileKinds.map((kind: FileKind) => [kind.noun, { kind, read: compileParameters(fileContract(kind).Create) }]),
);

/**
 * Parses Upload-Metadata: names with base64 values, which correspond to the parts of a form.
 *
 * @throws ApiError ParameterMissingRequiredValue, ParameterOutOfRange, ParameterIncorrectFormat, naming the parameter
 */
export function describeFile(metadata: string): DescribedFile {
  const raw = readMetadata(metadata);
  const known = kinds.get(readKind(raw).kind);
  if (known === undefined) throw new ApiError("ParameterOutOfRange"); // unreachable: readKind refuses unknown kinds
  const { filename, filetype = "" } = readCommon(raw);
  const parameters = known.read(raw);
  newPermissions(parameters);
  return { kind: known.kind, fileName: filename, contentType: filetype, parameters };
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function readMetadata(metadata: string): [name: string, value: string][] {
  if (metadata.trim() === "") return [];
  const pairs = metadata.split(",").map((pair): [string, string] => {
    const [name = "", value = "", ...more] = pair.trim().split(" ");
    if (!/^[\x21-\x7e]+$/.test(name) || more.length > 0 || !base64Pattern.test(value)) {
      throw new ApiError("ParameterIncorrectFormat", "Upload-Metadata must be names with values in base64.", {
        parameter: "Upload-Metadata",
      });
    }
    const bytes = Buffer.from(value, "base64");
    if (!isUtf8(bytes)) throw new ApiError("ParameterIncorrectFormat", `${name} is not UTF-8 in base64.`);
    return [name, bytes.toString("utf8")];
  });
  const names = new Set(pairs.map(([name]) => name));
  if (names.size < pairs.length) {
    throw new ApiError("ParameterIncorrectFormat", "Upload-Metadata contains a name twice.", {
      parameter: "Upload-Metadata",
    });
  }
  return pairs;
}
