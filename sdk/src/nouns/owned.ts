import type { PageOptions, Pages, WirePage } from "../pages/pages.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Call } from "../wire/call.ts";
import { listPages, type Send } from "./send.ts";

/** Objects of one kind, which users own and may share. */
export interface OwnedNoun<T, Change, Query> {
  get(id: string, options?: CallOptions): Promise<T>;
  search(query?: Query, options?: PageOptions): Pages<T>;
  change(id: string, fields: Change, options?: CallOptions): Promise<T>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

interface OwnedCalls<T, Change, Query> {
  readonly get: (id: string) => Call<T>;
  readonly search: (query?: Query) => Call<WirePage<T>>;
  readonly change: (id: string, fields: Change) => Call<T>;
  readonly remove: (id: string) => Call<void>;
}

export function createOwnedNoun<T, Change, Query extends { readonly pagingToken?: string | undefined }>(
  send: Send,
  { get, search, change, remove }: OwnedCalls<T, Change, Query>,
): OwnedNoun<T, Change, Query> {
  return {
    get: (id, options) => send(get(id), options),
    search: (query, options) => listPages(send, search, query, options),
    change: (id, fields, options) => send(change(id, fields), options),
    delete: (id, options) => send(remove(id), options),
  };
}
