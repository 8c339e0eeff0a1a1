import { type Readable, Writable, type WritableOptions } from "node:stream";
import { Dicer } from "@fastify/busboy";

/** A part of a form whose headers have arrived. */
export interface FormPart {
  readonly name: string | undefined;
  /** Without its path. */
  readonly fileName: string | undefined;
  /** The Content-Type of the part. */
  readonly label: string | undefined;
  /** Must be read completely; otherwise the form does not finish. */
  readonly bytes: Readable;
}

export interface FormListener {
  /** Called for each part whose Content-Disposition is form-data; the other parts are skipped. */
  onPart(part: FormPart): void;
  onTooManyParts(): void;
  /** Called when the form is invalid or incomplete. */
  onError(error: Error): void;
}

interface FormLimits {
  readonly partsMax: number;
  readonly headersMax: number;
  /** The buffer of each parser stream, in addition to the chunk that has just arrived. */
  readonly waitingBytes: number;
}

/**
 * Creates a stream that parses the multipart form written to it. It finishes when the body is complete and every part
 * is read. It uses the part parser of busboy, because busboy itself does not report the Content-Type of fields.
 *
 * @throws Error when `contentType` has no boundary
 */
export function createFormParser(contentType: string, limits: FormLimits, listener: FormListener): Writable {
  const { partsMax, headersMax: maxHeaderPairs, waitingBytes: highWaterMark } = limits;
  const boundary = readHeaderValue(contentType).parameters.get("boundary");
  const options: WritableOptions & { partHwm: number } & Dicer.Config = {
    ...(boundary !== undefined && { boundary }),
    maxHeaderPairs,
    partHwm: highWaterMark,
    highWaterMark,
  };
  const parser = new Dicer(options);
  let isParsed = false;
  let pending: ((error?: Error | null) => void) | undefined;
  const proceed = (error?: Error | null) => {
    const done = pending;
    pending = undefined;
    done?.(error);
  };
  // The parser emits this at the last boundary. It may never call back for the write of that boundary, and an epilogue
  // may follow.
  parser.on("finish", () => {
    isParsed = true;
    proceed();
  });
  let count = 0;
  parser.on("error", (error) => listener.onError(error));
  parser.on("part", (bytes) => {
    bytes.on("error", () => {}); // the parser reports it
    count += 1;
    if (count > partsMax) {
      listener.onTooManyParts();
      bytes.resume();
      return;
    }
    bytes.on("header", (headers: Record<string, string[]>) => {
      const described = describePart(headers);
      if (described === undefined) bytes.resume();
      else listener.onPart({ ...described, bytes });
    });
  });
  return new Writable({
    highWaterMark,
    write: (chunk, encoding, done) => {
      pending = done;
      if (isParsed) proceed();
      else parser.write(chunk, encoding, proceed);
    },
    final: (done) => {
      pending = done;
      if (isParsed) proceed();
      else parser.end();
    },
  });
}

/** @returns undefined for a part to skip */
function describePart(headers: Record<string, string[]>): Omit<FormPart, "bytes"> | undefined {
  const disposition = headers["content-disposition"]?.[0];
  if (disposition === undefined) return undefined;
  const { value, parameters } = readHeaderValue(disposition);
  if (value.toLowerCase() !== "form-data") return undefined;
  const name = parameters.get("name");
  const path = parameters.get("filename");
  if (/[\r\n]/.test(`${name}${path}`)) return undefined;
  return { name, fileName: path === undefined ? undefined : baseName(path), label: headers["content-type"]?.[0] };
}

function baseName(path: string): string {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  return name === "." || name === ".." ? "" : name;
}

const parameterPattern = /;\s*([^\s;="*]+)(\*?)\s*=\s*(?:"((?:\\.|[^"\\])*)[^;]*|([^;]*))/gs;

/** Reads `value; name=text; name="text"; name*=charset'language'text` leniently, with parameter names in any case. */
function readHeaderValue(header: string): { value: string; parameters: Map<string, string> } {
  const end = header.indexOf(";");
  if (end === -1) return { value: header.trim(), parameters: new Map() };
  const parameters = new Map<string, string>();
  for (const [, name = "", star, quoted, plain = ""] of header.slice(end).matchAll(parameterPattern)) {
    const text = quoted?.replaceAll(/\\(["\\])/g, "$1") ?? plain.replaceAll(/[ \t]/g, "");
    parameters.set(name.toLowerCase(), star === "*" ? decodeExtended(text) : toUtf8(text));
  }
  return { value: header.slice(0, end).trim(), parameters };
}

/** Decodes the extended notation of RFC 8187. */
function decodeExtended(text: string): string {
  const [charset = "", , ...rest] = text.split("'");
  const bytes = rest.join("'").replaceAll(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number(`0x${hex}`)));
  return /^(iso-8859-1|latin1)$/i.test(charset) ? bytes : toUtf8(bytes);
}

/** The parser decodes headers as Latin-1. */
function toUtf8(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString();
}
