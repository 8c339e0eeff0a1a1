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
import type { Place } from "../wire/values.ts";
import { listPages, orUndefined, type Send } from "./send.ts";

export interface MetadataOptions extends CallOptions {
  /** `App` is shared, `User` the caller's own. By default `App` for the application and the device, else `User`. */
  readonly visibility?: Permission;
}

/** Keys and values of one object. */
export interface ObjectMetadata {
  /** Undefined if the key or the object is not there. The type is not checked. */
  get<T = unknown>(key: string, options?: MetadataOptions): Promise<T | undefined>;
  getMany(query?: SearchMetadataQuery, options?: PageOptions): Pages<MetadataItem>;
  put(key: string, value: unknown, options?: MetadataOptions & { readonly location?: Place | string }): Promise<void>;
  /** Puts all of the values or none. */
  putMany(values: Readonly<Record<string, unknown>>, options?: MetadataOptions): Promise<void>;
  /** Adds to a number; 1 by default. */
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
  const of = (id: string, usual: Permission = "User"): ObjectMetadata => ({
    // The app says what it has put there.
    get: async <T>(key: string, { visibility = usual, ...options }: MetadataOptions = {}) =>
      (await orUndefined(send(getMetadata(id, key, { visibility }), options)))?.value as T | undefined,
    getMany: (query, options) =>
      listPages<SearchMetadataQuery, MetadataItem>(
        send,
        (query) => searchMetadata(id, query),
        { visibility: usual, ...query },
        options,
      ),
    put: (key, value, { visibility = usual, location, ...options } = {}) =>
      send(putMetadata(id, key, { value, visibility, location }), options),
    putMany: (values, { visibility = usual, ...options } = {}) =>
      send(putManyMetadata(id, { values, visibility }), options),
    increment: (key, delta, { visibility = usual, ...options } = {}) =>
      send(incrementMetadata(id, key, { delta, visibility }), options),
    delete: (key, { visibility = usual, ...options } = {}) => send(deleteMetadata(id, key, { visibility }), options),
  });
  return {
    of: (object) => of(typeof object === "string" ? object : object.id),
    ofMe: () => of("me"),
    ofDevice: () => of("current", "App"),
    ofApp: () => of("app", "App"),
  };
}
