import { createSerializer } from "../contract/serializer.ts";
import { EventResult, type PresentedEvent } from "./events.contract.ts";

/** The reason why a stream begins again (spec/streams#reset-a-stream). */
export type ResetReason = "expired" | "log" | "cursor";

/** The reason why the server ends a stream (spec/streams#end-of-a-stream). */
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

/** Line breaks of JSON that a client has stored stand between its tokens. */
function oneLine(json: string): string {
  return /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, " ") : json;
}
