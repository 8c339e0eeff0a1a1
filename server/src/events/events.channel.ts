import type { Cursor } from "../event-log/cursors.ts";
import type { LogFollower } from "../event-log/follower.ts";
import type { LogHead } from "../event-log/heads.store.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { ApiError } from "../lib/errors.ts";
import { createYield } from "../lib/yield.ts";
import { Audience } from "./events.audience.ts";
import { Confirmation, type ConfirmationHooks, type ConfirmationServices } from "./events.confirmation.ts";
import { Delivery, type DeliveryHooks, type DeliveryServices, type LogRows } from "./events.delivery.ts";
import { type ResetReason, resetFrame } from "./events.frames.ts";
import { type EventStream, live } from "./events.stream.ts";
import { type Walk, Walks } from "./events.walks.ts";

/** The services that streams use. */
export interface StreamServices extends ConfirmationServices, DeliveryServices {
  readonly eventFollower: LogFollower;
}

interface ChannelHooks extends Pick<ConfirmationHooks, "end" | "refusalOf">, Pick<DeliveryHooks, "delivered"> {
  /** Called when the settings of the application may have changed. */
  extendRecording(channel: EventChannel): void;
}

/** The maximum number of log rows that a round of live streams reads. */
const rowsPerRound = 50;
/** More than in a round of live streams, because a walk may skip many rows that none of its streams receives. */
const rowsPerWalk = 500;
const retryMs = 250;
/** The time for which a round may block the event loop. */
const heldMsMax = 1;
/** How long a new stream waits for others, so that one round confirms all of them. */
const joinMs = 20;

/** The streams of one application. Streams at the end of the log are live and share a position; others catch up in walks. */
export class EventChannel {
  readonly applicationId: string;
  readonly #services: StreamServices;
  readonly #hooks: ChannelHooks;
  readonly #live = new Audience();
  readonly #walks = new Walks();
  readonly #blocked = new Set<EventStream>();
  readonly #confirmation: Confirmation;
  readonly #delivery: Delivery;
  readonly #stop: () => void;
  #log: string;
  #position: number;
  #lastId: string;
  #cursor: string | undefined;
  #alarm: NodeJS.Timeout | undefined;
  #alarmAt = Number.POSITIVE_INFINITY;
  #yieldIfDue = createYield(heldMsMax);
  #head: LogHead | undefined;
  #isErased = false;
  #isRunning = false;
  #isWoken = false;
  #isClosed = false;

