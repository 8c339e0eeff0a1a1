import { createSerializer } from "../contract/serializer.ts";
import { EventResult, type PresentedEvent } from "./events.contract.ts";

/** Why the client of a stream must read all data again (spec/streams#reset-a-stream). */
export type ResetReason = "expired" | "log" | "cursor";

/** Why the server closes a stream (spec/streams#end-of-a-stream). */
export type ByeReason =
  | "tokenEnded"
  | "tokenExpired"
  | "suspended"
  | "disabled"
  | "lifetime"
  | "slow"
  | "shutdown"
  | "busy";

const writeEvent = createSerializer(EventResult);

export function eventFrame(cursor: string, event: PresentedEvent): Buffer {
  return Buffer.from(`id: ${cursor}\ndata: ${oneLine(writeEvent(event))}\n\n`);
}

/** Advances the client's Last-Event-ID without running any of its code. */
export function heartbeatFrame(cursor: string): Buffer {
  return Buffer.from(`id: ${cursor}\n\n`);
}

export function readyFrame(
  cursor: string,
  { retryMs, isResumed, heartbeatMs }: { retryMs: number; isResumed: boolean; heartbeatMs: number },
): Buffer {
  const data = JSON.stringify({ cursor, isResumed, heartbeatSeconds: heartbeatMs / 1_000 });
  return Buffer.from(`retry: ${retryMs}\n\nevent: ready\nid: ${cursor}\ndata: ${data}\n\n`);
}

export function resetFrame(cursor: string, reason: ResetReason): Buffer {
  return Buffer.from(`event: reset\nid: ${cursor}\ndata: ${JSON.stringify({ reason })}\n\n`);
}

export function byeFrame(reason: ByeReason, retryMs: number): Buffer {
  return Buffer.from(`retry: ${retryMs}\nevent: bye\ndata: ${JSON.stringify({ reason })}\n\n`);
}

/** Replaces line breaks in JSON that a client has stored; they can only be white space between tokens. */
function oneLine(json: string): string {
  return /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, " ") : json;
}
