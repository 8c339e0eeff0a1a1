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
import { type ByeReason, eventFrame, type ResetReason, resetFrame } from "./events.frames.ts";
import { createEventReader, presentEvent, type ReadEvent, type SeenEvent } from "./events.reading.ts";
import { concernedBy, SeenRevocations } from "./events.revoked.ts";
import { type EventStream, live } from "./events.stream.ts";
import { type EventView, viewOf } from "./events.views.ts";

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
const rowsPerRound = 200;
const deliveriesPerRound = 20_000;
const retryMs = 250;
/** How long an event is read again whose object cannot be presented for an unexpected reason. */
const failingMsMax = 2_000;
/** No client sends this call. */
const ownCall = { authorization: undefined, address: "", idempotencyKey: undefined };

/** An event as a group of streams sees it: all streams that may read the same data of it. */
interface Showing {
  /** Identifies the event and the view. */
  readonly key: string;
  readonly view: EventView;
  readonly read: ReadEvent;
  readonly streams: EventStream[];
  seen?: SeenEvent | undefined;
  frame?: Buffer;
  /** It could not be presented. */
  isLost?: boolean;
}

/**
 * The streams of one application. Those that have everything are live and share their position; others read the log
 * separately until they have caught up. Each event is read and presented once for its owner and once for others.
 */
