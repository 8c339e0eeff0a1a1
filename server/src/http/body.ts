import type { IncomingMessage } from "node:http";
import { ApiError } from "../lib/errors.ts";
import type { HeldBytes } from "../limits/byte-budget.ts";
import { noteDiscarded } from "./memory-relief.ts";

const bytesFirst = 65_536;

/**
 * Collects a large body in a resizable buffer, whose memory returns to the operating system on release; malloc would
 * hold on to it after a flood of requests.
 */
class LargeBody {
  readonly #memory: ArrayBuffer;
  readonly #held: HeldBytes;
  #length = 0;

  /** @param bytesMax the capacity */
  constructor(bytesMax: number, held: HeldBytes) {
    this.#memory = new ArrayBuffer(0, { maxByteLength: bytesMax });
    this.#held = held;
  }

  /** @returns false when too many bytes are in flight */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length;
    if (length > this.#memory.byteLength) {
      const doubled = Math.max(2 * this.#memory.byteLength, bytesFirst, length);
      const size = Math.min(doubled, this.#memory.maxByteLength);
      if (!this.#held.tryAdd(size - this.#memory.byteLength)) return false;
      this.#memory.resize(size);
    }
    new Uint8Array(this.#memory, this.#length, chunk.length).set(chunk);
    this.#length = length;
    return true;
  }

  /** The bytes so far; valid until `release`. */
  get bytes(): Buffer {
    return Buffer.from(this.#memory, 0, this.#length);
  }

  release(): void {
    this.#memory.resize(0);
    this.#held.release();
  }
}

// The server receives a refused body up to these bounds, so that the client can read the response.
const discardedBytesMax = 67_108_864;
const discardingMsMax = 15_000;

/** Larger bodies are collected in a `LargeBody`. */
const smallBytesMax = 16_384;

/** A body whose bytes count against the in-flight budget. */
export class HeldBody {
  /** Valid until `release`. */
  readonly bytes: Buffer;
  readonly release: () => void;

  constructor(bytes: Buffer, release: () => void) {
    this.bytes = bytes;
    this.release = release;
  }
}

/**
 * Reads a short body that has arrived completely, as most have. Skipping the stream events saves more than half of the
 * cost.
 *
 * @returns undefined if `readBody` has to read it
 */
export function readArrivedBody(stream: IncomingMessage, bytesMax: number): Buffer | undefined {
  if (!stream.complete || stream.readableLength > Math.min(smallBytesMax, bytesMax)) return undefined;
  return stream.read(stream.readableLength) ?? undefined; // without a size, it may return the first chunk only
}

/**
 * Reads a body into memory. Resolves with RequestTooLarge as soon as the body exceeds `bytesMax`, and with
 * ServiceUnavailable when too many bytes are in flight. The rest is then discarded as it arrives, because closing the
 * connection while the client sends would lose the response.
 *
 * @param hold counts the bytes in memory
 * @throws ApiError ParameterIncorrectFormat when the body is incomplete
 */
export function readBody(
  stream: IncomingMessage,
  bytesMax: number,
  hold: () => HeldBytes,
): Promise<Buffer | HeldBody | ApiError> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const announced = Number(stream.headers["content-length"] ?? bytesMax);
    let length = 0;
    let small: HeldBytes | undefined;
    let large: LargeBody | undefined;
    let refusal: ApiError | undefined;

    function release(): void {
      chunks.length = 0;
      small?.release();
      large?.release();
    }

    function refuse(reason: ApiError): void {
      if (refusal !== undefined) return;
      refusal = reason;
      release();
      const cut = setTimeout(() => {
        resolve(reason);
        stream.destroy();
      }, discardingMsMax).unref();
      stream.on("close", () => clearTimeout(cut));
      // With `Connection: close`, Node.js closes after the response, so the rest of the body must be received first.
      if (stream.headers.connection?.toLowerCase() !== "close") resolve(reason);
    }

    /** @returns false when too many bytes are in flight */
    function store(chunk: Buffer): boolean {
      if (announced <= smallBytesMax) {
        small ??= hold();
        if (!small.tryAdd(chunk.length)) return false;
        chunks.push(chunk);
        return true;
      }
      large ??= new LargeBody(Math.min(announced, bytesMax), hold());
      return large.add(chunk);
    }

    const tooLarge = () => new ApiError("RequestTooLarge", `The body is larger than ${bytesMax} bytes.`);
    if (announced > bytesMax) refuse(tooLarge());
    stream.on("data", (chunk: Buffer) => {
      length += chunk.length;
      noteDiscarded(chunk.length); // copied below, or discarded
      if (length > bytesMax) refuse(tooLarge());
      if (refusal === undefined && !store(chunk)) refuse(tooManyBytes());
      else if (length > bytesMax + discardedBytesMax) stream.destroy();
    });
    stream.on("end", () => {
      if (refusal !== undefined) resolve(refusal);
      else if (large === undefined) {
        resolve(Buffer.concat(chunks));
        release(); // small bodies count only while they arrive
      } else resolve(new HeldBody(large.bytes, release));
    });
    stream.on("error", (cause) => {
      release();
      reject(new ApiError("ParameterIncorrectFormat", "The body ended prematurely.", { cause }));
    });
  });
}

/** The error for a request when the in-flight budget is exhausted. */
export function tooManyBytes(): ApiError {
  return new ApiError("ServiceUnavailable", "Too many bytes of requests are in flight. Try again.");
}

/** Discards the rest of a refused body, as `readBody` does. Resolves when the response can be sent. */
export function discardRest(stream: IncomingMessage): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let length = 0;
    const cut = setTimeout(() => {
      resolve();
      stream.destroy();
    }, discardingMsMax).unref();
    stream.on("data", (chunk: Buffer) => {
      length += chunk.length;
      noteDiscarded(chunk.length);
      if (length > discardedBytesMax) stream.destroy();
    });
    stream.on("error", () => resolve());
    stream.on("close", () => {
      clearTimeout(cut);
      resolve();
    });
    stream.on("end", () => resolve());
    stream.resume();
    if (stream.headers.connection?.toLowerCase() !== "close") resolve();
  });
}
