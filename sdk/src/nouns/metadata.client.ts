import {
  deleteMetadata,
  getMetadata,
  incrementMetadata,
  putManyMetadata,
  putMetadata,
  searchMetadata,
} from "../generated/calls.ts";
import type { MetadataItem, Permission, SearchMetadataQuery } from "../generated/types.ts";
import type { PageOptions, Pages } from "../pages/pages.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Call } from "../wire/call.ts";
import type { Place } from "../wire/values.ts";
import { listPages, orUndefined, type Send } from "./send.ts";

export interface MetadataOptions extends CallOptions {
  /** `App`: shared. `User`: the caller's own. By default `App` for the application and the device, otherwise `User`. */
  readonly visibility?: Permission;
}

/** Keys and values of one object. */
export interface ObjectMetadata {
  /** Returns undefined if the key or the object does not exist. The type `T` is not checked. */
  get<T = unknown>(key: string, options?: MetadataOptions): Promise<T | undefined>;
  getMany(query?: SearchMetadataQuery, options?: PageOptions): Pages<MetadataItem>;
  put(key: string, value: unknown, options?: MetadataOptions & { readonly location?: Place | string }): Promise<void>;
  /** Stores the values atomically. */
  putMany(values: Readonly<Record<string, unknown>>, options?: MetadataOptions): Promise<void>;
  /** Adds `delta`, by default 1, to a number. */
  increment(key: string, delta?: number, options?: MetadataOptions): Promise<MetadataItem>;
  delete(key: string, options?: MetadataOptions): Promise<void>;
}

/** Keys and values of objects. */
export interface MetadataNoun {
  of(object: string | { readonly id: string }): ObjectMetadata;
  ofMe(): ObjectMetadata;
  ofDevice(): ObjectMetadata;
  ofApp(): ObjectMetadata;
}

export function createMetadataNoun(send: Send): MetadataNoun {
  const of = (id: string, usual: Permission = "User"): ObjectMetadata => {
    const sendOf = <T>(
      { visibility = usual, ...options }: MetadataOptions = {},
      describe: (fields: { readonly visibility: Permission }) => Call<T>,
    ) => send(describe({ visibility }), options);
    return {
      // The app declares the type of the value.
      get: async <T>(key: string, options: MetadataOptions | undefined) =>
        (await orUndefined(sendOf(options, (fields) => getMetadata(id, key, fields))))?.value as T | undefined,
      getMany: (query, options) =>
        listPages<SearchMetadataQuery, MetadataItem>(
          send,
          (query) => searchMetadata(id, query),
          { visibility: usual, ...query },
          options,
        ),
      put: (key, value, { location, ...options } = {}) =>
        sendOf(options, (fields) => putMetadata(id, key, { ...fields, value, location })),
      putMany: (values, options) => sendOf(options, (fields) => putManyMetadata(id, { ...fields, values })),
      increment: (key, delta, options) => sendOf(options, (fields) => incrementMetadata(id, key, { ...fields, delta })),
      delete: (key, options) => sendOf(options, (fields) => deleteMetadata(id, key, fields)),
    };
  };
  return {
    of: (object) => of(typeof object === "string" ? object : Object(object).id),
    ofMe: () => of("me"),
    ofDevice: () => of("current", "App"),
    ofApp: () => of("app", "App"),
  };
}
