import { Abandoned } from "../lib/call-work.ts";
import { ApiError } from "../lib/errors.ts";
import { addressGroup } from "../lib/ip-addresses.ts";
import { type Owner, ownerOf } from "../lib/owner.ts";
import { type ByteBudget, createByteQueue, type HeldBytes } from "../limits/byte-budget.ts";
import { KeyedSemaphore } from "../limits/keyed-semaphore.ts";
import { tooManyBytes } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { noteReleased } from "./memory-relief.ts";

/** The estimate before the first observation. */
const initialBytes = 2_048;
const bytesMin = 256;
/**
 * The estimate grows immediately and shrinks slowly: a low estimate fills the memory, while a high one only makes
 * replies wait.
 */
const decay = 1 / 16;
const applicationsMax = 1_000;

/**
 * Estimates the bytes per row in replies, by application and kind of reply, because row sizes differ between
 * applications.
 */
interface RowBytes {
  estimate(application: string, kind: string): number;
  note(application: string, kind: string, bytesPerRow: number): void;
}

export function createRowBytes(): RowBytes {
  const byApplication = new Map<string, Map<string, number>>();

  return {
    estimate: (application, kind) => byApplication.get(application)?.get(kind) ?? initialBytes,

    note(application, kind, bytesPerRow) {
      let kinds = byApplication.get(application);
      if (kinds === undefined) {
        const [oldest] = byApplication.keys();
        if (byApplication.size >= applicationsMax && oldest !== undefined) byApplication.delete(oldest);
        kinds = new Map();
        byApplication.set(application, kinds);
      }
      const before = kinds.get(kind) ?? 0;
      kinds.set(kind, Math.max(bytesMin, bytesPerRow, before + (bytesPerRow - before) * decay));
    },
  };
}

/** Counts the memory that requests hold while they arrive and while they are answered (hostile.md 37, 43). */
export interface InFlight {
  /** Counts the body of a request. */
  hold(exchange: Exchange): HeldBytes;
  /** Counts bytes of a client before its request is parsed, by its address. */
  holdFrom(address: string): HeldBytes;
  /**
   * Counts an upload until the returned function is called.
   *
   * @throws ApiError RateLimitExceeded when the caller has too many uploads, ServiceUnavailable when too many bytes are
   * in flight
   */
  beginUpload(exchange: Exchange): () => void;
  /** Prepares to count a reply that may be large, before it is built. */
  beginReply(exchange: Exchange): BuiltReply;
  /**
   * Counts the memory of an archive that is generated while it is sent, until the request has finished.
   *
   * @throws ApiError ServiceUnavailable when the budget is exhausted
   */
  beginArchive(exchange: Exchange): void;
  /**
   * Counts a reply if its client is slow to read it, and cuts the connection when the budget is exhausted.
   *
   * @param canBeRefused whether the client can safely repeat the call
   * @throws ApiError ServiceUnavailable when the budget is exhausted and the call can be refused
   */
  holdReply(exchange: Exchange, bytes: number, canBeRefused: boolean): void;
}

/** A reply of rows, which reserves memory before it is built and releases it after it is sent. */
export interface BuiltReply {
  /** @see Call.reserve */
  reserve(kind: string, rows: number): Promise<void> | undefined;
  /**
   * Replaces the estimate with the actual size.
   *
   * @returns false when the reply has reserved nothing
   */
  isBuilt(bytes: number): boolean;
}

/** Smaller replies are not counted: the buffers of a connection take as much. */
export const smallReplyBytes = 65_536;
/** While a reply is built, both its rows and its JSON are in memory. */
const buildFactor = 2;
/** How long a large reply waits for memory. In a slow process, a longer queue would delay all other calls. */
const spaceWaitMs = 1_000;

/** The memory of an upload without the store's buffers: chunks that have arrived, and the parser's streams. */
const uploadBytes = 98_304;
/**
 * The memory of an archive: a page of up to a hundred rows of 32 KiB, its JSON, and the bytes that the client has not
 * read.
 */
const archiveBytes = 4_194_304;
/** A reply counts against the budget if the client has not received it after this time. */
const promptMs = 1_000;
/** A client that reads no byte of a large reply for this long is disconnected. */
const stalledMs = 60_000;

