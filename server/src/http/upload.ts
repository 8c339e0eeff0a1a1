import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { RawParameters, ReceivedUpload, StoredUpload, UploadedPart } from "../contract/call.ts";
import { ApiError } from "../lib/errors.ts";
import { decode, parseBody } from "../operations/body-parameters.ts";
import { discardRest } from "./body.ts";
import { noteDiscarded } from "./memory-relief.ts";
import { createFormParser, type FormListener, type FormPart } from "./multipart.ts";

const parametersPart = "body";
const shownCharacters = 100;

interface ParameterPart {
  readonly name: string;
  /** A Latin-1 string, which takes less memory than many small buffers. */
  bytes: string;
  /** The Content-Type of the part. */
  readonly label: string | undefined;
}

/** The parts of a form that are parameters; `bytesMax` bounds their total size. */
class FormParameters {
  readonly #parts: ParameterPart[] = [];
  readonly #bytesMax: number;
  readonly #fail: (error: ApiError) => void;
  #bytes = 0;

  constructor(bytesMax: number, fail: (error: ApiError) => void) {
    this.#bytesMax = bytesMax;
    this.#fail = fail;
  }

  receive({ name, label, bytes }: FormPart): void {
    const part: ParameterPart = { name: name ?? "", label, bytes: "" };
    if (name !== undefined) this.#parts.push(part);
    this.#bytes += Buffer.byteLength(part.name);
    bytes.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes <= this.#bytesMax) part.bytes += chunk.toString("latin1");
    });
    bytes.on("end", () => {
      if (this.#bytes <= this.#bytesMax) return;
      const message = `The parts other than data are larger than ${this.#bytesMax} bytes.`;
      this.#fail(new ApiError("RequestTooLarge", message));
    });
  }

  /** @throws ApiError ParameterIncorrectFormat */
  read(): RawParameters {
    return this.#parts.flatMap(({ name, bytes, label }) => {
      const text = decode(
        Buffer.from(bytes, "latin1"),
        label,
        `The part ${name.slice(0, shownCharacters).toWellFormed()}`,
      );
      return name.toLowerCase() === parametersPart
        ? [...parseBody(Buffer.from(text), undefined)]
        : [[name, text] as const];
    });
  }
}

export interface UploadLimits {
  readonly fileBytesMax: number;
  /** The total size of the other parts. */
  readonly bodyBytesMax: number;
  /** The time that may pass without any data. */
  readonly requestTimeoutMs: number;
}

interface Uploading extends UploadLimits {
  /**
   * Counts the upload against the in-flight budget. @returns a function that releases it
   *
   * @throws ApiError RateLimitExceeded, ServiceUnavailable
   */
  begin(): () => void;
}

const partsMax = 100;
const headersMax = 50;
/** Allowed for part headers, boundaries, and bytes outside of the parts. */
const framingBytesMax = 1_048_576;
/**
 * The buffer of each parser stream, in addition to the chunk that has just arrived; fills up when the disk is slow.
 */
const waitingBytes = 16_384;

const filePart = "data";

const uploading = new WeakSet<object>();

/**
 * Whether the connection is receiving an upload, which may exceed the request time-out as long as it makes progress.
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
 * Receives a multipart form whose part `data` is a file, which is stored while it arrives and never held in memory.
 * Parts may come in any order. The parameters are the other parts, or a JSON object in the part `body`, which is
 * identified only by its name (spec/files#upload-forms).
 *
 * @throws ApiError FileUploadFailed, RequestTooLarge, and errors of `store`, after discarding the stored file
 */
