import type { Caller } from "../contract/route.ts";
import type { StreamSink } from "../contract/stream-result.ts";
import type { Timed } from "../lib/timer-wheel.ts";
import { type ByeReason, byeFrame, type ResetReason } from "./events.frames.ts";
import type { EventFilter } from "./events.reading.ts";

/** A stream is stopped when its client has more unread bytes than this. */
const waitingBytesMax = 65_536;

/** A stream at the end of the log has no position of its own. */
export const live = -1;

/** One open stream. */
export class EventStream {
  /** The client that opened it, with the policy of that moment. */
  readonly caller: Caller;
  readonly filters: readonly EventFilter[];
  /** Equal for streams with equal conditions. */
  readonly interest: string;
  readonly sink: StreamSink;
  /** The position up to which events were sent, at least; or {@link live}. */
  position = live;
  /** Why it has to begin again, as soon as its client can be told. */
  resetReason: ResetReason | undefined;
  /** Its client has not read the bytes that were sent. */
  isBlocked = false;
  /** When a blocked client last read bytes, and the bytes that were unread then. */
  readAt = 0;
  unreadBytes = 0;
  isEnded = false;
  /** In the wheels of `events.streams.ts`. */
  readonly beat: StreamTimer;
  readonly end: StreamTimer;

  /** When the permission of the caller ends, by the clock of the process. */
  readonly expiresAt: number;
  /** When its client has to connect again, in `performance.now()` milliseconds. */
  readonly lastsUntil: number;

  constructor(
    caller: Caller,
    filters: readonly EventFilter[],
    sink: StreamSink,
    { expiresAt, lastsUntil }: { readonly expiresAt: number; readonly lastsUntil: number },
  ) {
    this.caller = caller;
    this.filters = filters;
    this.interest = JSON.stringify(filters.map(({ conditions }) => conditions));
    this.sink = sink;
    this.expiresAt = expiresAt;
    this.lastsUntil = lastsUntil;
    this.beat = { slot: 0, stream: this };
    this.end = { slot: 0, stream: this };
  }

  /** @returns false if the client must read first */
  send(frame: Uint8Array): boolean {
    if (this.sink.waitingBytes >= waitingBytesMax) return false;
    this.sink.write(frame);
    return true;
  }

  /** Sends a goodbye message. A client that reads nothing is disconnected. */
  finish(reason: ByeReason, retryMs: number): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.sink.end(byeFrame(reason, retryMs));
    if (this.sink.waitingBytes >= waitingBytesMax) this.sink.cut();
  }
}

export interface StreamTimer extends Timed {
  readonly stream: EventStream;
}
