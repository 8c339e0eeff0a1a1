import type { Readable } from "node:stream";

/** A range of bytes of a file: from `start`, inclusive, to `end`, exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** The headers of a file, from this server or from the bucket. */
export interface SentHeaders {
  readonly contentType: string;
  readonly contentDisposition: string;
  readonly cacheControl: string;
}

/** A result that is sent as bytes instead of an envelope. */
export class FileResult {
  readonly contentType: string;
  readonly contentLength: number;
  /** The entity tag of these bytes, without quotes. */
  readonly tag: string;
  /** The name that the owner gave the file. */
  readonly fileName: string | undefined;
  /** Opens the bytes; called once per range. */
  readonly open: (range?: ByteRange) => Promise<Readable>;
  /**
   * Returns a URL from which clients can read the file with these headers; undefined if the server sends the bytes
   * itself.
   */
  readonly locate: ((headers: SentHeaders) => Promise<string>) | undefined;

  constructor(file: {
    readonly contentType: string;
    readonly contentLength: number;
    readonly tag: string;
    readonly fileName?: string | undefined;
    open(range?: ByteRange): Promise<Readable>;
    readonly locate?: ((headers: SentHeaders) => Promise<string>) | undefined;
  }) {
    this.contentType = file.contentType;
    this.contentLength = file.contentLength;
    this.tag = file.tag;
    this.fileName = file.fileName;
    this.open = file.open;
    this.locate = file.locate;
  }
}

/** A result that is generated while it is sent, so that its length is unknown and it differs each time. */
export class ArchiveResult {
  readonly contentType: string;
  /** In ASCII, without quotes. */
  readonly fileName: string;
  /** The stream is destroyed when the client disconnects. */
  readonly open: () => Readable;

  constructor(archive: { readonly contentType: string; readonly fileName: string; open(): Readable }) {
    this.contentType = archive.contentType;
    this.fileName = archive.fileName;
    this.open = archive.open;
  }
}