  constructor(applicationId: string, end: Cursor, services: StreamServices, hooks: ChannelHooks) {
    this.applicationId = applicationId;
    this.#services = services;
    this.#hooks = hooks;
    this.#log = end.log;
    this.#position = end.position;
    this.#lastId = end.id;
    this.#confirmation = new Confirmation(applicationId, end.position, services, {
      end: hooks.end,
      refusalOf: hooks.refusalOf,
      streams: () => this.streams(),
      allChecked: () => hooks.extendRecording(this),
    });
    this.#delivery = new Delivery(applicationId, services, {
      policy: () => this.#confirmation.policy,
      confirm: () => this.#confirm(),
      yieldIfDue: () => this.#yieldIfDue(),
      delivered: hooks.delivered,
    });
    this.#stop = services.eventFollower.follow(applicationId, (head) => {
      this.#head = head;
      this.#isErased = head === undefined;
      this.wake();
    });
  }

  get size(): number {
    return this.#live.size + this.behindCount;
  }

  get behindCount(): number {
    return this.#walks.size + this.#blocked.size;
  }

  *streams(): Generator<EventStream> {
    yield* this.#live;
    yield* this.#walks.streams();
    yield* this.#blocked;
  }

  blocked(): readonly EventStream[] {
    return [...this.#blocked];
  }

  /** Adds a stream that has received everything up to a position. */
  add(stream: EventStream, { log, position }: Cursor): void {
    this.#confirmation.add(stream);
    stream.position = position;
    if (log !== this.#log) stream.resetReason = "log";
    this.#walks.add(stream);
    this.#wakeAfter(joinMs);
  }

  remove(stream: EventStream): void {
    this.#take(stream);
    this.#confirmation.delete(stream);
  }

  #take(stream: EventStream): void {
    this.#live.delete(stream);
    this.#walks.delete(stream);
    this.#blocked.delete(stream);
  }

  /** Returns the cursor from which the client of a stream resumes. */
  cursorOf(stream: EventStream): string {
    const { eventLog } = this.#services;
    if (stream.position !== live) {
      const position = this.#walks.positionOf(stream);
      return eventLog.seal(this.applicationId, { log: this.#log, position, id: "" });
    }
    return this.#cursorOfEnd();
  }

  #cursorOfEnd(): string {
    const end = { log: this.#log, position: this.#position, id: this.#lastId };
    this.#cursor ??= this.#services.eventLog.seal(this.applicationId, end);
    return this.#cursor;
  }

  /** Checks the caller of a stream again in the next round. */
  recheck(stream: EventStream): void {
    this.#confirmation.add(stream);
    this.wake();
  }

  /** Checks every caller again in the next round. */
  invalidate(): void {
    this.#confirmation.invalidate();
    this.wake();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#alarm);
    this.#stop();
  }

  wake(): void {
    this.#isWoken = true;
    if (this.#isRunning || this.#isClosed) return;
    this.#isRunning = true;
    void this.#run();
  }

  /** Schedules one wake-up; an earlier one replaces a later one. */
  #wakeAfter(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#alarmAt) return;
    clearTimeout(this.#alarm);
    this.#alarmAt = at;
    this.#alarm = setTimeout(() => {
      this.#alarmAt = Number.POSITIVE_INFINITY;
      this.wake();
    }, ms).unref();
  }

  async #run(): Promise<void> {
    this.#yieldIfDue = createYield(heldMsMax);
    try {
      while (this.#isWoken && !this.#isClosed) {
        this.#isWoken = false;
        await this.#serve();
        await this.#yieldIfDue(); // because a round on SQLite never waits for I/O
      }
    } catch (err) {
      if (!this.#isClosed) this.#retryLater(err);
    } finally {
      this.#isRunning = false;
    }
  }

  #retryLater(err: unknown): void {
    const isUnavailable = err instanceof ApiError && err.condition === "ServiceUnavailable";
    if (!isUnavailable)
      this.#services.log.error({ err, application: this.applicationId }, "streams could not be served");
    this.#wakeAfter(retryMs);
  }

  async #serve(): Promise<void> {
    if (this.#isErased) {
      for (const stream of [...this.streams()]) this.#hooks.end(stream, "tokenEnded");
      return;
    }
    await this.#confirm();
    await this.#followLog();
    this.#admit();
    const hasMore = await this.#serveLive();
    const isCaughtUp = await this.#walk();
    if (hasMore || !isCaughtUp) this.#isWoken = true;
  }

  #confirm(): Promise<void> {
    return this.#confirmation.run(this.#head?.position ?? 0);
  }

  /** Detects a log that was paused, restored or set back, and restarts its streams at the new end. */
  async #followLog(): Promise<void> {
    const head = this.#head;
    if (head === undefined) return;
    if (head.log === this.#log && head.position >= this.#position) return;
    const end = await this.#services.eventLog.findEnd(this.applicationId);
    if (end.log === this.#log && end.position >= this.#position) return;
    this.#log = end.log;
    this.#moveTo(end.position, end.id);
    this.#confirmation.restart(end.position);
    this.#reset([...this.streams()], "log");
  }

  #moveTo(position: number, id: string): void {
    this.#position = position;
    this.#lastId = id;
    this.#cursor = undefined;
  }

  /** Lets waiting streams join the others. Called between rounds, because a round has already chosen its streams. */
  #admit(): void {
    for (const stream of this.#walks.waiting()) {
      if (stream.resetReason !== undefined) this.#reset([stream], stream.resetReason);
      else if (stream.position === this.#position) this.#goLive(stream);
    }
    const restMs = this.#walks.admit(this.#position, performance.now());
    if (restMs !== undefined) this.#wakeAfter(restMs);
  }

  #goLive(stream: EventStream): void {
    this.#take(stream);
    stream.position = live;
    if (!stream.isEnded) this.#live.add(stream);
  }

  /** Moves streams to the end of the log, after sending each the reset message. A blocked stream follows when it drains. */
  #reset(streams: readonly EventStream[], reason: ResetReason): void {
    for (const stream of streams) {
      stream.resetReason = reason;
      if (stream.isBlocked || stream.isEnded) continue;
      if (stream.send(resetFrame(this.#cursorOfEnd(), reason))) {
        stream.resetReason = undefined;
        this.#goLive(stream);
      } else this.#block(stream, stream.position);
    }
  }

  /** @returns whether the log has more rows */
  async #serveLive(): Promise<boolean> {
    const end = this.#head?.position ?? this.#position;
    if (this.#position >= end) return false;
    const rows = await this.#list(this.#position, end, rowsPerRound);
    if (!isFilled(rows) || rows[0].position !== this.#position + 1) {
      await this.#skipGap(rows.at(-1));
      return false;
    }
    const { last, cut } = await this.#delivery.send(rows, this.#log, this.#live);
    this.#moveTo(last.position, last.id);
    for (const [stream, position] of cut) this.#block(stream, position);
    return last.position < end;
  }

  /** Resets live streams when retention has deleted events that they have not sent. */
  async #skipGap(found: PlacedEvent | undefined): Promise<void> {
    if (found === undefined) return;
    const end = await this.#services.eventLog.findEnd(this.applicationId);
    this.#moveTo(end.position, end.id);
    this.#reset([...this.#live], "expired");
  }

  /** @returns false if a walk can continue immediately */
  async #walk(): Promise<boolean> {
    const walk = this.#walks.next(performance.now());
    if (walk === undefined) {
      const ms = this.#walks.waitMs(performance.now());
      if (ms !== undefined) this.#wakeAfter(ms);
      return true;
    }
    if (walk.walkedTo < this.#position) await this.#continue(walk);
    if (walk.walkedTo < this.#position) return false;
    for (const stream of walk.streams) {
      this.#goLive(stream);
      const pause = this.#yieldIfDue();
      if (pause !== undefined) await pause;
    }
    this.#walks.end(walk, performance.now());
    return false;
  }

  async #continue(walk: Walk): Promise<void> {
    if (walk.rows.length === 0) {
      walk.rows = await this.#list(walk.walkedTo, this.#position, rowsPerWalk);
      const first = walk.rows[0]?.position ?? this.#position + 1;
      if (first > walk.walkedTo + 1) this.#walkOverGap(walk, first - 1);
    }
    const { rows } = walk;
    if (!isFilled(rows)) return;
    const { last, cut, shown } = await this.#delivery.send(rows, this.#log, walk.streams);
    this.#walks.pass(walk, { position: last.position, sent: shown }, performance.now());
    for (const [stream, position] of cut) this.#block(stream, position);
  }

  /** Resets the streams of a walk when retention has deleted events that they have not sent. */
  #walkOverGap(walk: Walk, to: number): void {
    this.#reset(
      [...walk.streams].filter(({ position }) => position < to),
      "expired",
    );
    walk.walkedTo = to;
  }

  /** Pauses a stream at a position until its connection drains. */
  #block(stream: EventStream, position: number): void {
    if (stream.isEnded) return;
    this.#take(stream);
    this.#blocked.add(stream);
    stream.position = position;
    stream.isBlocked = true;
    stream.readAt = performance.now();
    stream.unreadBytes = stream.sink.waitingBytes;
    stream.sink.onDrain(() => {
      stream.isBlocked = false;
      if (this.#blocked.delete(stream)) this.#walks.add(stream);
      this.wake();
    });
  }

  /** Lists at most `count` log rows between two positions, without the first and with the last. */
  async #list(after: number, to: number, count: number): Promise<readonly PlacedEvent[]> {
    const rows = await this.#services.eventLog.list(this.applicationId, after, count);
    return rows.filter(({ position }) => position <= to);
  }
}

function isFilled(rows: readonly PlacedEvent[]): rows is LogRows {
  return rows.length > 0;
}
