import type { Database } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { ApiError } from "../errors.ts";
import { type Caller, type Route, route } from "../http/route.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Compactor } from "./metrics.compactor.ts";
import {
  CreatedEvent,
  CreatedEvents,
  CreateEvent,
  CreateEventPath,
  CreateEvents,
  EndedEvent,
  EventPath,
} from "./metrics.contract.ts";
import { elapsedName, type InboxPayload, type StoredEvent, writePayload } from "./metrics.payload.ts";
import type { Pseudonyms } from "./metrics.pseudonyms.ts";
import { readEvents, readValues } from "./metrics.reading.ts";
import { insertHandle, insertInboxRow, updateHandleEnded } from "./metrics.store.ts";

/** Events that apps report (surface.md section 9). They are put down as they come; the compaction makes them readable. */
export function metricsRoutes(services: {
  readonly database: Database;
  readonly pseudonyms: Pseudonyms;
  readonly compactor: Compactor;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, pseudonyms, compactor, clock, ids } = services;

  function payloadOf({ applicationId, deviceId, userId }: Caller, events: readonly StoredEvent[]): InboxPayload {
    return {
      device: pseudonyms.of(applicationId, deviceId),
      user: userId === undefined ? null : pseudonyms.of(applicationId, userId),
      events,
    };
  }

  const createEvent = route({
    method: "POST",
    path: "/metrics/events/{key}",
    operation: "createMetricEvent",
    summary: "Report an event; with timeoutInSeconds a timed one",
    tag: "Metrics",
    caller: "device",
    pathParameters: CreateEventPath,
    parameters: CreateEvent,
    status: 201,
    result: CreatedEvent,
    errors: [],
    async handle({ caller, path: { key }, parameters }) {
      const { applicationId: application_id, deviceId, userId } = caller;
      const { timestamp, timeoutInSeconds } = parameters;
      const now = clock.now();
      const occurredAt = timestamp ?? now;
      const payload = writePayload(payloadOf(caller, [[key, occurredAt, ...readValues(parameters)]]));
      const id = ids.newId("MetricEvent");
      await database.write(async ({ queries, afterCommit }) => {
        afterCommit(() => compactor.note(application_id, 1));
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
          // The user has been deleted since the token was checked.
          throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
        });
        await insertInboxRow({ application_id, id, received_at: now, payload }, queries);
      });
      return { id, success: true as const };
    },
  });

  const createEvents = route({
    method: "POST",
    path: "/metrics/events",
    operation: "createMetricEvents",
    summary: "Report events that a device gathered while it was offline",
    tag: "Metrics",
    caller: "device",
    parameters: CreateEvents,
    status: 201,
    result: CreatedEvents,
    errors: [],
    async handle({ caller, parameters: { events: items, sentAt } }) {
      const now = clock.now();
      const { events, rejected } = readEvents(items, { sentAt, now });
      if (events.length > 0) {
        const { applicationId } = caller;
        const room = compactor.makeRoom(applicationId);
        // Nobody may wait for room in a transaction that what makes room waits for.
        if (room !== undefined) await database.apart("room for events", () => room);
        const row = {
          application_id: applicationId,
          id: ids.newId("MetricEvent"),
          received_at: now,
          payload: writePayload(payloadOf(caller, events)),
        };
        await database.write(({ queries, afterCommit }) => {
          afterCommit(() => compactor.note(applicationId, events.length));
          return insertInboxRow(row, queries);
        });
      }
      return { accepted: events.length, rejected };
    },
  });

  const endEvent = route({
    method: "DELETE",
    path: "/metrics/events/{id}",
    operation: "endMetricEvent",
    summary: "End an event that one has reported; tells how long it took",
    tag: "Metrics",
    caller: "device",
    pathParameters: EventPath,
    status: 200,
    result: EndedEvent,
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: { id } }) {
      const { applicationId } = caller;
      const now = clock.now();
      const elapsedTimeInMs = await database.write(async ({ queries, afterCommit }) => {
        afterCommit(() => compactor.note(applicationId, 1));
        const ended = await updateHandleEnded(applicationId, id, caller, now, queries);
        if (ended === undefined) throw new ApiError("ItemDoesNotExist");
        const elapsedMs = now - ended.started_at;
        const events: StoredEvent[] = [[ended.key, ended.occurred_at, elapsedName, elapsedMs]];
        const payload = writePayload({ ...payloadOf(caller, events), isEnd: true });
        const row = { application_id: applicationId, id: ids.newId("MetricEvent"), received_at: now, payload };
        await insertInboxRow(row, queries);
        return elapsedMs;
      });
      return { elaspedTimeInMs: elapsedTimeInMs, elapsedTimeInMs };
    },
  });

  return [createEvent, createEvents, endEvent];
}
