import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { createTokenBuckets } from "../limits/token-buckets.ts";
import { Audience } from "./events.audience.ts";
import type { EventStream } from "./events.stream.ts";

/** The distance from the end of the log of the nearest group of streams; each further group reaches `spanFactor` times as far. */
const spanMin = 1_000;
const spanFactor = 4;
/** The pause after a walk, in multiples of its duration. Clients that connect during the pause share the next walk. */
const restFactor = 3;
const restMsMax = 500;
/** The rows that walks may read for one caller in a second, or a tenth if the caller receives all of them. */
const rowsPerSecond = 100_000;
const costOfEvent = 10;
const callersMax = 10_000;

/** Streams that read the log together. */
export interface Walk {
  readonly streams: Audience;
  /** The group of its streams when it started. */
  readonly span: number;
  readonly beganAt: number;
  /** The position that the walk has reached. */
  walkedTo: number;
  /** Rows after that position that are already in memory. */
  rows: readonly PlacedEvent[];
}

/**
 * The streams of an application that are behind the end of its log (spec/streams#resume). Streams at a similar distance share
 * a walk, so that there are few walks, and a stream waits in proportion to the rows that it has missed itself. The scheduler
 * alternates between the walk nearest to the end and a round robin over all walks.
 */
export class Walks {
  readonly #walks = new Set<Walk>();
  /** Streams that join or start a walk before the next round, with their group if its walk has already passed them. */
  readonly #waiting = new Map<EventStream, number | undefined>();
  /** By group: when the next walk may start. */
  readonly #restsUntil = new Map<number, number>();
  readonly #budgets = createTokenBuckets(callersMax);
  #turn = 0;

  get size(): number {
    let size = this.#waiting.size;
    for (const { streams } of this.#walks) size += streams.size;
    return size;
  }

  *streams(): Generator<EventStream> {
    for (const { streams } of this.#walks) yield* streams;
    yield* this.#waiting.keys();
  }

  /** Adds a stream that has received everything up to its position. */
  add(stream: EventStream): void {
    this.#waiting.set(stream, undefined);
  }

  delete(stream: EventStream): void {
    this.#waiting.delete(stream);
    for (const { streams } of this.#walks) streams.delete(stream);
  }

  /** The streams that wait to join. */
  waiting(): readonly EventStream[] {
    return [...this.#waiting.keys()];
  }

  /** The position up to which a stream has received everything. */
  positionOf(stream: EventStream): number {
    for (const { streams, walkedTo } of this.#walks) {
      if (streams.has(stream)) return Math.max(stream.position, walkedTo);
    }
    return stream.position;
  }

  /**
   * Lets waiting streams join a walk that has not reached them, or start one. Called between rounds, because a round has
   * already chosen its streams.
   *
   * @param end the position of the live streams
   * @returns the milliseconds until the next group may start; undefined if no group waits
   */
  admit(end: number, now: number): number | undefined {
    const left = new Map<number, EventStream[]>();
    for (const stream of this.#waiting.keys()) {
      if (stream.position >= end) continue;
      const span = spanOf(end - stream.position);
      const walk = this.#findBehind(stream.position, end - lengthOf(span));
      if (walk !== undefined) this.#join(walk, stream);
      else {
        this.#waiting.set(stream, span);
        left.getOrInsertComputed(span, () => []).push(stream);
      }
    }
    let restMs: number | undefined;
    for (const [span, streams] of left) {
      if (this.#isWalking(span)) continue; // its walk has passed them, so they start the next one
      const rest = (this.#restsUntil.get(span) ?? 0) - now;
      if (rest > 0) restMs = Math.min(restMs ?? rest, rest);
      else this.#begin(span, streams, now);
    }
    return restMs;
  }

  /** Returns the walk whose turn it is; undefined if no walk may read now. */
  next(now: number): Walk | undefined {
    for (const walk of this.#walks) if (walk.streams.size === 0) this.#walks.delete(walk);
    const ready = [...this.#walks].filter((walk) => this.#findPayer(walk, now) !== undefined);
    this.#turn += 1;
    const nearest = ready.reduce<Walk | undefined>(
      (best, walk) => (best === undefined || walk.walkedTo > best.walkedTo ? walk : best),
      undefined,
    );
    const walk = this.#turn % 2 === 0 ? nearest : ready[0];
    if (walk === undefined) return undefined;
    // Moves it to the end of the round robin.
    this.#walks.delete(walk);
    this.#walks.add(walk);
    return walk;
  }

  /** The milliseconds until a walk may read again; undefined without walks. */
  waitMs(now: number): number | undefined {
    let ms: number | undefined;
    for (const walk of this.#walks) {
      for (const stream of this.#payersOf(walk)) {
        const wait = this.#budgetOf(stream, now).waitMs(now);
        ms = Math.min(ms ?? wait, wait);
      }
    }
    return ms;
  }

  /** Records the progress of a walk, and charges one of its callers for it. */
  pass(walk: Walk, { position, sent }: { readonly position: number; readonly sent: number }, now: number): void {
    const passed = walk.rows.filter((row) => row.position <= position).length;
    const payer = this.#findPayer(walk, now);
    if (payer !== undefined) this.#budgetOf(payer, now).take(now, passed + (costOfEvent - 1) * sent);
    walk.rows = walk.rows.slice(passed);
    walk.walkedTo = position;
  }

  /** Removes a walk that has reached the end of the log. */
  end(walk: Walk, now: number): void {
    this.#walks.delete(walk);
    this.#restsUntil.set(walk.span, now + Math.min(restMsMax, restFactor * (now - walk.beganAt)));
  }

  /** Returns the walk between two positions that is nearest to the second. */
  #findBehind(position: number, from: number): Walk | undefined {
    let found: Walk | undefined;
    for (const walk of this.#walks) {
      if (walk.walkedTo > position || walk.walkedTo < from) continue;
      if (found === undefined || walk.walkedTo > found.walkedTo) found = walk;
    }
    return found;
  }

  #isWalking(span: number): boolean {
    for (const walk of this.#walks) if (walk.span === span && walk.streams.size > 0) return true;
    return false;
  }

  #begin(span: number, streams: readonly EventStream[], now: number): void {
    const walkedTo = streams.reduce((least, { position }) => Math.min(least, position), Number.POSITIVE_INFINITY);
    const walk: Walk = { streams: new Audience(), span, beganAt: now, walkedTo, rows: [] };
    this.#walks.add(walk);
    for (const stream of streams) this.#join(walk, stream);
  }

  #join(walk: Walk, stream: EventStream): void {
    this.#waiting.delete(stream);
    walk.streams.add(stream);
  }

  /** The streams whose callers may be charged for a walk: its own, then the streams that wait for its end. */
  *#payersOf({ streams, span }: Walk): Generator<EventStream> {
    yield* streams;
    for (const [stream, waitsFor] of this.#waiting) if (waitsFor === span) yield stream;
  }

  #findPayer(walk: Walk, now: number): EventStream | undefined {
    for (const stream of this.#payersOf(walk)) {
      if (this.#budgetOf(stream, now).waitMs(now) === 0) return stream;
    }
    return undefined;
  }

  #budgetOf({ caller: { userId, deviceId } }: EventStream, now: number) {
    return this.#budgets.find(userId ?? deviceId, { perSecond: rowsPerSecond, burst: rowsPerSecond }, now);
  }
}

/** Returns the group of a distance from the end of the log. */
function spanOf(distance: number): number {
  let span = 0;
  while (lengthOf(span) < distance) span += 1;
  return span;
}

function lengthOf(span: number): number {
  return spanMin * spanFactor ** span;
}
