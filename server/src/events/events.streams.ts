import type { Config } from "../config/config.ts";
import { type ApplicationPolicy, requireEnabled } from "../contract/policy.ts";
import type { Caller, OperatorCaller } from "../contract/route.ts";
import type { StreamSink } from "../contract/stream-result.ts";
import type { Cursor } from "../event-log/cursors.ts";
import { ApiError } from "../lib/errors.ts";
import { durationBounds, Histogram } from "../lib/histogram.ts";
import { between } from "../lib/random.ts";
import { TimerWheel } from "../lib/timer-wheel.ts";
import { EventChannel, type StreamServices } from "./events.channel.ts";
import { type ByeReason, heartbeatFrame, type ResetReason, readyFrame, resetFrame } from "./events.frames.ts";
import type { EventFilter } from "./events.reading.ts";
import { EventStream, type StreamTimer } from "./events.stream.ts";

/** A validated request to open a stream. */
export interface StreamRequest {
  readonly caller: Caller;
  readonly filters: readonly EventFilter[];
  /** The position from which the stream resumes. */
  readonly from: Cursor;
  /** The end of the log, at or after `from`. */
  readonly end: Cursor;
  readonly isResumed: boolean;
  readonly resetReason?: ResetReason | undefined;
  /** When the caller's permission expires, by the clock of the process. */
  readonly expiresAt: number;
  /** When the permission has to be checked again, because it may be revoked earlier. */
  readonly recheckAt?: number | undefined;
}

/** The open streams of a process (spec/streams). */
export interface Streams {
  /**
   * Counts a stream, or a call that waits for events, until the returned function is called.
   *
   * @throws ApiError RateLimitExceeded
   */
  acquire(caller: Caller | OperatorCaller): () => void;
  /** @param release the function that `acquire` has returned */
  open(request: StreamRequest, sink: StreamSink, release: () => void): void;
  /** Counts events that a call returned. */
  notePulled(count: number): void;
  statistics(): StreamStatistics;
  /** Closes all streams; their clients reconnect to another process, or later. */
  close(): void;
}

export interface StreamStatistics {
  readonly live: number;
  /** The number of streams that are catching up, or wait for their clients to read. */
  readonly behind: number;
  /** The number of calls that wait for events, which count as streams. */
  readonly waiting: number;
  /** The time from the write of an event until it is written to the connections. */
  readonly toldSeconds: Histogram;
  readonly frames: number;
  readonly pulled: number;
}

export const streamRoute = { method: "GET", path: "/events/stream" };

const deviceStreamsMax = 10;
const userStreamsMax = 50;
const operatorWaitsMax = 50;
/** The resolution of times. */
const stepMs = 250;
/** A client that reads nothing for this time is disconnected. */
const slowMs = 30_000;
/** The interval at which every token is checked and recording is extended, as a fallback. */
const confirmationMs = 60_000;

export function createStreams(config: StreamConfig, services: StreamServices): Streams {
  return new OpenStreams(config, services);
}

type StreamConfig = Pick<Config, "streamsMax" | "streamHeartbeatMs" | "streamLifetimeMs">;

