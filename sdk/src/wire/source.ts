/** Bytes to upload, which are opened again for each attempt. */
export interface OpenableSource {
  open(): ReadableStream<Uint8Array>;
  /** In bytes. */
  readonly length: number;
  readonly name?: string;
  /** Such as `image/jpeg`. */
  readonly type?: string;
}

/** The sources of an upload: a `File` is a `Blob`, and a `Buffer` of Node.js is an `ArrayBufferView`. */
export type Source = Blob | ArrayBuffer | ArrayBufferView | OpenableSource;
