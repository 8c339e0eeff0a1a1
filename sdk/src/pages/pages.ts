import { whenAborted } from "../lib/wait.ts";
import { withoutAbsent } from "../lib/without-absent.ts";
import { checkCallOptions } from "../transport/call-options.ts";
import { withStack } from "../transport/limits.ts";
import type { CallOptions, Sent } from "../transport/options.ts";

/** A page as returned by the service. */
export interface WirePage<T> {
  readonly pageResults: readonly T[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** Cursors that restore a page, even much later: pass one as `pagingToken`. */
export interface PageTokens {
  readonly current: string;
  readonly next?: string;
  readonly previous?: string;
}

/** Some items of a listing. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly tokens: PageTokens;
  /** Loads the next page; resolves with undefined on the last page. */
  next(): Promise<Page<T> | undefined>;
  /** Loads the previous page; resolves with undefined on the first page. */
  previous(): Promise<Page<T> | undefined>;
}

/**
 * A list: a promise of its first page, and an async iterable of the items of all pages. Sends no request until it is
 * awaited or iterated. Leaving a loop aborts the pending request.
 */
export interface Pages<T> extends Promise<Page<T>>, AsyncIterable<T> {
  /** Loads the items of all pages, up to the option `limit`. */
  all(): Promise<T[]>;
  /** Iterates over the pages. */
  pages(): AsyncIterable<Page<T>>;
}

export interface PageOptions extends CallOptions {
  /** The maximum number of items that a loop or `all` returns; unlimited by default. */
  readonly limit?: number | undefined;
}

/** Requests the page of a cursor, or the first page without one. */
export type FetchPage<T> = (pagingToken: string | undefined, options: CallOptions) => Sent<WirePage<T>>;

export function createPages<T>(fetchPage: FetchPage<T>, given?: PageOptions): Pages<T> {
  const { limit, ...options } = checkCallOptions(given);
  let first: Promise<Page<T>> | undefined;
  const origin = new Error();
  /** The stack of the caller, for errors: the request starts in a microtask, which loses it. */
  const fail = (error: unknown): never => {
    throw withStack(error, origin);
  };

  async function load(pagingToken: string | undefined, signal = options.signal): Promise<Page<T>> {
    const answer = await fetchPage(pagingToken, { ...options, signal });
    const { pageResults: items, currentToken: current, nextToken: next, previousToken: previous } = answer;
    const follow = async (token: string | undefined) => (token === undefined ? undefined : load(token));
    return {
      items,
      tokens: withoutAbsent({ current, next, previous }),
      next: () => follow(next),
      previous: () => follow(previous),
    };
  }

  /** Prefetches one page. */
  async function* iteratePages(): AsyncGenerator<Page<T>> {
    const leaving = new AbortController();
    const release = whenAborted(options.signal, () => leaving.abort(options.signal?.reason));
    try {
      let coming: Promise<Page<T>> | undefined = load(undefined, leaving.signal);
      while (coming !== undefined) {
        const page: Page<T> = await coming.catch(fail);
        const { next } = page.tokens;
        coming = next === undefined ? undefined : load(next, leaving.signal);
        // The loop reports this error when it reaches the page, or stops before.
        coming?.catch(() => {});
        yield page;
      }
    } finally {
      release();
      leaving.abort();
    }
  }

  async function* iterateItems(): AsyncGenerator<T> {
    let left = limit ?? Number.POSITIVE_INFINITY;
    if (left <= 0) return;
    for await (const { items } of iteratePages()) {
      for (const item of items) {
        yield item;
        left -= 1;
        if (left <= 0) return;
      }
    }
  }

  const listing: Omit<Pages<T>, Exclude<keyof Promise<T>, "then">> = {
    // biome-ignore lint/suspicious/noThenProperty: awaiting a listing begins the request
    then(resolve, reject) {
      first ??= load(undefined).catch(fail);
      return first.then(resolve, reject);
    },
    async all() {
      const items: T[] = [];
      for await (const item of iterateItems()) items.push(item);
      return items;
    },
    pages: () => ({ [Symbol.asyncIterator]: iteratePages }),
    [Symbol.asyncIterator]: iterateItems,
  };
  // `await`, `catch` and `finally` all call `then` of `listing`, because the object is not a native promise.
  return Object.assign(Object.create(Promise.prototype), listing);
}