export async function receiveUpload<File extends StoredUpload>(
  request: IncomingMessage,
  contentType: string | undefined,
  limits: Uploading,
  store: (part: UploadedPart) => Promise<File>,
): Promise<ReceivedUpload<File>> {
  const stopping = new AbortController();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {}); // it may be rejected after the last await
  const fail = (error: unknown) => {
    failure.reject(error);
    stopping.abort(error);
  };
  const failUpload = (cause?: unknown) => fail(new ApiError("FileUploadFailed", undefined, { cause }));
  const stall = setTimeout(() => {
    if (request.isPaused()) stall.refresh();
    else failUpload();
  }, limits.requestTimeoutMs); // waiting for a slow store does not count against the client
  // A destroyed stream emits neither "end" nor the bytes that had arrived.
  const onClose = () => {
    if (!request.readableEnded) failUpload();
  };
  let parser: Writable | undefined;
  let incoming: Readable | undefined;
  let storing: Promise<File> | undefined;
  const parameters = new FormParameters(limits.bodyBytesMax, fail);
  const formMax = limits.fileBytesMax + limits.bodyBytesMax + framingBytesMax;

  function receiveFile({ bytes, fileName, label }: FormPart): void {
    if (stopping.signal.aborted || incoming !== undefined) {
      bytes.resume(); // the form has been refused, or this is another part with the same name
      return;
    }
    incoming = bytes;
    storing = store({
      contentType: label ?? "",
      fileName,
      bytes: readFile(bytes, limits, fail),
      signal: stopping.signal,
    });
    storing.catch(fail);
  }

  const endUploading = beginUploading(request.socket);
  let endInFlight = () => {};
  try {
    endInFlight = limits.begin();
    parser = createParser(contentType, {
      onPart: (part) => (part.name?.toLowerCase() === filePart ? receiveFile(part) : parameters.receive(part)),
      onTooManyParts: () => fail(new ApiError("RequestTooLarge", `The form has more than ${partsMax} parts.`)),
      onError: failUpload,
    });
    const finished = new Promise<void>((resolve) => parser?.on("finish", resolve));
    parser.on("error", failUpload);
    request.on("error", failUpload);
    request.on("close", onClose);
    request.on("end", () => clearTimeout(stall)); // the time-out is for the client, not for the store
    let received = 0;
    request.on("data", (chunk: Buffer) => {
      stall.refresh();
      received += chunk.length;
      noteDiscarded(chunk.length);
      if (received > formMax) fail(new ApiError("RequestTooLarge", `The form is larger than ${formMax} bytes.`));
    });
    request.pipe(parser);
    if (request.destroyed) onClose(); // the client disconnected during authentication

    await Promise.race([finished, failure.promise]);
    if (storing === undefined) throw new ApiError("FileUploadFailed", "The part data is missing.");
    const file = await Promise.race([storing, failure.promise]);
    return { file, parameters: () => parameters.read() };
  } catch (error) {
    stopping.abort(error);
    if (parser !== undefined) request.unpipe(parser);
    incoming?.destroy(error instanceof Error ? error : undefined);
    // If the rest of the form fails, the stored file is discarded.
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

async function* readFile(
  bytes: Readable,
  limits: UploadLimits,
  fail: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  // A reader that stops early throws its own error; destroying the stream would report another one first.
  for await (const chunk of bytes.iterator({ destroyOnReturn: false })) {
    length += chunk.length;
    if (length > limits.fileBytesMax) {
      const tooLarge = new ApiError("RequestTooLarge", fileTooLarge(limits), { parameter: "data" });
      fail(tooLarge);
      throw tooLarge;
    }
    yield chunk;
  }
}

function fileTooLarge({ fileBytesMax }: UploadLimits): string {
  return `The file is larger than ${fileBytesMax} bytes.`;
}

/** @throws ApiError FileUploadFailed when the body is not a multipart form */
function createParser(contentType: string | undefined, listener: FormListener): Writable {
  if (contentType === undefined || !/^\s*multipart\/form-data\b/i.test(contentType)) throw notAForm();
  try {
    return createFormParser(contentType.trim(), { partsMax, headersMax, waitingBytes }, listener);
  } catch (cause) {
    throw notAForm(cause);
  }
}

function notAForm(cause?: unknown): ApiError {
  const message = "The request must be multipart/form-data, with the file in the part data.";
  return new ApiError("FileUploadFailed", message, { cause });
}
