/** The part of s3rver that tests use; it brings no types. */
declare module "s3rver" {
  export interface Context {
    readonly method: string;
    readonly path: string;
    readonly href: string;
    readonly query: Readonly<Record<string, string | undefined>>;
    status: number;
    type: string;
    body: string;
  }
  interface Written {
    readonly size: number;
    readonly md5: string;
  }
  export default class S3rver {
    constructor(options: {
      readonly address: string;
      readonly port: number;
      readonly silent: boolean;
      readonly directory: string;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly store: {
      listObjects(
        bucket: string,
        options: { readonly prefix: string; readonly startAfter: string; readonly maxKeys: number },
      ): Promise<{ readonly objects: readonly { readonly key: string }[]; readonly isTruncated: boolean }>;
      putObject(object: { readonly bucket: string; readonly key: string }): Promise<Written>;
      putPart(bucket: string, uploadId: string, partNumber: number, content: unknown): Promise<Written>;
    };
    readonly middleware: ((context: Context, next: () => Promise<void>) => Promise<void>)[];
    run(): Promise<{ readonly port: number }>;
    close(): Promise<void>;
  }
}
