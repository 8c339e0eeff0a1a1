import type { CallWork } from "../lib/call-work.ts";
import type { Browser } from "./browser.ts";

/** The parameters of a request, with names as sent: from a JSON object, a form or a query. Entries are in the order of the request. */
export type RawParameters = Iterable<readonly [name: string, value: unknown]>;

/** One call of an operation, either as a request of its own or as part of a batch. */
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
  /** The header Rollcall-Rehearse. */
  readonly rehearse?: string | undefined;
  /** Begins the rehearsal of a call whose credentials are parameters; present if it has the header. */
  beginRehearsal?(policy: { readonly allowsRehearsal: boolean }): Promise<void>;
  /** The item of a batch that is rehearsed. */
  readonly rehearsedItem?: { readonly key: string; readonly header: string } | undefined;
  /** Aborts when the client disconnects, so that work for it can stop; absent for an item of a batch. */
  readonly whenGone?: () => AbortSignal;
  /**
   * Reserves memory for a reply with this many rows before it is built; absent for an item of a batch, whose batch has
   * reserved it.
   *
   * @param kind groups rows of similar size
   * @returns nothing when the reply is small
   * @throws ApiError ServiceUnavailable
   */
  readonly reserve?: (kind: string, rows: number) => Promise<void> | undefined;
  /** Measures the database work of the call; absent for calls from another region. */
  readonly work?: CallWork;
  /** Collects the names of unknown parameters; absent when the client is not notified of them. */
  readonly unread?: string[];
  /**
   * True for an item of a request whose response is stored: the response must not contain anything that must not be
   * stored.
   */
  readonly isKept?: boolean;
  /** True when another region forwards the call of its caller: it must not be forwarded again. */
  readonly isForwarded?: true;
  /** Marks the call as belonging to another region: this region must not log the client's address. */
  forgetAddress?(): void;
  /** Counts a call without a caller for an application, in its statistics. */
  countFor?(applicationId: string): void;
  /** For a call that may be retried internally: rate limits count it once. */
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
 * The same call with some members replaced. The changes inherit from the call, which may be a class instance and is not
 * copied.
 */
export function callWith<Changes extends object>(call: Call, changes: Changes): Call & Changes {
  return Object.assign(Object.create(call) as Call, changes); // it inherits every member of a Call
}

/** The file of a multipart form, while it arrives. */
export interface UploadedPart {
  readonly contentType: string;
  readonly fileName: string | undefined;
  /** Can be read once. Throws when the upload ends prematurely or is too large. */
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Stored bytes that do not belong to an object yet. */
export interface StoredUpload {
  /** Identifies the bytes together with their type and name, so that a retry with other content is recognized. */
  readonly digest: string;
  /** Deletes the bytes, unless an object owns them by now. Never throws. */
  discard(): Promise<void>;
}

export interface ReceivedUpload<File> {
  readonly file: File;
  /** @throws ApiError ParameterIncorrectFormat */
  readonly parameters: () => RawParameters;
}
