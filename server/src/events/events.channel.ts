import type { Dispatcher } from "../api/dispatch.ts";
import { findRevision } from "../auth/caller.ts";
import { findEndedTokens } from "../auth/ended-tokens.ts";
import type { ApplicationPolicy } from "../contract/policy.ts";
import type { Caller } from "../contract/route.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import type { Cursor } from "../event-log/cursors.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { LogFollower } from "../event-log/follower.ts";
import type { LogHead } from "../event-log/heads.store.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import type { Clock } from "../lib/clock.ts";
import { createYield } from "../lib/yield.ts";
import type { Log } from "../log.ts";
import type { Policies } from "../tenancy/policies.ts";
import { Audience, type Recipients } from "./events.audience.ts";
import { type ByeReason, eventFrame, type ResetReason, resetFrame } from "./events.frames.ts";
import { createEventReader, presentEvent, type ReadEvent, type SeenEvent } from "./events.reading.ts";
import { concernedBy, SeenRevocations } from "./events.revoked.ts";
import { type EventStream, live } from "./events.stream.ts";

/** The services that streams use. */
export interface StreamServices {
  readonly clock: Clock;
  readonly database: Database;
  readonly dispatcher: Dispatcher;
  readonly eventFollower: LogFollower;
  readonly eventLog: EventLog;
  readonly log: Log;
  readonly policies: Policies;
  /** Makes commits of other processes visible to reads. */
  refresh(): void;
}

interface ChannelHooks {
  end(stream: EventStream, reason: ByeReason): void;
  /** Whether the application still allows streams, or the reason why not. */
  refusalOf(policy: ApplicationPolicy, caller: Caller): ByeReason | undefined;
  /** Runs for events that were sent, with the time of their write. */
  delivered(event: PlacedEvent, streams: number): void;
  /** Runs when the settings of the application may have changed. */
  keepLog(channel: EventChannel): void;
}

/** The number of rows of the log that one round reads, fewer if many streams want them. */
const rowsPerRound = 50;
const deliveriesPerRound = 20_000;
const retryMs = 250;
/** The time for which a round lets other work of the process wait. */
const heldMsMax = 1;
/** How many times as long as a walk the pause after it is, in which clients connect that walk together next. */
const restFactor = 3;
const restMsMax = 500;
/** New streams wait for so long for others, with which they are confirmed. */
const joinMs = 20;
/** How long an event is read again whose object cannot be presented for an unexpected reason. */
const failingMsMax = 2_000;
/** No client sends this call. */
const ownCall = { authorization: undefined, address: "", idempotencyKey: undefined };

/** An event as its recipients see it. */
interface Showing extends Recipients {
  readonly read: ReadEvent;
  seen?: SeenEvent | undefined;
  frame?: Buffer;
  /** It could not be presented. */
  isLost?: boolean;
}

/** An event that some streams receive. */
interface Shown {
  readonly row: PlacedEvent;
  readonly showings: readonly Showing[];
}

/** A part of the log that was sent, up to a row, but for the streams whose clients must read first. */
interface Sent {
  readonly last: PlacedEvent;
  /** The position up to which each of these streams was sent events. */
  readonly cut: ReadonlyMap<EventStream, number>;
}

/**
 * The streams of one application. Those that have everything are live and share their position. Others catch up: they walk
 * through the log together, and those that come meanwhile with older cursors wait for the next walk, so that none of them makes
 * all others read the same events again. Each event is read and presented once for its owner and once for others.
 */
export class EventChannel {
  readonly applicationId: string;
  readonly #services: StreamServices;
  readonly #hooks: ChannelHooks;
  readonly #live = new Audience();
  readonly #walking = new Audience();
  /** Streams that join the others before the next round. */
  readonly #waiting = new Set<EventStream>();
  readonly #blocked = new Set<EventStream>();
  readonly #unconfirmed = new Set<EventStream>();
  readonly #stop: () => void;
  #log: string;
  #position: number;
  #lastId: string;
  #cursor: string | undefined;
  /** The position up to which the walk has come. */
  #walkedTo = 0;
  #walkBeganAt = 0;
  #restsUntil = 0;
  #alarm: NodeJS.Timeout | undefined;
  #alarmAt = Number.POSITIVE_INFINITY;
  #giveWay = createYield(heldMsMax);
  #head: LogHead | undefined;
  #isErased = false;
  #isRunning = false;
  #isWoken = false;
  #isClosed = false;
  /** The revision at which all callers were confirmed. */
  #revision: string | undefined;
  #policy: ApplicationPolicy | undefined;
  #revocations: SeenRevocations;
  /** Since when events could not be presented, by `keyOf`. */
  readonly #failingSince = new Map<string, number>();

