/** The bytes of a file, of which one method reads them once. */
export interface Download {
  readonly contentType: string;
  /** In bytes; undefined where the service does not say it. */
  readonly contentLength: number | undefined;
  /** Fails with ConnectionError if the connection ends early. */
  stream(): ReadableStream<Uint8Array>;
  blob(): Promise<Blob>;
  text(): Promise<string>;
}
