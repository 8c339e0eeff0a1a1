import type { Call } from "../contract/call.ts";
import { compileParameters } from "../contract/parameters.ts";
import type { Caller } from "../contract/route.ts";
import { readWireValue } from "../contract/wire.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { ApiError, errorRow } from "../lib/errors.ts";
import { spans } from "../lib/spans.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import {
  closeHandle,
  elapsedName,
  type InboxPayload,
  insertHandle,
  insertInboxRow,
  type StoredEvent,
  writePayload,
} from "./engine/inbox.store.ts";
import type { CheckedKeys } from "./engine/keys.ts";
import {
  CreatedEvent,
  CreatedEvents,
  CreateEvent,
  CreateEventPath,
  CreateEvents,
  EndedEvent,
  EventItem,
  EventPath,
  eventsPerCallMax,
  type RejectedEvent,
  ValueName,
  ValueText,
  valuesPerEventMax,
} from "./metrics.contract.ts";

type Scalar = string | number | boolean;

/**
 * Returns the values of an event in stored form: those of `values`, and a scalar `value` under the name "value".
 * Shipped clients send an object in `value`, so it is read like `values`, and takes precedence for a name in both.
 *
 * @throws ApiError RequestTooLarge, ParameterIncorrectFormat, ParameterOutOfRange
 */
