import type { Log } from "../config/log.ts";
import type { ApplicationPolicy } from "../contract/policy.ts";
import type { Caller } from "../contract/route.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { runInCall } from "../lib/current-call.ts";
import { ApiError } from "../lib/errors.ts";
import type { Dispatcher } from "../operations/dispatch.ts";
import type { Audience, Recipients } from "./events.audience.ts";
import { eventFrame, resetFrame } from "./events.frames.ts";
import { createEventReader, presentEvent, type ReadEvent, type SeenEvent } from "./events.reading.ts";
import type { EventStream } from "./events.stream.ts";

export interface DeliveryServices {
  readonly dispatcher: Dispatcher;
  readonly eventLog: EventLog;
  readonly log: Log;
}

/** What a delivery needs of its channel. */
export interface DeliveryHooks {
  /** The settings of the application. */
  policy(): ApplicationPolicy | undefined;
  /** Ends the streams whose tokens have been revoked by now. */
  confirm(): Promise<void>;
  /** Lets other work of the process run after a time. */
  giveWay(): Promise<void> | undefined;
  /** Runs for events that were sent, with the time of their write. */
  delivered(event: PlacedEvent, streams: number): void;
}

/** Rows of the log, at least one. */
export type LogRows = readonly [PlacedEvent, ...PlacedEvent[]];

/** A part of the log that was sent, up to a row, but for the streams whose clients must read first. */
interface Sent {
  readonly last: PlacedEvent;
  /** The number of rows that concerned a stream. */
  readonly shown: number;
  /** The position up to which each of these streams was sent events. */
  readonly cut: ReadonlyMap<EventStream, number>;
}

const deliveriesPerRound = 20_000;
/** Of each, an object is read. */
const shownPerRound = 50;
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

/** Sends events of one application to streams. Each is read and presented once for its owner and once for others. */
export class Delivery {
  readonly #applicationId: string;
  readonly #services: DeliveryServices;
  readonly #hooks: DeliveryHooks;
  /** Since when events could not be presented, by `keyOf`. */
  readonly #failingSince = new Map<string, number>();

  constructor(applicationId: string, services: DeliveryServices, hooks: DeliveryHooks) {
    this.#applicationId = applicationId;
    this.#services = services;
    this.#hooks = hooks;
  }

  /** Sends rows to the streams that they concern, as many as one round may. */
  send(rows: LogRows, log: string, audience: Audience): Promise<Sent> {
    // Not in the call that opened a stream: what is presented is for others, too.
    return runInCall({ work: "streams" }, () => this.#send(rows, log, audience));
  }

  async #send(rows: LogRows, log: string, audience: Audience): Promise<Sent> {
    const { shown, last } = await this.#choose(rows, audience);
    const presented = shown.flatMap(({ row, showings }) => showings.map((showing) => this.#present(row, log, showing)));
    await Promise.all(presented);
    await this.#hooks.confirm(); // after the reads, whose results are from before any later revocation
    const cut = new Map<EventStream, number>();
    for (const { row, showings } of shown) {
      let delivered = 0;
      for (const { frame, seen, isLost, streams } of showings) {
        if (frame === undefined) continue;
        for (const stream of streams) {
          if (stream.isEnded || cut.has(stream) || (seen !== undefined && !wantsObject(stream, seen))) continue;
          if (stream.send(frame)) delivered += isLost === true ? 0 : 1;
          else cut.set(stream, row.position - 1);
          const pause = this.#hooks.giveWay();
          if (pause !== undefined) await pause; // no microtask for each stream
        }
      }
      if (delivered > 0) this.#hooks.delivered(row, delivered);
    }
    return { last, cut, shown: shown.length };
  }

  /** Finds the streams that each event concerns, before its object is read. */
  async #choose(
    rows: LogRows,
    audience: Audience,
  ): Promise<{ readonly shown: readonly Shown[]; readonly last: PlacedEvent }> {
    const readers = new Map<Caller, ReadEvent>();
    const shown: Shown[] = [];
    let [last] = rows;
    let deliveries = 0;
    for (const row of rows) {
      if (deliveries >= deliveriesPerRound || shown.length >= shownPerRound) break;
      const showings = audience.find(row).map((recipients) => this.#show(recipients, readers));
      if (showings.length > 0) shown.push({ row, showings });
      deliveries += showings.reduce((sum, { streams }) => sum + streams.length, 0);
      last = row;
      const pause = this.#hooks.giveWay();
      if (pause !== undefined) await pause;
    }
    return { shown, last };
  }

  /** @param readers by the caller that reads: an owner of one event is another user for the next */
  #show(recipients: Recipients, readers: Map<Caller, ReadEvent>): Showing {
    const [{ caller }] = recipients.streams;
    const reader = { ...caller, policy: this.#hooks.policy() ?? caller.policy };
    const read = readers.getOrInsertComputed(caller, () => createEventReader(reader, ownCall, this.#services));
    return { ...recipients, read };
  }

  async #present(row: PlacedEvent, log: string, showing: Showing): Promise<void> {
    const { position, id } = row;
    const cursor = this.#services.eventLog.seal(this.#applicationId, { log, position, id });
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
}

function keyOf({ id }: PlacedEvent, { key }: Recipients): string {
  return `${id} ${key}`;
}

function wantsObject({ filters }: EventStream, seen: SeenEvent): boolean {
  const { event, view } = seen;
  return filters.some(
    (filter) => filter.matchesRow(event) && filter.matchesType(view.type) && filter.matchesObject(seen),
  );
}
