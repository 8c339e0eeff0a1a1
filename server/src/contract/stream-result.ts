/** The client's end of a response that stays open. */
export interface StreamSink {
  /** Bytes that the client's connection has not taken. */
  readonly waitingBytes: number;
  write(bytes: Uint8Array): void;
  /** Ends the response after these bytes. */
  end(bytes: Uint8Array): void;
  /** Closes the connection at once. */
  cut(): void;
  /** Runs once, when the connection has taken all waiting bytes. */
  onDrain(listener: () => void): void;
  /** Runs once, when the response has ended, or its connection was cut. */
  onClose(listener: () => void): void;
}

/** A result that is sent in pieces until the client or the server ends it (spec/streams). */
export class StreamResult {
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Runs before the head of the response is sent, and returns what runs after it.
   *
   * @throws ApiError
   */
  readonly open: () => (sink: StreamSink) => void;

  constructor(headers: Readonly<Record<string, string>>, open: () => (sink: StreamSink) => void) {
    this.headers = headers;
    this.open = open;
  }
}