class OpenStreams implements Streams {
  readonly #config: StreamConfig;
  readonly #services: StreamServices;
  readonly #channels = new Map<string, EventChannel>();
  /** The number of streams and waiting calls by the keys of their limits. */
  readonly #counts = new Map<string, number>();
  readonly #beats = new TimerWheel<StreamTimer>(stepMs);
  readonly #ends = new TimerWheel<StreamTimer>(stepMs);
  readonly #toldSeconds = new Histogram(durationBounds);
  #frames = 0;
  #pulled = 0;
  #streamCount = 0;
  #openCount = 0;
  #confirmedAt = performance.now();
  #ticker: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(config: StreamConfig, services: StreamServices) {
    this.#config = config;
    this.#services = services;
  }

  acquire(caller: Caller | OperatorCaller): () => void {
    const { streamsMax } = this.#config;
    const keys = "operatorId" in caller ? limitsOfOperator(caller) : limitsOf(caller, streamsMax);
    if (this.#isClosed || this.#streamCount >= streamsMax) throw tooMany("The process", streamsMax);
    for (const [key, max, owner] of keys) if ((this.#counts.get(key) ?? 0) >= max) throw tooMany(owner, max);
    const change = (by: 1 | -1) => {
      this.#streamCount += by;
      for (const [key] of keys) {
        const count = (this.#counts.get(key) ?? 0) + by;
        if (count > 0) this.#counts.set(key, count);
        else this.#counts.delete(key);
      }
    };
    change(1);
    let isHeld = true;
    return () => {
      if (isHeld) change(-1);
      isHeld = false;
    };
  }

  open(request: StreamRequest, sink: StreamSink, release: () => void): void {
    const { caller, filters, from, end: logEnd, isResumed, resetReason, expiresAt, recheckAt } = request;
    const { streamHeartbeatMs: heartbeatMs, streamLifetimeMs: lifetimeMs } = this.#config;
    const channel = this.#channelOf(caller.applicationId, logEnd);
    const now = performance.now();
    const lastsUntil = now + lifetimeMs * between(0.9, 1.1);
    const stream = new EventStream(caller, filters, sink, { expiresAt, lastsUntil });
    this.#openCount += 1;
    sink.onClose(() => this.#forget(stream, channel, release));
    const cursor = this.#services.eventLog.seal(caller.applicationId, from);
    stream.send(readyFrame(cursor, { retryMs: retry(), isResumed, heartbeatMs }));
    if (resetReason !== undefined) stream.send(resetFrame(cursor, resetReason));
    channel.add(stream, from);
    this.#beats.set(stream.beat, Math.min(now + between(heartbeatMs / 2, heartbeatMs), lastsUntil));
    this.#ends.set(stream.end, Math.min(expiresAt, recheckAt ?? expiresAt));
    this.#ticker ??= setInterval(() => this.#tick(), stepMs).unref();
    if (this.#isClosed) end(stream, "shutdown");
  }

  notePulled(count: number): void {
    this.#pulled += count;
  }

  statistics(): StreamStatistics {
    const behind = [...this.#channels.values()].reduce((sum, { behindCount }) => sum + behindCount, 0);
    return {
      live: this.#openCount - behind,
      behind,
      waiting: this.#streamCount - this.#openCount,
      toldSeconds: this.#toldSeconds,
      frames: this.#frames,
      pulled: this.#pulled,
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const channel of this.#channels.values()) {
      for (const stream of [...channel.streams()]) end(stream, "shutdown");
    }
  }

  #channelOf(applicationId: string, logEnd: Cursor): EventChannel {
    const hooks = {
      end,
      refusalOf,
      delivered: ({ at }: { readonly at: number }, count: number) => this.#countDelivered(at, count),
      extendRecording: (channel: EventChannel) => this.#extendRecording(channel),
    };
    return this.#channels.getOrInsertComputed(
      applicationId,
      () => new EventChannel(applicationId, logEnd, this.#services, hooks),
    );
  }

  #countDelivered(at: number, count: number): void {
    this.#frames += count;
    this.#toldSeconds.observe(Math.max(0, this.#services.clock.now() - at) / 1_000);
  }

  #forget(stream: EventStream, channel: EventChannel, release: () => void): void {
    stream.isEnded = true;
    this.#openCount -= 1;
    this.#beats.delete(stream.beat);
    this.#ends.delete(stream.end);
    channel.remove(stream);
    release();
    if (channel.size === 0 && this.#channels.get(channel.applicationId) === channel) {
      this.#channels.delete(channel.applicationId);
      channel.close();
    }
    if (this.#openCount > 0) return;
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  /** Runs every `stepMs` for all streams. */
  #tick(): void {
    const now = performance.now();
    for (const { stream } of this.#ends.takeDue(this.#services.clock.now())) this.#endOrRecheck(stream);
    for (const { stream } of this.#beats.takeDue(now)) this.#beat(stream, now);
    for (const channel of this.#channels.values()) closeSlow(channel, now);
    if (now - this.#confirmedAt < confirmationMs) return;
    this.#confirmedAt = now;
    for (const channel of this.#channels.values()) this.#confirmChannel(channel);
  }

  /** Closes an expired stream; rechecks a stream with a ticket, whose session may have been renewed. */
  #endOrRecheck(stream: EventStream): void {
    if (stream.expiresAt <= this.#services.clock.now()) {
      end(stream, "tokenExpired");
      return;
    }
    this.#ends.set(stream.end, stream.expiresAt); // the periodic confirmation detects a session that is not renewed later
    this.#channels.get(stream.caller.applicationId)?.recheck(stream);
  }

  #beat(stream: EventStream, now: number): void {
    if (stream.isEnded) return;
    if (now >= stream.lastsUntil) {
      end(stream, "lifetime");
      return;
    }
    const channel = this.#channels.get(stream.caller.applicationId);
    if (channel !== undefined && !stream.isBlocked) stream.send(heartbeatFrame(channel.cursorOf(stream)));
    this.#beats.set(stream.beat, Math.min(now + this.#config.streamHeartbeatMs, stream.lastsUntil));
  }

  /** Extends the recording, and checks all tokens, because a revocation may have gone unreported. */
  #confirmChannel(channel: EventChannel): void {
    channel.invalidate();
    this.#extendRecording(channel);
  }

  /** Extends the recording, and closes the streams of an application that no longer records events. */
  #extendRecording(channel: EventChannel): void {
    const { eventLog, log } = this.#services;
    eventLog.findEnd(channel.applicationId).catch((err) => {
      if (!(err instanceof ApiError)) log.error({ err }, "the log of events could not be kept open");
      else if (err.condition === "AuthAPICallDisabledByDeveloper") {
        for (const stream of [...channel.streams()]) end(stream, "disabled");
      }
    });
  }
}

function end(stream: EventStream, reason: ByeReason): void {
  const retryMs = reason === "shutdown" ? between(0, 10_000) : reason === "slow" ? between(5_000, 30_000) : retry();
  stream.finish(reason, retryMs);
}

function closeSlow(channel: EventChannel, now: number): void {
  for (const stream of channel.blocked()) {
    const { waitingBytes } = stream.sink;
    if (waitingBytes < stream.unreadBytes) {
      stream.unreadBytes = waitingBytes;
      stream.readAt = now;
    } else if (now - stream.readAt > slowMs) end(stream, "slow");
  }
}

type StreamLimit = readonly [key: string, max: number, owner: string];

function limitsOf({ applicationId, deviceId, userId, policy }: Caller, streamsMax: number): readonly StreamLimit[] {
  const applicationMax = policy.limits.streams ?? Math.ceil(streamsMax / 2);
  return [
    [`${applicationId} ${deviceId}`, deviceStreamsMax, "A device"],
    ...(userId === undefined ? [] : [[`${applicationId} ${userId}`, userStreamsMax, "A user"] as const]),
    [applicationId, applicationMax, "The application"],
  ];
}

/** The limit of an operator's calls that wait for events. */
function limitsOfOperator({ operatorId }: OperatorCaller): readonly StreamLimit[] {
  return [[operatorId, operatorWaitsMax, "An operator"]];
}

function refusalOf(policy: ApplicationPolicy, caller: Caller): ByeReason | undefined {
  if (policy.isSuspended) return "suspended";
  try {
    requireEnabled(policy, streamRoute, {}, caller);
    return undefined;
  } catch (error) {
    return error instanceof ApiError && error.condition === "ServiceUnavailable" ? "busy" : "disabled";
  }
}

function tooMany(owner: string, max: number): ApiError {
  return new ApiError("RateLimitExceeded", `${owner} may have ${max} streams.`, {
    retryAfterSeconds: Math.round(between(5, 60)),
  });
}

/** Returns a random reconnection delay in ms, so that clients do not reconnect simultaneously. */
function retry(): number {
  return Math.round(between(1_000, 5_000));
}
