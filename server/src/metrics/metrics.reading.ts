import { ApiError, errorRow } from "../errors.ts";
import { compileParameters } from "../http/parameters.ts";
import { readWireValue } from "../http/wire.ts";
import {
  EventItem,
  eventsPerCallMax,
  type RejectedEvent,
  ValueName,
  ValueText,
  valuesPerEventMax,
} from "./metrics.contract.ts";
import type { StoredEvent } from "./metrics.payload.ts";

type Scalar = string | number | boolean;

/**
 * The values of an event as they are stored: those of `values`, and `value` under the name "value".
 *
 * @throws ApiError RequestTooLarge, ParameterIncorrectFormat, ParameterOutOfRange
 */
export function readValues({ value, values }: Pick<EventItem, "value" | "values">): Scalar[] {
  const read: Scalar[] = [];
  if (values !== undefined) {
    for (const name of Object.keys(values)) {
      if (values[name] === null || (value !== undefined && name === "value")) continue;
      read.push(readName(name), readScalar(name, values[name]));
    }
  }
  if (value !== undefined) read.push("value", value);
  if (read.length > valuesPerEventMax * 2) {
    throw new ApiError("RequestTooLarge", `An event has at most ${valuesPerEventMax} values.`);
  }
  return read;
}

function readName(name: string): string {
  const parsed = readWireValue(ValueName, name);
  if (!("problem" in parsed)) return name;
  const condition = parsed.problem === "range" ? "ParameterOutOfRange" : "ParameterIncorrectFormat";
  throw new ApiError(condition, `A name in values ${parsed.rule}.`);
}

function readScalar(name: string, value: unknown): Scalar {
  const parsed = readWireValue(ValueText, value);
  if (!("problem" in parsed)) return parsed.value as Scalar; // what ValueText reads
  const condition = parsed.problem === "range" ? "ParameterOutOfRange" : "ParameterIncorrectFormat";
  throw new ApiError(condition, `${name} in values ${parsed.rule}.`);
}

const dayMs = 86_400_000;
const ageMaxMs = 30 * dayMs;
const aheadMaxMs = 10 * 60_000;

const readItem = compileParameters(EventItem);

/**
 * Reads the events of one call, each for itself. A timestamp is what the device's clock showed, so it is moved by as much
 * as that clock was off when it sent the call.
 *
 * @throws ApiError RequestTooLarge
 */
export function readEvents(
  items: readonly unknown[],
  { sentAt, now }: { readonly sentAt: number | undefined; readonly now: number },
): { events: StoredEvent[]; rejected: RejectedEvent[] } {
  if (items.length > eventsPerCallMax) {
    throw new ApiError("RequestTooLarge", `A call brings at most ${eventsPerCallMax} events.`);
  }
  const correction = sentAt === undefined ? 0 : now - sentAt;
  const events: StoredEvent[] = [];
  const rejected: RejectedEvent[] = [];
  for (const [index, item] of items.entries()) {
    try {
      events.push(readEvent(item, correction, now));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      rejected.push({ index, error: errorRow(error.condition).error, message: error.message });
    }
  }
  return { events, rejected };
}

function readEvent(item: unknown, correction: number, now: number): StoredEvent {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    throw new ApiError("ParameterIncorrectFormat", "An event must be an object.");
  }
  const event = readItem(Object.entries(item));
  const occurredAt = event.timestamp === undefined ? now : event.timestamp + correction;
  if (occurredAt < now - ageMaxMs || occurredAt > now + aheadMaxMs) {
    throw new ApiError("ParameterOutOfRange", "timestamp must be at most 30 days old and at most 10 minutes ahead.");
  }
  return [event.key, occurredAt, ...readValues(event)];
}
