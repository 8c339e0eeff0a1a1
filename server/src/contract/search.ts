import { ApiError } from "../errors.ts";
import type { LocationRange } from "../lib/locations.ts";
import { pagingParameters } from "./paging.ts";
import { type Schema, Type } from "./schema.ts";
import { Choice, DateRangeInput, LocationRangeInput } from "./wire.ts";

type Sorted<Name extends string> = Name | `-${Name}`;

/**
 * The parameters of every search (spec/search#searches), to be spread into its own parameters.
 *
 * @param orders the sort orders, in addition to `distance`
 */
export function searchParameters<const Name extends string>(orders: readonly Name[]) {
  const names = [...orders, "distance" as const];
  const words = names.flatMap((name): Sorted<Name | "distance">[] => [name, `-${name}`]);
  const sortOrder: Schema<Sorted<Name | "distance">> = Choice(words, {
    description: "What the results are sorted by, - for descending. distance needs a locationRange. Default -created.",
  });
  return {
    created: Type.Optional(DateRangeInput()),
    lastModified: Type.Optional(DateRangeInput()),
    locationRange: Type.Optional(LocationRangeInput()),
    sortOrder: Type.Optional(sortOrder),
    ...pagingParameters,
  };
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
    throw new ApiError("ParameterIncorrectFormat", "sortOrder distance needs a locationRange.");
  }
  return { name, isDescending };
}