export class EventChannel {
  readonly applicationId: string;
  readonly #services: StreamServices;
  readonly #hooks: ChannelHooks;
  readonly #live = new Set<EventStream>();
  readonly #behind = new Set<EventStream>();
  readonly #unconfirmed = new Set<EventStream>();
  readonly #stop: () => void;
  #log: string;
  #position: number;
  #lastId: string;
  #cursor: string | undefined;
  /** The position up to which the last round has read for streams that catch up. */
  #readTo = 0;
  #giveWay = createYield();
  #head: LogHead | undefined;
  #isErased = false;
  #isRunning = false;
  #isWoken = false;
  #isClosed = false;
  /** The revision at which all callers were confirmed. */
  #revision: string | undefined;
  #policy: ApplicationPolicy | undefined;
  #revocations: SeenRevocations;
  /** Since when events could not be presented, by `Showing.key`. */
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
    return this.#live.size + this.#behind.size;
  }

  get behindCount(): number {
    return this.#behind.size;
  }

  *streams(): Generator<EventStream> {
    yield* this.#live;
    yield* this.#behind;
  }

  blocked(): EventStream[] {
    return [...this.#behind].filter((stream) => stream.isBlocked);
  }

  /** Whether a cursor is exactly at the position of the live streams. */
  isAtEnd({ log, position, id }: Cursor): boolean {
    return log === this.#log && position === this.#position && (id === "" || this.#lastId.endsWith(id));
  }

  /** Adds a stream that has received everything up to a position. */
  add(stream: EventStream, { log, position }: Cursor): void {
    this.#unconfirmed.add(stream); // its token may have ended since it was checked
    if (log !== this.#log) this.#reset([stream], "log");
    else if (position === this.#position) this.#live.add(stream);
    else {
      stream.position = position;
      this.#behind.add(stream);
    }
    this.wake();
  }

  remove(stream: EventStream): void {
    this.#live.delete(stream);
    this.#behind.delete(stream);
    this.#unconfirmed.delete(stream);
  }

  /** The cursor from which the client of a stream continues. */
  cursorOf(stream: EventStream): string {
    const { eventLog } = this.#services;
    if (stream.position !== live) {
      return eventLog.seal(this.applicationId, { log: this.#log, position: stream.position, id: "" });
    }
    this.#cursor ??= eventLog.seal(this.applicationId, {
      log: this.#log,
      position: this.#position,
      id: this.#lastId,
    });
    return this.#cursor;
  }

  /** Checks every caller again in the next round. */
  distrust(): void {
    this.#revision = undefined;
    this.wake();
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  wake(): void {
    this.#isWoken = true;
    if (this.#isRunning || this.#isClosed) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    this.#giveWay = createYield();
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
    setTimeout(() => this.wake(), retryMs).unref();
  }

  async #serve(): Promise<void> {
    if (this.#isErased) {
      for (const stream of [...this.streams()]) this.#hooks.end(stream, "tokenEnded");
      return;
    }
    await this.#confirm();
    await this.#followName();
    const isFurther = await this.#serveLive();
    const isCaughtUp = await this.#serveBehind();
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

  /** Lets streams continue from the end of the log. */
  #reset(streams: readonly EventStream[], reason: ResetReason): void {
    for (const stream of streams) {
      this.#behind.delete(stream);
      this.#live.add(stream);
      stream.position = live;
      stream.send(resetFrame(this.cursorOf(stream), reason));
    }
  }

  /** @returns whether the log continues */
  async #serveLive(): Promise<boolean> {
    const end = this.#head?.position ?? this.#position;
    if (this.#position >= end) return false;
    const found = await this.#list(this.#position, this.#live.size);
    const rows = found.filter(({ position }) => position <= end);
    const last = rows.at(-1);
    if (last === undefined || rows[0]?.position !== this.#position + 1) {
      await this.#skipGap(last);
      return false;
    }
    const cut = await this.#deliver(rows, this.#live);
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
  async #serveBehind(): Promise<boolean> {
    const ready: EventStream[] = [];
    for (const stream of this.#behind) {
      if (stream.isBlocked || stream.position > this.#position) continue;
      if (stream.position === this.#position) this.#catchUp(stream);
      else ready.push(stream);
    }
    if (ready.length === 0) return true;
    const reading = this.#chooseReading(ready);
    const from = reading.reduce((least, { position }) => Math.min(least, position), this.#position);
    const rows = (await this.#list(from, reading.length)).filter(({ position }) => position <= this.#position);
    const last = rows.at(-1);
    if (last === undefined || rows[0]?.position !== from + 1) {
      this.#reset(
        reading.filter(({ position }) => position === from),
        "expired",
      );
      return false;
    }
    const cut = await this.#deliver(rows, reading);
    this.#readTo = last.position;
    for (const stream of reading) {
      if (stream.isEnded || cut.has(stream)) continue;
      stream.position = Math.max(stream.position, last.position);
      if (stream.position === this.#position) this.#catchUp(stream);
    }
    for (const [stream, position] of cut) this.#block(stream, position);
    return false;
  }

  /**
   * The streams that are as far as the last round has read. Those that came since with older cursors wait until these have
   * caught up and then read together: otherwise each would let all others wait while it reads the same events again.
   */
  #chooseReading(ready: readonly EventStream[]): readonly EventStream[] {
    const further = ready.filter(({ position }) => position >= this.#readTo);
    return further.length > 0 ? further : ready;
  }

  #catchUp(stream: EventStream): void {
    this.#behind.delete(stream);
    stream.position = live;
    if (!stream.isEnded) this.#live.add(stream);
  }

  /** Stops a stream at a position until its client has read. */
  #block(stream: EventStream, position: number): void {
    if (stream.isEnded) return;
    this.#live.delete(stream);
    this.#behind.add(stream);
    stream.position = position;
    stream.isBlocked = true;
    stream.readAt = performance.now();
    stream.unreadBytes = stream.sink.waitingBytes;
    stream.sink.onDrain(() => {
      stream.isBlocked = false;
      this.wake();
    });
  }

  #list(after: number, streams: number): Promise<readonly PlacedEvent[]> {
    const count = Math.max(1, Math.min(rowsPerRound, Math.floor(deliveriesPerRound / Math.max(1, streams))));
    return this.#services.eventLog.list(this.applicationId, after, count);
  }

  /** @returns the streams whose clients must read first, and their positions */
  async #deliver(
    rows: readonly PlacedEvent[],
    streams: Iterable<EventStream>,
  ): Promise<ReadonlyMap<EventStream, number>> {
    const shown = await this.#choose(rows, [...streams]);
    await Promise.all(rows.flatMap((row, index) => (shown[index] ?? []).map((showing) => this.#present(row, showing))));
    await this.#confirm(); // after the reads, whose results are from before any later revocation
    const cut = new Map<EventStream, number>();
    for (const [index, row] of rows.entries()) {
      let delivered = 0;
      for (const { frame, seen, isLost, streams: wanting } of shown[index] ?? []) {
        if (frame === undefined) continue;
        for (const stream of wanting) {
          if (stream.isEnded || cut.has(stream) || (seen !== undefined && !wantsObject(stream, seen))) continue;
          if (stream.send(frame)) delivered += isLost === true ? 0 : 1;
          else cut.set(stream, row.position - 1);
          const pause = this.#giveWay();
          if (pause !== undefined) await pause; // no microtask for each stream
        }
      }
      if (delivered > 0) this.#hooks.delivered(row, delivered);
    }
    return cut;
  }

  /** Finds the streams that each event concerns, before its object is read. */
  async #choose(rows: readonly PlacedEvent[], streams: readonly EventStream[]): Promise<Showing[][]> {
    const readers = new Map<Caller, ReadEvent>();
    const chosen: Showing[][] = [];
    for (const row of rows) {
      await this.#giveWay();
      const showings = new Map<string, Showing | undefined>();
      for (const stream of streams) {
        if (stream.isEnded || stream.position >= row.position) continue;
        const lens = lensOf(row, stream.caller);
        if (lens === undefined) continue;
        const showing = showings.getOrInsertComputed(lens, () => this.#show(row, lens, stream.caller, readers));
        if (showing !== undefined && wants(stream, row, showing.view)) showing.streams.push(stream);
      }
      chosen.push(
        [...showings.values()].flatMap((each) => (each === undefined || each.streams.length === 0 ? [] : each)),
      );
    }
    return chosen;
  }

  /** @param readers by the caller that reads: an owner of one event is another user for the next */
  #show(row: PlacedEvent, lens: string, caller: Caller, readers: Map<Caller, ReadEvent>): Showing | undefined {
    const view = viewOf(row, caller);
    if (view === undefined) return undefined;
    const reader = { ...caller, policy: this.#policy ?? caller.policy };
    const read = readers.getOrInsertComputed(caller, () => createEventReader(reader, ownCall, this.#services));
    return { key: `${row.id} ${lens}`, view, read, streams: [] };
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
      this.#failingSince.delete(showing.key);
    } catch (err) {
      if (!this.#isLost(err, row, showing)) throw err; // the whole round runs again
      // Its clients must not miss the event without knowing, and others must not wait for it.
      showing.isLost = true;
      showing.frame = resetFrame(cursor, "expired");
    }
  }

  /** Whether an event is given up that could not be presented. */
  #isLost(err: unknown, row: PlacedEvent, { key }: Showing): boolean {
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

/**
 * The group of callers that see the same data of an event: its owner, all other users, or all devices without a user.
 * Data of one device is read for each of its tokens.
 *
 * @returns undefined for values of another user
 */
function lensOf({ object_id, user_id, slot }: PlacedEvent, caller: Caller): string | undefined {
  if (slot !== null && slot !== "") return slot === caller.userId ? "slot" : undefined;
  if (object_id === caller.deviceId) return `token ${caller.tokenId}`;
  if (caller.userId === undefined) return "device";
  return user_id === caller.userId ? "owner" : "other";
}

function wants({ filters }: EventStream, row: PlacedEvent, { type }: EventView): boolean {
  return filters.some((filter) => filter.matchesRow(row) && filter.matchesType(type));
}

function wantsObject({ filters }: EventStream, seen: SeenEvent): boolean {
  const { event, view } = seen;
  return filters.some(
    (filter) => filter.matchesRow(event) && filter.matchesType(view.type) && filter.matchesObject(seen),
  );
}
