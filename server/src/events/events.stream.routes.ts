import type { Call } from "../contract/call.ts";
import type { Caller } from "../contract/route.ts";
import { StreamResult } from "../contract/stream-result.ts";
import { ApiError } from "../errors.ts";
import type { Cursor } from "../event-log/cursors.ts";
import { operation } from "../operation.ts";
import type { Services } from "../services.ts";
import { EventStreamBody, StreamEvents } from "./events.contract.ts";
import type { ResetReason } from "./events.frames.ts";
import { createFilter } from "./events.reading.ts";
import { streamRoute } from "./events.streams.ts";

/** The head of every stream: no cache and no proxy may hold it back. */
const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

const streamEvents = operation({
  method: "GET",
  path: streamRoute.path,
  operation: "streamEvents",
  summary: "Receive changes as they happen",
  description:
    "Answers with Server-Sent Events until one side ends the stream. A client that connects again sends the last `id` as `Last-Event-ID`, and misses nothing.",
  tag: "Events",
  caller: "device",
  isBatchable: false,
  parameters: StreamEvents,
  status: 200,
  result: EventStreamBody,
  errors: [],
  async handle({ caller, parameters, call }, services) {
    const { after, ...filters } = parameters;
    const filter = createFilter(filters, caller);
    const start = await findStart(caller, { after, call }, services);
    return new StreamResult(streamHeaders, () => {
      const release = services.streams.take(caller);
      const request = { caller, filters: [filter], ...start, expiresAt: caller.tokenExpiresAt };
      return (sink) => services.streams.open(request, sink, release);
    });
  },
});

/** Changes as they happen (spec/streams). */
export const streamOperations = [streamEvents];

interface Start {
  readonly from: Cursor;
  readonly end: Cursor;
  readonly isResumed: boolean;
  readonly resetReason?: ResetReason;
}

/** @throws ApiError ParameterIncorrectFormat for a wrong `after`; a wrong Last-Event-ID is a reset, because browsers send it again */
async function findStart(
  { applicationId }: Caller,
  { after, call }: { readonly after: string | undefined; readonly call: Call },
  { eventLog }: Services,
): Promise<Start> {
  const given = call.lastEventId || after;
  const cursor = given === undefined ? undefined : eventLog.open(applicationId, given);
  if (cursor === undefined && given !== undefined && given === after) {
    throw new ApiError("ParameterIncorrectFormat", "after must be a token of this application's events.", {
      parameter: "after",
    });
  }
  const end = await eventLog.findEnd(applicationId);
  const isFresh = { from: end, end, isResumed: false };
  if (given === undefined) return isFresh;
  if (cursor === undefined) return { ...isFresh, resetReason: "cursor" };
  if (cursor.log !== end.log) return { ...isFresh, resetReason: "log" };
  if (await eventLog.reachesBackTo(applicationId, cursor, end)) return { from: cursor, end, isResumed: true };
  return { ...isFresh, resetReason: cursor.position > end.position ? "log" : "expired" };
}
