import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance, type Dicer } from "@fastify/busboy";
import { ApiError } from "../errors.ts";
import { noteDiscarded } from "../lib/memory-relief.ts";
import { decode, discardRest, parseBody } from "./body.ts";
import type { RawParameters, ReceivedUpload, StoredUpload, UploadedPart } from "./call.ts";

export interface UploadLimits {
  readonly fileBytesMax: number;
  /** The total size of all other parts. */
  readonly bodyBytesMax: number;
  /** The time that may pass without any data. */
  readonly requestTimeoutMs: number;
}

interface Uploading extends UploadLimits {
  /**
   * Counts the upload against the in-flight budget. Returns a function that ends it.
   *
   * @throws ApiError RateLimitExceeded, ServiceUnavailable
   */
  begin(): () => void;
}

const partsMax = 100;
/** For part headers and boundaries, and for bytes outside of all parts. */
const framingBytesMax = 1_048_576;
/**
 * The buffer of each parser stream, beyond the chunk that has just arrived; the buffers fill up when the disk is slow.
 */
const waitingBytes = 16_384;

const filePart = "data";
const parametersPart = "body";

const uploading = new WeakSet<object>();

/**
 * Whether an upload arrives over this connection: it may take longer than other requests, as long as it makes progress.
 */
export function isUploading(socket: Socket): boolean {
  return uploading.has(socket);
}

/** Marks the connection as receiving an upload. @returns a function that removes the mark */
export function beginUploading(socket: Socket): () => void {
  uploading.add(socket);
  return () => void uploading.delete(socket);
}

/**
 * Receives a multipart form whose part `data` is a file, which is stored while it arrives: parts may come in any order,
 * and the file is never held in memory. The parameters are the other parts, or a JSON object in the part `body`, which
 * is identified only by its name (spec/files#upload-forms).
 *
 * @throws ApiError FileUploadFailed, RequestTooLarge, and errors of `store`; nothing stays stored then
 */
export async function receiveUpload<File extends StoredUpload>(
  request: IncomingMessage,
  contentType: string | undefined,
  limits: Uploading,
  store: (part: UploadedPart) => Promise<File>,
): Promise<ReceivedUpload<File>> {
  const stopping = new AbortController();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {}); // the rejection may come when it is no longer awaited
  const fail = (error: unknown) => {
    failure.reject(error);
    stopping.abort(error);
  };
  const breakOff = (cause?: unknown) => fail(new ApiError("FileUploadFailed", undefined, { cause }));
  const stall = setTimeout(() => {
    if (request.isPaused()) stall.refresh();
    else breakOff();
  }, limits.requestTimeoutMs); // waiting for a slow store does not count against the client
  // A destroyed stream emits nothing more, not even the bytes that had arrived.
  const onClose = () => {
    if (!request.readableEnded) breakOff();
  };
  let parser: BusboyInstance | undefined;
  let incoming: Readable | undefined;
  let storing: Promise<File> | undefined;
  const parts: ParameterPart[] = [];
  let partsBytes = 0;
  const formMax = limits.fileBytesMax + limits.bodyBytesMax + framingBytesMax;

  const endUploading = beginUploading(request.socket);
  let endInFlight = () => {};
  try {
    endInFlight = limits.begin();
    parser = createParser(contentType, limits);
    const labels = readLabels(parser);
    parser.on("file", (_name, file, fileName, _encoding, mimeType) => {
      file.on("error", breakOff);
      if (stopping.signal.aborted) {
        file.resume(); // it had arrived before the form was refused
        return;
      }
      incoming = file;
      file.on("limit", () => fail(new ApiError("RequestTooLarge", fileTooLarge(limits))));
      // The reader that stops early reports the reason; destroying the stream would report another error first.
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
    request.on("end", () => clearTimeout(stall)); // the remaining work does not count against the client's time
    let received = 0;
    request.on("data", (chunk: Buffer) => {
      stall.refresh();
      received += chunk.length;
      noteDiscarded(chunk.length);
      if (received > formMax) fail(new ApiError("RequestTooLarge", `The form is larger than ${formMax} bytes.`));
    });
    request.pipe(parser);
    if (request.destroyed) onClose(); // it was closed while the caller was authenticated

    await Promise.race([finished, failure.promise]);
    if (storing === undefined) throw new ApiError("FileUploadFailed", "The part data is missing.");
    const file = await Promise.race([storing, failure.promise]);
    return { file, parameters: () => readParameters(parts) };
  } catch (error) {
    stopping.abort(error);
    if (parser !== undefined) request.unpipe(parser);
    incoming?.destroy(error instanceof Error ? error : undefined);
    // When the rest of the form fails, the stored file is dropped.
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
    endInFlight();
  }
}

function fileTooLarge({ fileBytesMax }: UploadLimits): string {
  return `The file is larger than ${fileBytesMax} bytes.`;
}

/** @throws ApiError FileUploadFailed when the body is not a multipart form */
function createParser(contentType: string | undefined, { fileBytesMax, bodyBytesMax }: UploadLimits): BusboyInstance {
  if (contentType === undefined || !/^\s*multipart\/form-data\b/i.test(contentType)) throw notAForm();
  try {
    return new Busboy({
      headers: { "content-type": contentType.trim() },
      limits: { fileSize: fileBytesMax, files: 1, fieldSize: bodyBytesMax, parts: partsMax, headerPairs: 50 },
      highWaterMark: waitingBytes,
      fileHwm: waitingBytes,
      isPartAFile: (name) => name?.toLowerCase() === filePart,
      defCharset: "latin1", // keeps every byte unchanged: `readParameters` decodes them
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
  /** The Content-Type of the part. */
  readonly label: string | undefined;
}

/**
 * Takes the Content-Type of each parameter part before the parser sees it, because the parser would decode by its
 * charset and replace invalid bytes. Parts without a Content-Type have no label.
 */
function readLabels(parser: BusboyInstance): { latest(): string | undefined } {
  let label: string | undefined;
  const { parser: dicer } = (parser as unknown as { _parser: { parser: Dicer } })._parser; // the public API does not expose part headers
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
