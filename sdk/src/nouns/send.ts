import { createPages, type PageOptions, type Pages, type WirePage } from "../pages/pages.ts";
import type { CallOptions, Sent } from "../transport/options.ts";
import type { Call } from "../wire/call.ts";
import { isNamed } from "../wire/errors.ts";

/** Sends calls as a principal. @throws ConfigurationError for a value that is not a call */
export type Send = <T>(call: Call<T>, options?: CallOptions) => Sent<T>;

interface PageQuery {
  readonly pagingToken?: string | undefined;
}

/** The pages of a listing. The token of a page restores its filters and order. */
export function listPages<Query extends PageQuery, T>(
  send: Send,
  describe: (query?: Query) => Call<WirePage<T>>,
  query: Query | undefined,
  options: PageOptions | undefined,
): Pages<T> {
  return createPages(
    // A cursor replaces all other parameters, which are optional.
    (pagingToken, callOptions) =>
      send(describe(pagingToken === undefined ? query : ({ pagingToken } as Query)), callOptions),
    options,
  );
}

/** Returns undefined instead of the error for a missing object. */
export async function orUndefined<T>(sent: Promise<T>): Promise<T | undefined> {
  try {
    return await sent;
  } catch (error) {
    if (isNamed(error, "ItemDoesNotExist")) return undefined;
    throw error;
  }
}
