/** A part of a form. */
export interface FormPart {
  readonly name: string;
  readonly value: string | Buffer;
  readonly fileName?: string;
  readonly contentType?: string;
}

const boundary = "----a-form-of-a-test-7MA4YWxkTrZu0gW";
export const formHeaders = { "content-type": `multipart/form-data; boundary=${boundary}` };

/** A multipart/form-data body, its parts in this order. */
export function formOf(parts: readonly FormPart[]): Buffer {
  const written = parts.flatMap((part) => [Buffer.from(headOf(part)), Buffer.from(part.value), Buffer.from("\r\n")]);
  return Buffer.concat([...written, Buffer.from(`--${boundary}--\r\n`)]);
}

function headOf({ name, fileName, contentType }: Omit<FormPart, "value">): string {
  const called = fileName === undefined ? "" : `; filename="${fileName}"`;
  const typed = contentType === undefined ? "" : `Content-Type: ${contentType}\r\n`;
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${called}\r\n${typed}\r\n`;
}

/** The part with the file. */
export function dataPart(value: string | Buffer, contentType = "application/octet-stream", fileName = "a"): FormPart {
  return { name: "data", value, fileName, contentType };
}

/** A form with only a file, before and after its bytes, for files that are sent piece by piece. */
export const aroundFile = { before: headOf(dataPart("")), after: `\r\n--${boundary}--\r\n` };

/** Upload-Metadata of the tus protocol: names with values in base64. */
export function metadataOf(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${Buffer.from(value).toString("base64")}`)
    .join(",");
}
