import { compileParameters } from "../contract/parameters.ts";
import { readWireValue } from "../contract/wire.ts";
import { ApiError, errorRow } from "../lib/errors.ts";
import type { StoredEvent } from "./engine/payload.ts";
import {
  EventItem,
  eventsPerCallMax,
  type RejectedEvent,
  ValueName,
  ValueText,
  valuesPerEventMax,
} from "./metrics.contract.ts";

type Scalar = string | number | boolean;

/**
 * Returns the values of an event as they are stored: those of `values`, and a scalar `value` under the name "value".
 * Shipped clients send an object in `value`, so it is read like `values`. If both contain a name, the one in `value`
 * wins.
 *
 * @throws ApiError RequestTooLarge, ParameterIncorrectFormat, ParameterOutOfRange
 */
export function readValues({ value, values }: Pick<EventItem, "value" | "values">): Scalar[] {
  const isScalar = typeof value !== "object";
  const winning = isScalar ? undefined : value;
  const read: Scalar[] = [];
  for (const [name, given] of Object.entries(values ?? {})) {
    if (isScalar ? value !== undefined && name === "value" : isGiven(winning, name)) continue;
    if (given !== null) read.push(readName("values", name), readScalar("values", name, given));
  }
  for (const [name, given] of Object.entries(winning ?? {})) {
    if (given !== null) read.push(readName("value", name), readScalar("value", name, given));
  }
  if (isScalar && value !== undefined) read.push("value", value);
  if (read.length > valuesPerEventMax * 2) {
    throw new ApiError("RequestTooLarge", `An event has at most ${valuesPerEventMax} values.`);
  }
  return read;
}

function isGiven(values: Readonly<Record<string, unknown>> | undefined, name: string): boolean {
  return values !== undefined && Object.hasOwn(values, name) && values[name] !== null;
}

function readName(parameter: string, name: string): string {
  const parsed = readWireValue(ValueName, name);
  if (!("problem" in parsed)) return name;
  const condition = parsed.problem === "range" ? "ParameterOutOfRange" : "ParameterIncorrectFormat";
  throw new ApiError(condition, `A name in ${parameter} ${parsed.rule}.`, { parameter: `${parameter}.${name}` });
}

function readScalar(parameter: string, name: string, value: unknown): Scalar {
  const parsed = readWireValue(ValueText, value);
  if (!("problem" in parsed)) return parsed.value as Scalar; // ValueText accepts nothing else
  const condition = parsed.problem === "range" ? "ParameterOutOfRange" : "ParameterIncorrectFormat";
  throw new ApiError(condition, `${name} in ${parameter} ${parsed.rule}.`, { parameter: `${parameter}.${name}` });
}

const dayMs = 86_400_000;
const ageMaxMs = 30 * dayMs;
const aheadMaxMs = 10 * 60_000;

const readItem = compileParameters(EventItem);

/**
 * Reads the events of one call independently of each other. Timestamps come from the device's clock, so each is
 * corrected by the offset that this clock had when the device sent the call.
 *
 * @returns `indexes` of the events among the items
 * @throws ApiError RequestTooLarge
 */
export function readEvents(
  items: readonly unknown[],
  { sentAt, now }: { readonly sentAt: number | undefined; readonly now: number },
): { events: StoredEvent[]; indexes: number[]; rejected: RejectedEvent[] } {
  if (items.length > eventsPerCallMax) {
    throw new ApiError("RequestTooLarge", `A call may contain at most ${eventsPerCallMax} events.`, {
      parameter: "events",
    });
  }
  const correction = sentAt === undefined ? 0 : now - sentAt;
  const events: StoredEvent[] = [];
  const indexes: number[] = [];
  const rejected: RejectedEvent[] = [];
  for (const [index, item] of items.entries()) {
    try {
      events.push(readEvent(item, correction, now));
      indexes.push(index);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      rejected.push(presentRejection(index, error));
    }
  }
  return { events, indexes, rejected };
}

export function presentRejection(index: number, { condition, message }: ApiError): RejectedEvent {
  return { index, error: errorRow(condition).error, message };
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