  constructor(applicationId: string, end: Cursor, services: StreamServices, hooks: ChannelHooks) {
    this.applicationId = applicationId;
    this.#services = services;
    this.#hooks = hooks;
    this.#log = end.log;
    this.#position = end.position;
    this.#lastId = end.id;
    this.#revocations = new SeenRevocations(end.position);
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
    return this.#walking.size + this.#waiting.size + this.#blocked.size;
  }

  *streams(): Generator<EventStream> {
    yield* this.#live;
    yield* this.#walking;
    yield* this.#waiting;
    yield* this.#blocked;
  }

  blocked(): readonly EventStream[] {
    return [...this.#blocked];
  }

  /** Adds a stream that has received everything up to a position. */
  add(stream: EventStream, { log, position }: Cursor): void {
    this.#unconfirmed.add(stream); // its token may have ended since it was checked
    stream.position = position;
    if (log !== this.#log) stream.resetReason = "log";
    this.#waiting.add(stream);
    this.#wakeAfter(joinMs);
  }

  remove(stream: EventStream): void {
    this.#take(stream);
    this.#unconfirmed.delete(stream);
  }

  #take(stream: EventStream): void {
    this.#live.delete(stream);
    this.#walking.delete(stream);
    this.#waiting.delete(stream);
    this.#blocked.delete(stream);
  }

  /** The cursor from which the client of a stream continues. */
  cursorOf(stream: EventStream): string {
    const { eventLog } = this.#services;
    if (stream.position !== live) {
      const position = this.#walking.has(stream) ? Math.max(stream.position, this.#walkedTo) : stream.position;
      return eventLog.seal(this.applicationId, { log: this.#log, position, id: "" });
    }
    return this.#cursorOfEnd();
  }

  #cursorOfEnd(): string {
    const end = { log: this.#log, position: this.#position, id: this.#lastId };
    this.#cursor ??= this.#services.eventLog.seal(this.applicationId, end);
    return this.#cursor;
  }

  /** Checks every caller again in the next round. */
  distrust(): void {
    this.#revision = undefined;
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

  /** Wakes once for all that request it meanwhile. */
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
    this.#giveWay = createYield(heldMsMax);
    try {
      while (this.#isWoken && !this.#isClosed) {
        this.#isWoken = false;
        await this.#serve();
        await this.#giveWay(); // a round on SQLite does not wait for anything
      }
    } catch (err) {
      if (!this.#isClosed) this.#retryLater(err);
    } finally {
      this.#isRunning = false;
    }
  }

  #retryLater(err: unknown): void {
    const isAway = err instanceof ApiError && err.condition === "ServiceUnavailable";
    if (!isAway) this.#services.log.error({ err, application: this.applicationId }, "streams could not be served");
    this.#wakeAfter(retryMs);
  }

  async #serve(): Promise<void> {
    if (this.#isErased) {
      for (const stream of [...this.streams()]) this.#hooks.end(stream, "tokenEnded");
      return;
    }
    await this.#confirm();
    await this.#followName();
    this.#admit();
    const isFurther = await this.#serveLive();
    const isCaughtUp = await this.#walk();
    if (isFurther || !isCaughtUp) this.#isWoken = true;
  }

  /** A log that was paused, restored or set back begins again. */
  async #followName(): Promise<void> {
    const head = this.#head;
    if (head === undefined) return;
    if (head.log === this.#log && head.position >= this.#position) return;
    const end = await this.#services.eventLog.findEnd(this.applicationId);
    if (end.log === this.#log && end.position >= this.#position) return;
    this.#log = end.log;
    this.#moveTo(end.position, end.id);
    this.#revocations = new SeenRevocations(end.position);
    this.#revision = undefined; // rows of revocations may have ended with the other log
    this.#reset([...this.streams()], "log");
  }

  #moveTo(position: number, id: string): void {
    this.#position = position;
    this.#lastId = id;
    this.#cursor = undefined;
  }

  /** Lets waiting streams join the others. Only between rounds, because a round has chosen the streams of its events. */
  #admit(): void {
    const ready: EventStream[] = [];
    for (const stream of this.#waiting) {
      if (stream.resetReason !== undefined) this.#reset([stream], stream.resetReason);
      else if (stream.position === this.#position) this.#goLive(stream);
      else if (stream.position < this.#position) ready.push(stream); // others are ahead of this process
    }
    if (this.#walking.size === 0 && ready.length > 0) {
      const restMs = this.#restsUntil - performance.now();
      if (restMs > 0) {
        this.#wakeAfter(restMs);
        return;
      }
      this.#walkBeganAt = performance.now();
      this.#walkedTo = ready.reduce((least, { position }) => Math.min(least, position), this.#position);
    }
    for (const stream of ready) {
      if (stream.position < this.#walkedTo) continue;
      this.#waiting.delete(stream);
      this.#walking.add(stream);
    }
  }

  #goLive(stream: EventStream): void {
    this.#take(stream);
    stream.position = live;
    if (!stream.isEnded) this.#live.add(stream);
  }

  /** Lets streams continue from the end of the log, as soon as their clients can be told. */
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

  /** @returns whether the log continues */
  async #serveLive(): Promise<boolean> {
    const end = this.#head?.position ?? this.#position;
    if (this.#position >= end) return false;
    const rows = await this.#list(this.#position, end);
    if (!isFilled(rows) || rows[0].position !== this.#position + 1) {
      await this.#skipGap(rows.at(-1));
      return false;
    }
    const { last, cut } = await this.#deliver(rows, this.#live);
    this.#moveTo(last.position, last.id);
    for (const [stream, position] of cut) this.#block(stream, position);
    return last.position < end;
  }

  /** Retention has dropped events that live streams have not sent yet. */
  async #skipGap(found: PlacedEvent | undefined): Promise<void> {
    if (found === undefined) return;
    const end = await this.#services.eventLog.findEnd(this.applicationId);
    this.#moveTo(end.position, end.id);
    this.#reset([...this.#live], "expired");
  }

  /** @returns false if there is more to send at once */
  async #walk(): Promise<boolean> {
    if (this.#walking.size === 0) return true;
    if (this.#walkedTo < this.#position) {
      const rows = await this.#list(this.#walkedTo, this.#position);
      const first = rows[0]?.position ?? this.#position + 1;
      if (first > this.#walkedTo + 1) this.#walkOverGap(first - 1);
      if (isFilled(rows)) {
        const { last, cut } = await this.#deliver(rows, this.#walking);
        this.#walkedTo = last.position;
        for (const [stream, position] of cut) this.#block(stream, position);
      }
    }
    if (this.#walkedTo < this.#position) return false;
    for (const stream of this.#walking) {
      this.#goLive(stream);
      const pause = this.#giveWay();
      if (pause !== undefined) await pause;
    }
    const now = performance.now();
    this.#restsUntil = now + Math.min(restMsMax, restFactor * (now - this.#walkBeganAt));
    return false;
  }

  /** Retention has dropped events that walking streams have not sent yet. */
  #walkOverGap(to: number): void {
    this.#reset(
      [...this.#walking].filter(({ position }) => position < to),
      "expired",
    );
    this.#walkedTo = to;
  }

  /** Stops a stream at a position until its client has read. */
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
      if (this.#blocked.delete(stream)) this.#waiting.add(stream);
      this.wake();
    });
  }

  /** The rows of the log after a position, up to another one. */
  async #list(after: number, to: number): Promise<readonly PlacedEvent[]> {
    const rows = await this.#services.eventLog.list(this.applicationId, after, rowsPerRound);
    return rows.filter(({ position }) => position <= to);
  }

