import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance, type Dicer } from "@fastify/busboy";
import { ApiError } from "../errors.ts";
import { decode, discardRest, parseBody } from "./body.ts";
import type { RawParameters, ReceivedUpload, StoredUpload, UploadedPart } from "./call.ts";

export interface UploadLimits {
  readonly fileBytesMax: number;
  /** Of all the other parts together. */
  readonly bodyBytesMax: number;
  /** For so long nothing need arrive. */
  readonly requestTimeoutMs: number;
}

const partsMax = 100;
/** For heads and boundaries, and for what is outside of all parts. */
const framingBytesMax = 1_048_576;
/** In each of the parser's streams, beyond the piece that has just arrived: they add up when the disk is slow. */
const waitingBytes = 16_384;

const filePart = "data";
const parametersPart = "body";

const uploading = new WeakSet<object>();

/** Whether an upload arrives over this connection: it may take longer than other requests, as long as it goes on. */
export function isUploading(socket: Socket): boolean {
  return uploading.has(socket);
}

/** Says that an upload arrives over this connection. @returns what ends it */
export function beginUploading(socket: Socket): () => void {
  uploading.add(socket);
  return () => void uploading.delete(socket);
}

/**
 * Takes in a form with a file in the part `data`, which is stored while it arrives: its parts come in any order, and
 * nothing of the file is kept in memory. The parameters are the other parts, or a JSON object in the part `body`, which is
 * known by its name alone (surface.md section 10).
 *
 * @throws ApiError FileUploadFailed, RequestTooLarge, and whatever `store` throws; then nothing stays stored
 */
export async function receiveUpload<File extends StoredUpload>(
  request: IncomingMessage,
  contentType: string | undefined,
  limits: UploadLimits,
  store: (part: UploadedPart) => Promise<File>,
): Promise<ReceivedUpload<File>> {
  const stopping = new AbortController();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {}); // it may come when nobody waits for it any more
  const fail = (error: unknown) => {
    failure.reject(error);
    stopping.abort(error);
  };
  const breakOff = (cause?: unknown) => fail(new ApiError("FileUploadFailed", undefined, { cause }));
  const stall = setTimeout(() => {
    if (request.isPaused()) stall.refresh();
    else breakOff();
  }, limits.requestTimeoutMs); // a store that is slow, for which it waits, is no fault of the sender
  const onClose = () => {
    if (!request.complete) breakOff();
  };
  let parser: BusboyInstance | undefined;
  let incoming: Readable | undefined;
  let storing: Promise<File> | undefined;
  const parts: ParameterPart[] = [];
  let partsBytes = 0;
  const formMax = limits.fileBytesMax + limits.bodyBytesMax + framingBytesMax;

  const endUploading = beginUploading(request.socket);
  try {
    parser = createParser(contentType, limits);
    const labels = readLabels(parser);
    parser.on("file", (_name, file, fileName, _encoding, mimeType) => {
      file.on("error", breakOff);
      if (stopping.signal.aborted) {
        file.resume(); // it was in what had arrived before the form was refused
        return;
      }
      incoming = file;
      file.on("limit", () => fail(new ApiError("RequestTooLarge", fileTooLarge(limits))));
      // Who reads no further gives the reason; the stream would give another one before.
      const bytes = file.iterator({ destroyOnReturn: false });
      const part = { contentType: mimeType, fileName, bytes, signal: stopping.signal };
      storing = store(part);
      storing.catch(fail);
    });
    parser.on("field", (name, value, _isNameCut, isCut) => {
      partsBytes += value.length + Buffer.byteLength(name ?? "");
      if (isCut || partsBytes > limits.bodyBytesMax) {
        fail(new ApiError("RequestTooLarge", `The parts beside data are larger than ${limits.bodyBytesMax} bytes.`));
      } else if (name !== undefined) parts.push({ name, bytes: Buffer.from(value, "latin1"), label: labels.latest() });
    });
    parser.on("partsLimit", () => fail(new ApiError("RequestTooLarge", `The form has more than ${partsMax} parts.`)));
    const finished = new Promise<void>((resolve) => parser?.on("finish", resolve));
    parser.on("error", breakOff);
    request.on("error", breakOff);
    request.on("close", onClose);
    request.on("end", () => clearTimeout(stall)); // what is left to do with it is not the client's time
    let received = 0;
    request.on("data", (chunk: Buffer) => {
      stall.refresh();
      received += chunk.length;
      if (received > formMax) fail(new ApiError("RequestTooLarge", `The form is larger than ${formMax} bytes.`));
    });
    request.pipe(parser);

    await Promise.race([finished, failure.promise]);
    if (storing === undefined) throw new ApiError("FileUploadFailed", "The part data is missing.");
    const file = await Promise.race([storing, failure.promise]);
    return { file, parameters: () => readParameters(parts) };
  } catch (error) {
    stopping.abort(error);
    if (parser !== undefined) request.unpipe(parser);
    incoming?.destroy(error instanceof Error ? error : undefined);
    // What had been stored before the rest of the form failed is dropped.
    await storing?.then(
      (stored) => stored.discard(),
      () => {},
    );
    await discardRest(request);
    throw error;
  } finally {
    clearTimeout(stall);
    request.off("close", onClose);
    endUploading();
  }
}

