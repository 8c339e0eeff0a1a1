import type { Readable } from "node:stream";

/** Some of the bytes of a file: from `start`, inclusive, to `end`, exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** What goes with the bytes of a file, whoever sends them. */
export interface SentHeaders {
  readonly contentType: string;
  readonly contentDisposition: string;
  readonly cacheControl: string;
}

/** A result that is sent as it is, and not in an envelope. */
export class FileResult {
  readonly contentType: string;
  readonly contentLength: number;
  /** What these very bytes are told by, without quotes. */
  readonly tag: string;
  /** As its owner has called it. */
  readonly fileName: string | undefined;
  /** Opens the bytes; called again for each range. */
  readonly open: (range?: ByteRange) => Promise<Readable>;
  /** Where clients are to read it instead, under these headers; undefined where they are to read it here. */
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

/** A result that is made while it is sent: nobody knows how long it gets, and it is not the same twice. */
export class ArchiveResult {
  readonly contentType: string;
  /** In ASCII, without quotes. */
  readonly fileName: string;
  /** Destroyed when nobody reads it any more. */
  readonly open: () => Readable;

  constructor(archive: { readonly contentType: string; readonly fileName: string; open(): Readable }) {
    this.contentType = archive.contentType;
    this.fileName = archive.fileName;
    this.open = archive.open;
  }
}
