import type { Readable } from "node:stream";

/** Some of the bytes of a file: from `start`, inclusive, to `end`, exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
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

  constructor(file: {
    readonly contentType: string;
    readonly contentLength: number;
    readonly tag: string;
    readonly fileName?: string | undefined;
    open(range?: ByteRange): Promise<Readable>;
  }) {
    this.contentType = file.contentType;
    this.contentLength = file.contentLength;
    this.tag = file.tag;
    this.fileName = file.fileName;
    this.open = file.open;
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
