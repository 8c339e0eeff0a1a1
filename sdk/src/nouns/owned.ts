import type { PageOptions, Pages, WirePage } from "../pages/pages.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import type { Download } from "../wire/download.ts";
import { listPages, type Send } from "./send.ts";

/** Objects of one kind, which users own and can share. */
export interface OwnedNoun<T, Change, Query> {
  get(id: string, options?: CallOptions): Promise<T>;
  search(query?: Query, options?: PageOptions): Pages<T>;
  change(id: string, fields: Change, options?: CallOptions): Promise<T>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

/** The calls of one kind. */
export interface OwnedCalls<T, Create, Change, Query> {
  readonly create: (fields: Create) => Call<T>;
  readonly get: (id: string) => Call<T>;
  readonly search: (query?: Query) => Call<WirePage<T>>;
  readonly change: (id: string, fields: Change) => Call<T>;
  readonly remove: (id: string) => Call<void>;
  /** Of files. */
  readonly read: (id: string, query?: { readonly size?: string | undefined }) => Call<Download>;
}

/**
 * The calls of a kind, such as `Checkin`, which equal those of `generated/calls.ts`: all kinds have the same paths, so
 * the client spells them once.
 */
export function ownedCalls<T, Create, Change, Query>(kind: string, flags = ""): OwnedCalls<T, Create, Change, Query> {
  const noun = kind.toLowerCase();
  const all = `/${noun}s`;
  const one = `${all}/{${noun}Id}`;
  return {
    create: define(`create${kind}`, `POST ${all}`, flags),
    get: define(`get${kind}`, `GET ${one}`),
    search: define(`search${kind}s`, `GET ${all}`),
    change: define(`change${kind}`, `PATCH ${one}`),
    remove: define(`delete${kind}`, `DELETE ${one}`),
    read: define(`read${kind}File`, `GET ${one}/file`, "sb"),
  };
}

export function createOwnedNoun<T, Create, Change, Query extends { readonly pagingToken?: string | undefined }>(
  send: Send,
  { create, get, search, change, remove }: OwnedCalls<T, Create, Change, Query>,
): OwnedNoun<T, Change, Query> & { create(fields: Create, options?: CallOptions): Promise<T> } {
  return {
    create: (fields, options) => send(create(fields), options),
    get: (id, options) => send(get(id), options),
    search: (query, options) => listPages(send, search, query, options),
    change: (id, fields, options) => send(change(id, fields), options),
    delete: (id, options) => send(remove(id), options),
  };
}
