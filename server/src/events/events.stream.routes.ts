import type { Call } from "../contract/call.ts";
import { compileParameters } from "../contract/parameters.ts";
import type { Caller } from "../contract/route.ts";
import type { Static } from "../contract/schema.ts";
import { StreamResult } from "../contract/stream-result.ts";
import type { Cursor } from "../event-log/cursors.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { between } from "../lib/random.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import {
  CreateEventStream,
  EventFilterShape,
  type EventFilters,
  EventStreamBody,
  expirySecondsDefault,
  StreamEvents,
  type StreamParameters,
  StreamTicketResult,
  subscriptionsMax,
} from "./events.contract.ts";
import { openCursor } from "./events.forwards.ts";
import { byeFrame, type ResetReason } from "./events.frames.ts";
import { createFilter, type EventFilter } from "./events.reading.ts";
import { streamRoute } from "./events.streams.ts";
import type { Ticket } from "./events.tickets.ts";

const readSubscription = compileParameters(EventFilterShape);

/**
 * Reads the filters of a stream: one from its parameters, or one per subscription.
 *
 * @throws ApiError ParameterIncorrectFormat, ParameterOutOfRange
 */
function readSubscriptions(
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

/** The headers of every stream, which keep caches and proxies from delaying it. */
const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
  "referrer-policy": "no-referrer", // the URL may contain a ticket
};

/** The limit for the parameters of a ticket, which its URL contains as JSON. */
const ticketBytesMax = 2_048;
/** When a browser reconnects after a temporary refusal. */
const busyMsMin = 5_000;
const busyMsMax = 60_000;

const streamEvents = operation({
  method: "GET",
  path: streamRoute.path,
  operation: "streamEvents",
  summary: "Receive changes as they happen",
  description:
    "Sends Server-Sent Events until either side closes the stream. A client that connects again with the last `id` as `Last-Event-ID` misses no event.",
  tag: "Events",
  caller: "device",
  isBatchable: false,
  parameters: StreamEvents,
  status: 200,
  result: EventStreamBody,
  errors: ["AuthUserAccessTokenRequired"],
  ticket: {
    open: async (ticket, { tickets }) => (await tickets.open(ticket)).caller,
    busy: () => ({ headers: streamHeaders, body: byeFrame("busy", Math.round(between(busyMsMin, busyMsMax))) }),
  },
  async handle({ caller, parameters, call }, services) {
    const { ticket, ...given } = parameters;
    const opened = ticket === undefined ? undefined : await services.tickets.open(ticket);
    const stored = opened && readTicketParameters(opened.parameters);
    const { after, ...conditions } = stored === undefined ? given : { ...stored, after: given.after ?? stored.after };
    const filters = readSubscriptions(conditions, caller);
    const start = await findStart(caller, { after, call }, services);
    return new StreamResult(streamHeaders, () => {
      const release = services.streams.acquire(caller);
      const request = {
        ...{ caller, filters, ...start },
        ...{ expiresAt: caller.tokenExpiresAt, recheckAt: opened?.sessionEndsAt },
      };
      return (sink) => services.streams.open(request, sink, release);
    });
  },
});

const createEventStream = operation({
  method: "POST",
  path: "/events/streams",
  operation: "createEventStream",
  summary: "Create a url that opens streams",
  description: "For EventSource, which cannot send a token. The url is valid as long as the session of the token.",
  tag: "Events",
  caller: "device",
  parameters: CreateEventStream,
  status: 201,
  result: StreamTicketResult,
  errors: ["AuthUserAccessTokenRequired"],
  async handle({ caller, parameters, call }, { tickets, eventLog, clock, serverUrl }) {
    const { expiresInSeconds = expirySecondsDefault, after, ...conditions } = parameters;
    readSubscriptions(conditions, caller);
    if (after !== undefined) openCursor(caller.applicationId, after, eventLog);
    // The raw parameters, because parsed ones cannot be parsed again.
    const stored = Object.fromEntries([...call.readParameters()].filter(([name]) => isOfStream(name)));
    if (Buffer.byteLength(JSON.stringify(stored)) > ticketBytesMax) {
      throw new ApiError("RequestTooLarge", `The parameters of a url may have ${ticketBytesMax} bytes.`);
    }
    const wantedUntil = clock.now() + expiresInSeconds * 1_000;
    // A device token is not renewed.
    const expiresAt = caller.userId === undefined ? Math.min(wantedUntil, caller.tokenExpiresAt) : wantedUntil;
    const url = `${serverUrl()}${streamRoute.path}?ticket=${tickets.seal(caller, stored, expiresAt)}`;
    return { url, expires: formatDate(expiresAt) };
  },
});

const readStream = compileParameters(StreamEvents);

function readTicketParameters(stored: Ticket["parameters"]): Omit<Static<typeof StreamEvents>, "ticket"> {
  const { ticket: _, ...read } = readStream(Object.entries(stored));
  return read;
}

const streamNames = new Set(
  Object.keys(StreamEvents.properties)
    .filter((name) => name !== "ticket")
    .map((name) => name.toLowerCase()),
);

function isOfStream(name: string): boolean {
  return streamNames.has(name.toLowerCase());
}

/** Changes as they happen (spec/streams). */
export const streamOperations = [streamEvents, createEventStream];

interface Start {
  readonly from: Cursor;
  readonly end: Cursor;
  readonly isResumed: boolean;
  readonly resetReason?: ResetReason;
}

/**
 * An unreadable Last-Event-ID causes a reset instead of an error, because a browser would send it again.
 * @throws ApiError ParameterIncorrectFormat
 */
async function findStart(
  caller: Caller,
  { after, call }: { readonly after: string | undefined; readonly call: Call },
  { eventLog }: Services,
): Promise<Start> {
  const { applicationId } = caller;
  const last = call.lastEventId === "" ? undefined : call.lastEventId;
  const cursor =
    last === undefined ? after && openCursor(applicationId, after, eventLog) : eventLog.open(applicationId, last);
  const end = await eventLog.findSharedEnd(applicationId);
  const fresh = { from: end, end, isResumed: false };
  if (typeof cursor === "object") {
    const resetReason = await eventLog.findSharedGap(applicationId, cursor, end);
    return resetReason === undefined ? { from: cursor, end, isResumed: true } : { ...fresh, resetReason };
  }
  return last === undefined ? fresh : { ...fresh, resetReason: "cursor" };
}
