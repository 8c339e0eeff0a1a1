import { ApiError } from "../errors.ts";
import { oppositeSide, type Page, type Position } from "../lib/keyset.ts";
import { createSealer } from "../lib/seal.ts";
import type { Caller, OperatorCaller } from "./route.ts";
import { type ObjectSchema, type Schema, type Static, Type } from "./schema.ts";
import { Integer, Text } from "./wire.ts";

/** The parameters that every listing takes; spread them into its own. */
export const pagingParameters = {
  pageSize: Type.Optional(Integer({ description: "Items of the page." })),
  pagingToken: Type.Optional(
    // Without a bound of its own: it is as long as the filters that it brings back.
    Text({
      description: "A token of an earlier page, which alone brings back filters and order; or <pageSize>;<offset>.",
    }),
  ),
};

/** `<pageSize>;<offset>` */
const plainToken = /^\s*(\d+)\s*;\s*(\d+)\s*$/;

/**
 * True when the parameters hold a token that the service gave. It alone brings back filters and order, so whatever stands
 * beside it is not even read (surface.md section 3).
 */
export function holdsGivenToken(pagingToken: unknown): boolean {
  return typeof pagingToken === "string" && pagingToken !== "" && !plainToken.test(pagingToken);
}

/** The result of every listing (service.md "Response envelope", surface.md section 3). */
export function PageOf<Item extends Schema>(item: Item) {
  return Type.Object({
    pageResults: Type.Array(item),
    currentToken: Type.String(),
    nextToken: Type.Optional(Type.String()),
    previousToken: Type.Optional(Type.String()),
  });
}

interface PresentedPage<Item> {
  pageResults: Item[];
  currentToken: string;
  nextToken?: string;
  previousToken?: string;
}

/** Which page of which listing is asked for. */
export interface PageRequest<Filters> {
  readonly position: Position;
  readonly size: number;
  readonly filters: Filters;
}

/** Whom a page token is for: it opens for nobody else. */
type PageReader = Pick<Caller, "applicationId" | "userId"> | OperatorCaller;

/** Reads and writes page tokens, which are sealed and bound to the listing, and to the user of the application or the operator. */
export interface Paging {
  /**
   * @param listing the name of the listing: its tokens open nowhere else
   * @param parameters all but those of the paging itself are filters; those of the token, if there is one, win
   * @throws ApiError ParameterIncorrectFormat, ParameterOutOfRange
   */
  read<Parameters extends Static<ObjectSchema<typeof pagingParameters>>>(
    listing: string,
    caller: PageReader,
    parameters: Parameters,
  ): PageRequest<Parameters>;

  present<Filters, Row, Item>(
    listing: string,
    caller: PageReader,
    request: PageRequest<Filters>,
    page: Page<Row>,
    present: (row: Row) => Item,
  ): PresentedPage<Item>;
}

export function createPaging(settings: {
  readonly secrets: readonly string[];
  readonly pageItemsDefault: number;
  readonly pageItemsMax: number;
}): Paging {
  const sealer = createSealer(settings.secrets, "page token");

  function bound(listing: string, caller: PageReader): string {
    if ("operatorId" in caller) return JSON.stringify([listing, caller.operatorId]);
    return JSON.stringify([listing, caller.applicationId, caller.userId]);
  }

  function checkSize(name: string, size: number): number {
    if (size >= 1 && size <= settings.pageItemsMax) return size;
    throw new ApiError("ParameterOutOfRange", `${name} must ask for 1 to ${settings.pageItemsMax} items.`);
  }

  return {
    read(listing, caller, parameters) {
      const { pageSize, pagingToken, ...filters } = parameters;
      if (pagingToken === undefined) {
        const size = pageSize === undefined ? settings.pageItemsDefault : checkSize("pageSize", pageSize);
        return { position: { at: "start" }, size, filters };
      }
      const plain = plainToken.exec(pagingToken);
      if (plain !== null) {
        const size = checkSize("pagingToken", Number(plain[1]));
        const offset = Math.min(Number(plain[2]), Number.MAX_SAFE_INTEGER); // no listing goes on beyond
        return { position: { at: "offset", offset }, size, filters };
      }
      const opened = sealer.open(pagingToken, bound(listing, caller));
      if (opened === undefined) {
        throw new ApiError("ParameterIncorrectFormat", "pagingToken must be a token of this listing.");
      }
      return JSON.parse(opened); // the seal vouches for its shape
    },

    present(listing, caller, request, { rows, hasNext, hasPrevious, keyOf }, present) {
      const { position } = request;
      const first = rows[0];
      const last = rows.at(-1);
      function tokenAt(there: Position): string {
        return sealer.seal(JSON.stringify({ ...request, position: there }), bound(listing, caller));
      }
      function otherSide(): Position {
        if ("key" in position) return { at: oppositeSide[position.at], key: position.key };
        return { at: "end" }; // an offset beyond the last row
      }
      return {
        pageResults: rows.map(present),
        currentToken: tokenAt(position),
        ...(hasNext && { nextToken: tokenAt(last === undefined ? otherSide() : { at: "after", key: keyOf(last) }) }),
        ...(hasPrevious && {
          previousToken: tokenAt(first === undefined ? otherSide() : { at: "before", key: keyOf(first) }),
        }),
      };
    },
  };
}
