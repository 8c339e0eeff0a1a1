import { hexOf } from "../lib/hex.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Download } from "../wire/download.ts";
import { ConfigurationError, describeCall, UnexpectedAnswer } from "../wire/errors.ts";
import type { Source } from "../wire/source.ts";
import { createOwnedNoun, type OwnedCalls, type OwnedNoun } from "./owned.ts";
import type { Send } from "./send.ts";

/** The maximum width and height of a scaled picture, in pixels. */
export interface PictureSize {
  readonly w: number;
  readonly h: number;
}

export interface DownloadOptions extends CallOptions {
  /** Downloads only these bytes: offsets from 0, both inclusive. */
  readonly range?: { readonly from: number; readonly to?: number };
  /**
   * Verifies the SHA-256 hash of the bytes, which loads all of them into memory.
   *
   * @throws UnexpectedAnswer if the hash differs
   */
  readonly verify?: boolean;
}

/** Files of one kind. */
export interface FilesNoun<T, Create, Change, Query> extends OwnedNoun<T, Change, Query> {
  create(source: Source, fields?: Create, options?: CallOptions): Promise<T>;
  /** Returns a signed URL that serves the bytes without a token for a limited time. */
  url(file: { readonly signedUrl: string }): string;
  download(id: string, options?: DownloadOptions): Promise<Download>;
}

interface FileMethods<T, Create> {
  create(source: Source, fields?: Create, options?: CallOptions): Promise<T>;
  url(file: { readonly signedUrl: string }, options?: { readonly size?: PictureSize }): string;
  download(id: string, options?: DownloadOptions & { readonly size?: PictureSize }): Promise<Download>;
}

export function createFilesNoun<
  T extends { readonly contentHash?: string },
  Form extends { readonly data: Source },
  Change,
  Query extends { readonly pagingToken?: string | undefined },
>(
  send: Send,
  calls: OwnedCalls<T, Form, Change, Query>,
): OwnedNoun<T, Change, Query> & FileMethods<T, Omit<Form, "data">> {
  const { create, get, read } = calls;
  return {
    ...createOwnedNoun(send, calls),
    // All of the fields are optional.
    create: (data, fields, options) => send(create({ ...fields, data } as Form), options),
    url(file, options) {
      const { signedUrl }: Partial<typeof file> = Object(file);
      if (!signedUrl) throw new ConfigurationError("file must have a signedUrl.");
      return signedUrl + (options?.size ? `&size=${sizeText(options.size)}` : "");
    },
    async download(id, given) {
      const { range, size, verify, ...options }: NonNullable<typeof given> = Object(given);
      const headers = { ...options.headers, ...(range && { Range: `bytes=${range.from}-${range.to ?? ""}` }) };
      const call = read(id, { size: sizeText(size) });
      const file = await send(call, { ...options, headers });
      if (!verify) return file;
      const { contentHash } = await send(get(id), options);
      const blob = await file.blob();
      const digest = await crypto.subtle.digest("SHA-256", await blob.arrayBuffer());
      if (hexOf(new Uint8Array(digest)) !== contentHash)
        throw new UnexpectedAnswer("the bytes are not those of the object", {
          status: 200,
          call: describeCall(call),
          attempts: 1,
        });
      return { ...file, stream: () => blob.stream(), blob: async () => blob, text: () => blob.text() };
    },
  };
}

export function sizeText(size: PictureSize | undefined): string | undefined {
  return size && `${size.w},${size.h}`;
}
