import type { Caller } from "../contract/route.ts";
import type { StreamSink } from "../contract/stream-result.ts";
import type { Timed } from "../lib/timer-wheel.ts";
import { type ByeReason, byeFrame, type ResetReason } from "./events.frames.ts";
import type { EventFilter } from "./events.reading.ts";

/** A stream is paused when its client has this many unread bytes. */
const waitingBytesMax = 65_536;

/** The position of a stream at the end of the log; the channel has the shared one. */
export const live = -1;

/** One open stream. */
export class EventStream {
  /** The client that opened the stream, with the policy at that time. */
  readonly caller: Caller;
  readonly filters: readonly EventFilter[];
  /** Equal for streams with equal filters. */
  readonly interest: string;
  readonly sink: StreamSink;
  /** A position up to which all events were sent, or {@link live}. */
  position = live;
  /** The reason of a reset message that is not sent yet. */
  resetReason: ResetReason | undefined;
  /** True while the client has too many unread bytes. */
  isBlocked = false;
  /** When a blocked client last read bytes, and the number of unread bytes at that time. */
  readAt = 0;
  unreadBytes = 0;
  isEnded = false;
  /** The entries in the timer wheels of `events.streams.ts`. */
  readonly beat: StreamTimer;
  readonly end: StreamTimer;

  /** When the caller's permission expires, by the clock of the process. */
  readonly expiresAt: number;
  /** When the client has to reconnect, in `performance.now()` milliseconds. */
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

  /** @returns false if the client has too many unread bytes */
  send(frame: Uint8Array): boolean {
    if (this.sink.waitingBytes >= waitingBytesMax) return false;
    this.sink.write(frame);
    return true;
  }

  /** Sends a goodbye message, and disconnects a client that does not read. */
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