function readValues({ value, values }: Pick<EventItem, "value" | "values">): Scalar[] {
  const isScalar = typeof value !== "object";
  const preferred = isScalar ? undefined : value;
  const read: Scalar[] = [];
  for (const [name, given] of Object.entries(values ?? {})) {
    if (isScalar ? value !== undefined && name === "value" : isGiven(preferred, name)) continue;
    if (given !== null) read.push(readName("values", name), readScalar("values", name, given));
  }
  for (const [name, given] of Object.entries(preferred ?? {})) {
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

const ageMaxMs = 30 * spans.day;
const aheadMaxMs = 10 * 60_000;

const readItem = compileParameters(EventItem);

/**
 * Validates the events of one call independently. Timestamps come from the device's clock, so each is corrected by the
 * offset of this clock when the device sent the call.
 *
 * @returns `indexes` of the events among the items
 * @throws ApiError RequestTooLarge
 */
function readEvents(
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

function presentRejection(index: number, { condition, message }: ApiError): RejectedEvent {
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

/** A larger event counts as several against the limits. This is about the size of an event with ten values. */
const bytesPerEvent = 1_024;

function payloadOf(
  { applicationId, deviceId, userId }: Caller,
  events: readonly StoredEvent[],
  { saltedHashes }: Services,
): InboxPayload {
  return {
    device: saltedHashes.of(applicationId, deviceId),
    user: userId === undefined ? null : saltedHashes.of(applicationId, userId),
    events,
  };
}

/** Counts events against the limits of the caller, a large one as several. @throws RateLimitExceeded */
async function admit(
  call: Call,
  caller: Caller,
  eventCount: number,
  payload: string,
  { rateLimits }: Services,
): Promise<void> {
  const eventsOfSize = Math.ceil(Buffer.byteLength(payload) / bytesPerEvent);
  await rateLimits.admitEvents(call, caller, Math.max(eventCount, eventsOfSize));
}

function noteStored(
  applicationId: string,
  eventCount: number,
  payload: string,
  { compactor, metricBytes }: Services,
): void {
  compactor.note(applicationId, eventCount);
  metricBytes.add(applicationId, Buffer.byteLength(payload));
}

const createEvent = operation({
  method: "POST",
  path: "/metrics/events/{event}",
  operation: "createMetricEvent",
  summary: "Report an event; with timeoutInSeconds, a timed one",
  description: "Stores one event with its values. A timed event is ended by a second call.",
  tag: "Metrics",
  caller: "device",
  pathParameters: CreateEventPath,
  parameters: CreateEvent,
  status: 201,
  result: CreatedEvent,
  errors: [],
  async handle({ call, caller, path: { event: key }, parameters }, services) {
    const { keyLimits, metricBytes, database, clock, ids } = services;
    const { applicationId: application_id, deviceId, userId } = caller;
    const { timestamp, timeoutInSeconds } = parameters;
    const now = clock.now();
    const occurredAt = timestamp ?? now;
    const payload = writePayload(payloadOf(caller, [[key, occurredAt, ...readValues(parameters)]], services));
    await admit(call, caller, 1, payload, services);
    metricBytes.require(application_id);
    const checked = await keyLimits.check(caller, new Set([key]));
    throwRefused(checked.refused, key);
    const id = ids.newId("MetricEvent");
    await database.write(
      async (transaction) => {
        const { queries, afterCommit } = transaction;
        throwRefused(await keyLimits.add(application_id, checked, transaction), key);
        afterCommit(() => noteStored(application_id, 1, payload, services));
        await insertHandle(
          {
            application_id,
            id,
            key,
            device_id: deviceId,
            user_id: userId ?? null,
            occurred_at: occurredAt,
            started_at: now,
            expires_at: timeoutInSeconds === undefined ? null : now + timeoutInSeconds * 1000,
            ended_at: null,
          },
          queries,
        ).catch((error) => {
          // The user was deleted after the token check.
          throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
        });
        await insertInboxRow({ application_id, id, received_at: now, payload }, queries);
      },
      { addsTo: application_id },
    );
    return { id, success: true as const };
  },
});

const createEvents = operation({
  method: "POST",
  path: "/metrics/events",
  operation: "createMetricEvents",
  summary: "Report events that a device collected while it was offline",
  description:
    "Accepts the valid events, and lists the others. Dates are corrected by sentAt if the clock of the device is wrong.",
  tag: "Metrics",
  caller: "device",
  parameters: CreateEvents,
  sendingTime: "sentAt",
  status: 201,
  result: CreatedEvents,
  errors: [],
  async handle({ call, caller, parameters: { events: items, sentAt } }, services) {
    const now = services.clock.now();
    const { events, indexes, rejected } = readEvents(items, { sentAt, now });
    const payload = writePayload(payloadOf(caller, events, services));
    await admit(call, caller, items.length, payload, services);
    if (events.length === 0) return { accepted: 0, rejected };
    services.metricBytes.require(caller.applicationId);
    const refused = await storeEvents(caller, events, payload, now, services);
    if (refused.size === 0) return { accepted: events.length, rejected };
    const before = rejected.length;
    for (const [index, [key]] of events.entries()) {
      const error = refused.get(key);
      if (error !== undefined) rejected.push(presentRejection(indexes[index] ?? index, error));
    }
    const accepted = events.length - (rejected.length - before);
    return { accepted, rejected: rejected.sort((one, other) => one.index - other.index) };
  },
});

/** Stores the events of one request. @returns the refused keys, whose events were not stored */
async function storeEvents(
  caller: Caller,
  events: readonly StoredEvent[],
  payload: string,
  now: number,
  services: Services,
): Promise<CheckedKeys["refused"]> {
  const { applicationId } = caller;
  const { keyLimits, compactor, database, ids } = services;
  const checked = await keyLimits.check(caller, new Set(events.map(([key]) => key)));
  const relief = compactor.reduceBacklog(applicationId);
  // Never waits inside a transaction: the compaction that frees space may be waiting for that transaction.
  if (relief !== undefined) await database.outsideTransaction("room for events", () => relief);
  const row = { application_id: applicationId, id: ids.newId("MetricEvent"), received_at: now };
  return database.write(
    async (transaction) => {
      const { queries, afterCommit } = transaction;
      const refused = await keyLimits.add(applicationId, checked, transaction);
      const taken = refused.size === 0 ? events : events.filter(([key]) => !refused.has(key));
      if (taken.length === 0) return refused;
      const isWhole = taken.length === events.length;
      const stored = isWhole ? payload : writePayload(payloadOf(caller, taken, services));
      afterCommit(() => noteStored(applicationId, taken.length, stored, services));
      await insertInboxRow({ ...row, payload: stored }, queries);
      return refused;
    },
    { addsTo: applicationId },
  );
}

const endEvent = operation({
  method: "DELETE",
  path: "/metrics/events/{event}",
  operation: "endMetricEvent",
  summary: "End a timed event and return its duration",
  description: "Stores the time since the event was reported.",
  tag: "Metrics",
  caller: "device",
  pathParameters: EventPath,
  status: 200,
  result: EndedEvent,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { event: id } }, services) {
    const { database, compactor, clock, ids } = services;
    const { applicationId } = caller;
    const now = clock.now();
    const elapsedTimeInMs = await database.write(async ({ queries, afterCommit }) => {
      afterCommit(() => compactor.note(applicationId, 1));
      const ended = await closeHandle(applicationId, id, caller, now, queries);
      if (ended === undefined) throw new ApiError("ItemDoesNotExist");
      const elapsedMs = now - ended.started_at;
      const events: StoredEvent[] = [[ended.key, ended.occurred_at, elapsedName, elapsedMs]];
      const payload = writePayload({ ...payloadOf(caller, events, services), isEnd: true });
      const row = { application_id: applicationId, id: ids.newId("MetricEvent"), received_at: now, payload };
      await insertInboxRow(row, queries);
      return elapsedMs;
    });
    return { elaspedTimeInMs: elapsedTimeInMs, elapsedTimeInMs };
  },
});

/** @throws the error of the key */
function throwRefused(refused: CheckedKeys["refused"], key: string): void {
  const error = refused.get(key);
  if (error !== undefined) throw error;
}

/**
 * Devices report events (spec/metrics#reporting). Events are stored in the inbox as they arrive; the compaction makes
 * them readable.
 */
export const metricOperations = [createEvent, createEvents, endEvent];
