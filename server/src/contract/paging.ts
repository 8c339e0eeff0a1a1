import { ApiError } from "../lib/errors.ts";
import { oppositeSide, type Page, type Position } from "../lib/keyset.ts";
import { createSeriesSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import type { Call } from "./call.ts";
import type { Caller, OperatorCaller } from "./route.ts";
import { named, nameOf, type ObjectSchema, type Schema, type Static, Type, withLimits } from "./schema.ts";
import { Integer, Text } from "./wire.ts";

/** The parameters of every listing, to be spread into its parameters. */
export const pagingParameters = {
  pageSize: Type.Optional(
    withLimits(
      Integer({ description: "The number of objects on the page." }),
      ({ pageItemsDefault, pageItemsMax }) => ({
        minimum: 1,
        maximum: pageItemsMax,
        default: pageItemsDefault,
      }),
    ),
  ),
  pagingToken: Type.Optional(
    // Without a length limit, because it contains the filters.
    Text({
      description: "A token of an earlier page, which restores filters and order; or <pageSize>;<offset>.",
    }),
  ),
};

/** `<pageSize>;<offset>` */
const plainToken = /^\s*(\d+)\s*;\s*(\d+)\s*$/;

/**
 * Whether this is a page token of the service. The token contains filters and order, so that the other parameters are
 * not read (spec/search#page-tokens).
 */
export function hasPageToken(pagingToken: unknown): boolean {
  return typeof pagingToken === "string" && pagingToken !== "" && !plainToken.test(pagingToken);
}

/** The result of every listing (spec/search#page-tokens). */
export function PageOf<Item>(item: Schema<Item>) {
  const members = Type.Object({
    pageResults: Type.Array(item),
    currentToken: Type.String(),
    nextToken: Type.Optional(Type.String()),
    previousToken: Type.Optional(Type.String()),
  });
  return named(`${nameOf(item)}Page`, undefined, members);
}

export interface PresentedPage<Item> {
  pageResults: Item[];
  currentToken: string;
  nextToken?: string;
  previousToken?: string;
}

/** The requested page of a listing. */
export interface PageRequest<Filters> {
  readonly position: Position;
  readonly size: number;
  readonly filters: Filters;
  /** The token of the request, if it is equivalent to a new one. */
  readonly token?: string;
}

/** The owner of a page token, which is invalid for other callers. */
type PageReader = Pick<Caller, "applicationId" | "userId"> | OperatorCaller;

/** Reads and creates page tokens, which are sealed and bound to the listing and to the user or operator. */
export interface Paging {
  /**
   * @param listing the name of the listing, to which its tokens are bound
   * @param parameters the paging parameters and the filters; the filters in a token take precedence
   * @param call reserves the memory for a large page
   * @throws ApiError ParameterIncorrectFormat, ParameterOutOfRange, ServiceUnavailable
   */
  read<Parameters extends Static<ObjectSchema<typeof pagingParameters>>>(
    listing: string,
    caller: PageReader,
    parameters: Parameters,
    call: Pick<Call, "reserve">,
  ): Promise<PageRequest<Parameters>>;

  present<Filters, Row, Item>(
    listing: string,
    caller: PageReader,
    request: PageRequest<Filters>,
    page: Page<Row>,
    present: (row: Row) => Item,
  ): PresentedPage<Item>;
}

export function createPaging(settings: {
  readonly secrets: Secrets;
  readonly pageItemsDefault: number;
  readonly pageItemsMax: number;
}): Paging {
  const sealer = createSeriesSealer(settings.secrets, "page token");

  function bound(listing: string, caller: PageReader): string {
    if ("operatorId" in caller) return JSON.stringify([listing, caller.operatorId]);
    return JSON.stringify([listing, caller.applicationId, caller.userId]);
  }

  function checkSize(name: string, size: number): number {
    if (size >= 1 && size <= settings.pageItemsMax) return size;
    throw new ApiError("ParameterOutOfRange", `${name} must ask for 1 to ${settings.pageItemsMax} items.`, {
      parameter: name,
    });
  }

  function readRequest(
    listing: string,
    caller: PageReader,
    parameters: Static<ObjectSchema<typeof pagingParameters>>,
  ): PageRequest<object> {
    const { pageSize, pagingToken, ...filters } = parameters;
    if (pagingToken === undefined) {
      const size = pageSize === undefined ? settings.pageItemsDefault : checkSize("pageSize", pageSize);
      return { position: { at: "start" }, size, filters };
    }
    const plain = plainToken.exec(pagingToken);
    if (plain !== null) {
      const size = checkSize("pagingToken", Number(plain[1]));
      const offset = Math.min(Number(plain[2]), Number.MAX_SAFE_INTEGER); // larger than any listing
      return { position: { at: "offset", offset }, size, filters };
    }
    const opened = sealer.open(pagingToken, bound(listing, caller));
    if (opened === undefined) {
      throw new ApiError("ParameterIncorrectFormat", "pagingToken must be a token of this listing.", {
        parameter: "pagingToken",
      });
    }
    const request: PageRequest<object> = JSON.parse(opened); // the seal guarantees its shape
    return sealer.isNewest(pagingToken) ? { ...request, token: pagingToken } : request;
  }

  return {
    async read(listing, caller, parameters, call) {
      const request = readRequest(listing, caller, parameters) as PageRequest<typeof parameters>; // the seal guarantees the filters' shape
      // Memory is estimated per kind of object. The name of a listing may contain an id after the kind.
      const reserved = call.reserve?.(listing.split(" ", 1)[0] ?? listing, request.size);
      if (reserved !== undefined) await reserved;
      return request;
    },

    present(listing, caller, request, page, present) {
      const { token, ...sealed } = request;
      const { position } = request;
      const { rows, keyOf } = page;
      const first = rows[0];
      const last = rows.at(-1);
      const context = bound(listing, caller);
      function tokenAt(there: Position): string {
        return sealer.seal(JSON.stringify({ ...sealed, position: there }), context);
      }
      function positionBeside(at: "after" | "before", row: (typeof rows)[number] | undefined): Position {
        if (row !== undefined) return { at, key: keyOf(row) };
        if ("key" in position) return { at: oppositeSide[position.at], key: position.key };
        return { at: "end" }; // an offset beyond the last row
      }
      return {
        pageResults: rows.map(present),
        currentToken: token ?? tokenAt(position),
        ...(page.hasNext && { nextToken: tokenAt(page.next ?? positionBeside("after", last)) }),
        ...(page.hasPrevious && { previousToken: tokenAt(page.previous ?? positionBeside("before", first)) }),
      };
    },
  };
}