function fileTooLarge({ fileBytesMax }: UploadLimits): string {
  return `The file is larger than ${fileBytesMax} bytes.`;
}

/** @throws ApiError FileUploadFailed when it is no such form */
function createParser(contentType: string | undefined, { fileBytesMax, bodyBytesMax }: UploadLimits): BusboyInstance {
  if (contentType === undefined || !/^\s*multipart\/form-data\b/i.test(contentType)) throw notAForm();
  try {
    return new Busboy({
      headers: { "content-type": contentType.trim() },
      limits: { fileSize: fileBytesMax, files: 1, fieldSize: bodyBytesMax, parts: partsMax, headerPairs: 50 },
      highWaterMark: waitingBytes,
      fileHwm: waitingBytes,
      isPartAFile: (name) => name?.toLowerCase() === filePart,
      defCharset: "latin1", // leaves every byte as it is: `readParameters` decodes them
    });
  } catch (cause) {
    throw notAForm(cause);
  }
}

function notAForm(cause?: unknown): ApiError {
  const message = "The request must be multipart/form-data, with the file in the part data.";
  return new ApiError("FileUploadFailed", message, { cause });
}

interface ParameterPart {
  readonly name: string;
  readonly bytes: Buffer;
  /** Its Content-Type. */
  readonly label: string | undefined;
}

/**
 * Takes the parameters from the Content-Type of each part before the parser sees them: it decodes by the charset that they
 * name, and puts something else for bytes that are not of it. Where there is no Content-Type nothing is claimed.
 */
function readLabels(parser: BusboyInstance): { latest(): string | undefined } {
  let label: string | undefined;
  const { parser: dicer } = (parser as unknown as { _parser: { parser: Dicer } })._parser; // nothing public tells heads
  dicer.on("part", (part) => {
    part.prependListener("header", (header: Record<string, string[]>) => {
      label = header["content-type"]?.[0];
      header["content-type"] = [label?.split(";", 1)[0]?.trim() || "application/octet-stream"];
    });
  });
  return { latest: () => label };
}

const shownCharacters = 100;

/** @throws ApiError ParameterIncorrectFormat */
function readParameters(parts: readonly ParameterPart[]): RawParameters {
  return parts.flatMap(({ name, bytes, label }) => {
    const text = decode(bytes, label, `The part ${name.slice(0, shownCharacters).toWellFormed()}`);
    return name.toLowerCase() === parametersPart
      ? [...parseBody(Buffer.from(text), undefined)]
      : [[name, text] as const];
  });
}
