/** The bytes of a file, which can be read once, by one of the methods. */
export interface Download {
  readonly contentType: string;
  /** In bytes; undefined if the service does not report it. */
  readonly contentLength: number | undefined;
  /** Fails with ConnectionError if the connection closes early. */
  stream(): ReadableStream<Uint8Array>;
  blob(): Promise<Blob>;
  text(): Promise<string>;
}
