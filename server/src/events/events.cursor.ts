import type { Cursor } from "../event-log/cursors.ts";
import type { EventLog } from "../event-log/event-log.ts";
import { ApiError } from "../lib/errors.ts";

/** Reads the parameter `after` (spec/events#cursors). @throws ApiError ParameterIncorrectFormat */
export function openCursor(applicationId: string, after: string, eventLog: Pick<EventLog, "open">): Cursor {
  const cursor = eventLog.open(applicationId, after);
  if (cursor !== undefined) return cursor;
  throw new ApiError("ParameterIncorrectFormat", "after must be a token of this application's events.", {
    parameter: "after",
  });
}