  /** Sends rows to the streams that they concern, as many as one round may. */
  async #deliver(rows: Filled<PlacedEvent>, audience: Audience): Promise<Sent> {
    const { shown, last } = await this.#choose(rows, audience);
    await Promise.all(shown.flatMap(({ row, showings }) => showings.map((showing) => this.#present(row, showing))));
    await this.#confirm(); // after the reads, whose results are from before any later revocation
    const cut = new Map<EventStream, number>();
    for (const { row, showings } of shown) {
      let delivered = 0;
      for (const { frame, seen, isLost, streams } of showings) {
        if (frame === undefined) continue;
        for (const stream of streams) {
          if (stream.isEnded || cut.has(stream) || (seen !== undefined && !wantsObject(stream, seen))) continue;
          if (stream.send(frame)) delivered += isLost === true ? 0 : 1;
          else cut.set(stream, row.position - 1);
          const pause = this.#giveWay();
          if (pause !== undefined) await pause; // no microtask for each stream
        }
      }
      if (delivered > 0) this.#hooks.delivered(row, delivered);
    }
    return { last, cut };
  }

  /** Finds the streams that each event concerns, before its object is read. */
  async #choose(
    rows: Filled<PlacedEvent>,
    audience: Audience,
  ): Promise<{ readonly shown: readonly Shown[]; readonly last: PlacedEvent }> {
    const readers = new Map<Caller, ReadEvent>();
    const shown: Shown[] = [];
    let [last] = rows;
    let deliveries = 0;
    for (const row of rows) {
      if (deliveries >= deliveriesPerRound) break;
      const showings = audience.find(row).map((recipients) => this.#show(recipients, readers));
      if (showings.length > 0) shown.push({ row, showings });
      deliveries += showings.reduce((sum, { streams }) => sum + streams.length, 0);
      last = row;
      const pause = this.#giveWay();
      if (pause !== undefined) await pause;
    }
    return { shown, last };
  }

  /** @param readers by the caller that reads: an owner of one event is another user for the next */
  #show(recipients: Recipients, readers: Map<Caller, ReadEvent>): Showing {
    const [{ caller }] = recipients.streams;
    const reader = { ...caller, policy: this.#policy ?? caller.policy };
    const read = readers.getOrInsertComputed(caller, () => createEventReader(reader, ownCall, this.#services));
    return { ...recipients, read };
  }

  async #present(row: PlacedEvent, showing: Showing): Promise<void> {
    const cursor = this.#services.eventLog.seal(this.applicationId, {
      log: this.#log,
      position: row.position,
      id: row.id,
    });
    try {
      showing.seen = await showing.read(row, showing.view);
      if (showing.seen !== undefined) showing.frame = eventFrame(cursor, presentEvent(showing.seen));
      this.#failingSince.delete(keyOf(row, showing));
    } catch (err) {
      if (!this.#isLost(err, row, showing)) throw err; // the whole round runs again
      // Its clients must not miss the event without knowing, and others must not wait for it.
      showing.isLost = true;
      showing.frame = resetFrame(cursor, "expired");
    }
  }

  /** Whether an event is given up that could not be presented. */
  #isLost(err: unknown, row: PlacedEvent, showing: Showing): boolean {
    const key = keyOf(row, showing);
    if (err instanceof ApiError && err.condition === "ServiceUnavailable") return false;
    const now = performance.now();
    if (now - this.#failingSince.getOrInsertComputed(key, () => now) < failingMsMax) return false;
    this.#failingSince.delete(key);
    this.#services.log.error({ err, event: row.id }, "an event could not be presented");
    return true;
  }

  /** Ends the streams whose tokens have been revoked by now. */
  async #confirm(): Promise<void> {
    const { database, policies, refresh } = this.#services;
    const { applicationId } = this;
    const position = this.#head?.position ?? 0; // of before the reads, which find all revocations up to it
    refresh();
    const [application] = await findRevision(database.reads, { applicationId });
    const isUnchanged = application !== undefined && application.revision === this.#revision;
    if (isUnchanged) {
      this.#revocations.pass(position);
      if (this.#unconfirmed.size === 0) return;
    }
    const isConcerned = isUnchanged ? isNobody : await this.#findConcerned(application?.revision);
    const policy = isConcerned === undefined ? await policies.load(applicationId) : this.#policy;
    const streams = isUnchanged ? [...this.#unconfirmed] : this.#listConcerned(isConcerned);
    const ended = await findEndedTokens(
      applicationId,
      streams.map(({ caller }) => caller),
      database.reads,
    );
    for (const stream of streams) {
      this.#unconfirmed.delete(stream);
      if (policy === undefined || ended.has(stream.caller)) this.#hooks.end(stream, "tokenEnded");
      else {
        const refusal = this.#hooks.refusalOf(policy, stream.caller);
        if (refusal !== undefined) this.#hooks.end(stream, refusal);
      }
    }
    if (isConcerned === undefined) this.#hooks.keepLog(this);
    this.#policy = policy;
    this.#revision = application?.revision; // of before the check, so that a later revocation is noticed
  }

  #listConcerned(isConcerned: ((caller: Caller) => boolean) | undefined): EventStream[] {
    if (isConcerned === undefined) return [...this.streams()];
    return [...this.streams()].filter((stream) => this.#unconfirmed.has(stream) || isConcerned(stream.caller));
  }

  /**
   * Reads which callers the revocations concern that led to a revision.
   *
   * @returns undefined if every caller has to be confirmed
   */
  async #findConcerned(revision: string | undefined): Promise<((caller: Caller) => boolean) | undefined> {
    const found = await this.#services.eventLog.listRevocations(this.applicationId, this.#revocations.after);
    const isAfterConfirmation = this.#revision !== undefined;
    const fresh = this.#revocations.take(found);
    const isExplained = revision !== undefined && this.#revocations.includes(revision);
    return isAfterConfirmation && isExplained ? concernedBy(fresh) : undefined;
  }
}

const isNobody = () => false;

function keyOf({ id }: PlacedEvent, { key }: Recipients): string {
  return `${id} ${key}`;
}

type Filled<Item> = readonly [Item, ...Item[]];

function isFilled<Item>(items: readonly Item[]): items is Filled<Item> {
  return items.length > 0;
}

function wantsObject({ filters }: EventStream, seen: SeenEvent): boolean {
  const { event, view } = seen;
  return filters.some(
    (filter) => filter.matchesRow(event) && filter.matchesType(view.type) && filter.matchesObject(seen),
  );
}
