import { compileParameters } from "../contract/parameters.ts";
import type { Caller } from "../contract/route.ts";
import { ApiError } from "../lib/errors.ts";
import { EventFilterShape, type EventFilters, type StreamParameters, subscriptionsMax } from "./events.contract.ts";
import { createFilter, type EventFilter } from "./events.reading.ts";

const readSubscription = compileParameters(EventFilterShape);

/**
 * The conditions of a stream: those of its parameters, or of each of its subscriptions.
 *
 * @throws ApiError ParameterIncorrectFormat, ParameterOutOfRange
 */
export function readSubscriptions(
  { subscriptions, ...conditions }: EventFilters & Pick<StreamParameters, "subscriptions">,
  caller: Caller,
): EventFilter[] {
  if (subscriptions === undefined) return [createFilter(conditions, caller)];
  if (Object.keys(conditions).length > 0) throw refusal("subscriptions stand in place of other conditions.");
  if (subscriptions.length === 0 || subscriptions.length > subscriptionsMax) {
    throw refusal(`subscriptions must have 1 to ${subscriptionsMax} items.`);
  }
  return subscriptions.map((given) => {
    if (!isMembers(given)) throw refusal("subscriptions must have objects as items.");
    if (Object.keys(given).some((name) => name.toLowerCase() === "subscriptions")) {
      throw refusal("subscriptions must not have subscriptions in their items.");
    }
    return createFilter(readSubscription(Object.entries(given)), caller);
  });
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refusal(message: string): ApiError {
  return new ApiError("ParameterIncorrectFormat", message, { parameter: "subscriptions" });
}
