/** Writes to the client of a stream. */
export interface StreamSink {
  /** The bytes that the connection has buffered. */
  readonly waitingBytes: number;
  write(bytes: Uint8Array): void;
  /** Finishes the response after these bytes. */
  end(bytes: Uint8Array): void;
  /** Closes the connection immediately. */
  cut(): void;
  /** Runs once, when the connection has sent all buffered bytes. */
  onDrain(listener: () => void): void;
  /** Runs once, when the response is finished or its connection is closed. */
  onClose(listener: () => void): void;
}

/** A result that is sent in pieces until the client or the server closes it (spec/streams). */
export class StreamResult {
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Called before the head of the response is sent. Returns a function to call afterwards.
   *
   * @throws ApiError
   */
  readonly open: () => (sink: StreamSink) => void;

  constructor(headers: Readonly<Record<string, string>>, open: () => (sink: StreamSink) => void) {
    this.headers = headers;
    this.open = open;
  }
}
