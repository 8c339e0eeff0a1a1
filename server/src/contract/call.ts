import type { CallWork } from "../lib/call-work.ts";
import type { Browser } from "./browser.ts";

/**
 * The parameters of a request, from a JSON object, a form or a query: with names as sent, in the order of the request.
 */
export type RawParameters = Iterable<readonly [name: string, value: unknown]>;

/** A call of an operation: a request or an item of a batch. */
export interface Call {
  readonly requestId: string;
  readonly authorization: string | undefined;
  /** The IP address of the client. */
  readonly address: string;
  readonly idempotencyKey: unknown;
  /** The header If-Match; absent for an item of a batch. */
  readonly ifMatch?: string | undefined;
  /** The header Last-Event-ID; absent for an item of a batch. */
  readonly lastEventId?: string | undefined;
  /** The preferred language of the client, a BCP 47 tag from the header Accept-Language. */
  readonly language?: string | undefined;
  /** The header Rollcall-Rehearse. */
  readonly rehearse?: string | undefined;
  /** Begins the rehearsal of a call whose credentials are parameters; present if the call has the header. */
  beginRehearsal?(policy: { readonly allowsRehearsal: boolean }): Promise<void>;
  /** For a batch: the item to rehearse. */
  readonly rehearsedItem?: { readonly key: string; readonly header: string } | undefined;
  /** Aborts when the client disconnects, so that its work can stop; absent for an item of a batch. */
  readonly whenGone?: () => AbortSignal;
  /**
   * Reserves memory for a reply with this many rows before it is built; absent for an item of a batch, because the
   * batch reserves memory for all items.
   *
   * @param kind groups rows of similar size
   * @returns undefined if the reply is small
   * @throws ApiError ServiceUnavailable
   */
  readonly reserve?: (kind: string, rows: number) => Promise<void> | undefined;
  /** Measures the database work of the call; absent for calls from another region. */
  readonly work?: CallWork;
  /** Collects the names of unknown parameters; absent if the client is not notified of them. */
  readonly unread?: string[];
  /** True for an item of a request whose response is stored, and so must not contain secrets. */
  readonly isResponseStored?: boolean;
  /** True for a call that another region has forwarded: it must not be forwarded again. */
  readonly isForwarded?: true;
  /** Marks the call as belonging to another region, so that this region does not log the client's address. */
  forgetAddress?(): void;
  /** Counts a call without a caller in the statistics of an application. */
  countFor?(applicationId: string): void;
  /** Remembers between internal retries that rate limits have counted the call. */
  readonly admission?: { isAdmitted: boolean; areEventsAdmitted?: boolean } | undefined;
  /** Adds a response header; absent for an item of a batch. */
  setHeader?(name: string, value: string): void;
  /** The calling browser; absent for an item of a batch. */
  readonly browser?: () => Browser;
  /** The path parameters, unescaped. */
  readonly path: Readonly<Record<string, unknown>>;
  /** @throws ApiError ParameterIncorrectFormat, RequestTooLarge */
  readParameters(): RawParameters;
  /** Receives the multipart form of an upload while it arrives. */
  receive?<File extends StoredUpload>(store: (part: UploadedPart) => Promise<File>): Promise<ReceivedUpload<File>>;
}

/**
 * Returns the call with some members replaced. The result inherits from the call, which may be a class instance and is
 * not copied.
 */
export function callWith<Changes extends object>(call: Call, changes: Changes): Call & Changes {
  return Object.assign(Object.create(call) as Call, changes); // inherits every member of a Call
}

/** The file of a multipart form, while it arrives. */
export interface UploadedPart {
  readonly contentType: string;
  readonly fileName: string | undefined;
  /** Can be read once. Throws if the upload is incomplete or too large. */
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Stored bytes that do not belong to an object yet. */
export interface StoredUpload {
  /** A digest of bytes, type and name, by which a retry with other content is recognized. */
  readonly digest: string;
  /** Deletes the bytes, unless an object owns them. Never throws. */
  discard(): Promise<void>;
}

export interface ReceivedUpload<File> {
  readonly file: File;
  /** @throws ApiError ParameterIncorrectFormat */
  readonly parameters: () => RawParameters;
}
