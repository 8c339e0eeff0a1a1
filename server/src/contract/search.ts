import { ApiError } from "../lib/errors.ts";
import type { LocationRange } from "../lib/locations.ts";
import { pagingParameters } from "./paging.ts";
import { type Enumeration, named, Type } from "./schema.ts";
import { Choice, DateRangeInput, LocationRangeInput } from "./wire.ts";

type Sorted<Name extends string> = Name | `-${Name}`;

/**
 * The parameters of every search (spec/search#searches), to be spread into its parameters.
 *
 * @param name the name of the sort orders in OpenAPI
 * @param orders the sort orders, in addition to `distance`
 */
export function searchParameters<const Name extends string>(name: string, orders: readonly Name[]) {
  const sortOrder = Choice(sortOrders(name, [...orders, "distance"]), {
    description: "The order of the results. distance needs a locationRange.",
  });
  return {
    created: Type.Optional(DateRangeInput({ description: "When it was created." })),
    lastModified: Type.Optional(DateRangeInput({ description: "When it was changed last." })),
    locationRange: Type.Optional(LocationRangeInput({ description: "The area that it is in." })),
    sortOrder: Type.Optional({ ...sortOrder, default: "-created" }),
    ...pagingParameters,
  };
}

/** Returns the words of a sort order: each name, and each name after a `-`. */
export function sortOrders<const Name extends string>(name: string, names: readonly Name[]): Enumeration<Sorted<Name>> {
  const words = names.flatMap((each): Sorted<Name>[] => [each, `-${each}`]);
  return named(name, "Ascending, with `-` descending.", {
    type: "string",
    enum: words,
  });
}

/** Reads the sort order. @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange */
export function readSortOrder<Name extends string>(
  { sortOrder, locationRange }: { sortOrder?: Sorted<Name | "distance">; locationRange?: LocationRange },
  byDefault: Sorted<Name>,
): { name: Name | "distance"; isDescending: boolean } {
  const word = sortOrder ?? byDefault;
  const isDescending = word.startsWith("-");
  const name = (isDescending ? word.slice(1) : word) as Name | "distance"; // the Choice allows only these words, with or without -
  if (name === "distance" && locationRange === undefined) {
    throw new ApiError("ParameterIncorrectFormat", "sortOrder distance needs a locationRange.", {
      parameter: "sortOrder",
    });
  }
  return { name, isDescending };
}
