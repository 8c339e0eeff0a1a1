/** What a request brought, names as sent: a JSON object, a form or a query. Later entries come later. */
export type RawParameters = Iterable<readonly [name: string, value: unknown]>;

/** One call of an operation, however it came: as a request of its own, or in a batch. */
export interface Call {
  readonly requestId: string;
  readonly authorization: string | undefined;
  /** The IP address that it came from. */
  readonly address: string;
  readonly idempotencyKey: unknown;
  /** Whether the client has gone, and nobody waits for the answer; absent of an item of a batch. */
  readonly isGone?: () => boolean;
  /** True for an item of a request whose answer is kept: what must not be written here must not be in it. */
  readonly isKept?: boolean;
  /** True for what another region asks for in the name of its caller: it is not for a third one. */
  readonly isForwarded?: true;
  /** Says that it is a matter of another region: the log of this one does not tell whom it came from. */
  forgetAddress?(): void;
  /** Of a call that may be run several times: it counts against limits once. */
  readonly admission?: { isAdmitted: boolean } | undefined;
  /** The parameters of the path, unescaped. */
  readonly path: Readonly<Record<string, unknown>>;
  /** @throws ApiError ParameterIncorrectFormat, RequestTooLarge */
  readParameters(): RawParameters;
  /** Takes in the form that is still arriving, of a request that may bring a file. */
  receive?<File extends StoredUpload>(store: (part: UploadedPart) => Promise<File>): Promise<ReceivedUpload<File>>;
}

/** The file of a form, while it arrives. */
export interface UploadedPart {
  readonly contentType: string;
  readonly fileName: string | undefined;
  /** To be read once. Throws when the upload breaks off, or is too large. */
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Bytes that have been stored, and belong to nothing yet. */
export interface StoredUpload {
  /** The same for the same bytes under the same type and name alone: with others it is another request. */
  readonly digest: string;
  /** Drops them, unless something has come to own them. Never throws. */
  discard(): Promise<void>;
}

export interface ReceivedUpload<File> {
  readonly file: File;
  /** @throws ApiError ParameterIncorrectFormat */
  readonly parameters: () => RawParameters;
}