export function createInFlight(services: {
  readonly budget: ByteBudget;
  /** @see ByteStore.bufferedBytes */
  readonly bufferedBytes: (size: number) => number;
  /** Concurrent uploads of one device with all its users; undefined for no limit. */
  readonly callerUploadsMax: number | undefined;
}): InFlight {
  const { budget, bufferedBytes, callerUploadsMax = Number.POSITIVE_INFINITY } = services;
  const uploads = new KeyedSemaphore(callerUploadsMax);
  const rowBytes = createRowBytes();
  const queue = createByteQueue({
    budget,
    waitMs: spaceWaitMs,
    refuse: (reason) => (reason === "abandoned" ? new Abandoned() : tooManyBytes()),
  });

  return {
    hold: (exchange) => budget.hold(requestOwner(exchange)),

    holdFrom: (address) => budget.hold({ application: "", caller: addressGroup(address) }),

    beginUpload(exchange) {
      const owner = requestOwner(exchange);
      const endUpload = uploads.tryAcquire(`${owner.application} ${owner.caller}`);
      if (endUpload === undefined) {
        throw new ApiError("RateLimitExceeded", `A caller may have ${callerUploadsMax} simultaneous uploads.`);
      }
      const held = budget.hold(owner);
      const length = Number(exchange.headers["content-length"] ?? Number.POSITIVE_INFINITY);
      if (!held.tryAdd(uploadBytes + bufferedBytes(length))) {
        endUpload();
        throw tooManyBytes();
      }
      return () => {
        endUpload();
        held.release();
      };
    },

    beginReply(exchange) {
      const { response } = exchange;
      const owner = requestOwner(exchange);
      let asked: { readonly kind: string; readonly rows: number } | undefined;
      let held: HeldBytes | undefined;
      let length = 0;
      const isGone = () => isClosed(exchange);
      return {
        reserve(kind, rows) {
          if (held !== undefined) return undefined; // the first attempt of a retried call has reserved the memory
          asked = { kind, rows };
          const estimate = () => rows * rowBytes.estimate(owner.application, kind);
          if (estimate() <= smallReplyBytes) return undefined;
          held = budget.hold(owner);
          onRequestEnd(exchange, () => {
            held?.release();
            noteReleased(length);
          });
          // Without other requests, a reply of any size fits; otherwise it could never be read.
          const bytes = () => Math.min(estimate() * buildFactor, budget.soleCallerBytesMax);
          return queue.wait({ owner, held, bytes, isGone });
        },
        isBuilt(bytes) {
          length = bytes;
          if (asked !== undefined) rowBytes.note(owner.application, asked.kind, bytes / asked.rows);
          if (held === undefined || isGone()) return false;
          held.replace(bytes);
          response.setTimeout(stalledMs, () => response.destroy());
          return true;
        },
      };
    },

    beginArchive(exchange) {
      if (isClosed(exchange)) return;
      const held = budget.hold(requestOwner(exchange));
      // Without other requests, an archive fits into any budget.
      if (!held.tryAdd(Math.min(archiveBytes, budget.soleCallerBytesMax))) throw tooManyBytes();
      onRequestEnd(exchange, () => held.release());
    },

    holdReply(exchange, bytes, canBeRefused) {
      if (isClosed(exchange)) return;
      const { response } = exchange;
      const held = budget.hold(requestOwner(exchange));
      if (canBeRefused && !held.tryAdd(bytes)) throw tooManyBytes();
      held.release();
      const timer = setTimeout(() => {
        if (!held.tryAdd(bytes)) response.destroy();
      }, promptMs).unref();
      response.setTimeout(stalledMs, () => response.destroy());
      onRequestEnd(exchange, () => {
        clearTimeout(timer);
        held.release();
        noteReleased(bytes);
      });
    },
  };
}

function isClosed({ request, response }: Exchange): boolean {
  return response.destroyed || request.socket.destroyed;
}

/**
 * Listens to both the socket and the response: Node.js does not close a response that is queued behind another one
 * (pipelining) with the connection.
 */
function onRequestEnd({ request, response }: Exchange, listener: () => void): void {
  const { socket } = request;
  const end = () => {
    response.off("close", end);
    socket.off("close", end);
    listener();
  };
  response.once("close", end);
  socket.setMaxListeners(0); // one listener per pipelined request
  socket.once("close", end);
}

function requestOwner({ caller, address }: Exchange): Owner {
  return caller === undefined ? { application: "", caller: addressGroup(address) } : ownerOf(caller);
}
