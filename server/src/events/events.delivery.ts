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

/** Callbacks of a delivery into its channel. */
export interface DeliveryHooks {
  /** The settings of the application. */
  policy(): ApplicationPolicy | undefined;
  /** Closes the streams whose tokens have been revoked. */
  confirm(): Promise<void>;
  /** Yields to the event loop when the round has used its time. */
  yieldIfDue(): Promise<void> | undefined;
  /** Called for each event that was sent. */
  delivered(event: PlacedEvent, streams: number): void;
}

/** Rows of the log, at least one. */
export type LogRows = readonly [PlacedEvent, ...PlacedEvent[]];

/** The result of a round: the last row that was sent, except to streams whose connections are full. */
interface Sent {
  readonly last: PlacedEvent;
  /** The number of rows that at least one stream receives. */
  readonly shown: number;
  /** By full stream: the position up to which events were sent. */
  readonly cut: ReadonlyMap<EventStream, number>;
}

const deliveriesPerRound = 20_000;
/** The maximum number of events in a round whose objects are read. */
const shownPerRound = 50;
/** How long an event is retried whose object cannot be presented for an unexpected reason. */
const failingMsMax = 2_000;
/** The call in whose name objects are read, because no client sends one. */
const ownCall = { authorization: undefined, address: "", idempotencyKey: undefined };

/** An event as its recipients see it. */
interface Rendering extends Recipients {
  readonly read: ReadEvent;
  seen?: SeenEvent | undefined;
  frame?: Buffer;
  /** The event could not be presented. */
  isLost?: boolean;
}

/** An event that at least one stream receives. */
interface Shown {
  readonly row: PlacedEvent;
  readonly renderings: readonly Rendering[];
}

/** Sends events of one application to streams. Each is read and presented once for its owner and once for others. */
export class Delivery {
  readonly #applicationId: string;
  readonly #services: DeliveryServices;
  readonly #hooks: DeliveryHooks;
  /** The time of the first failure to present an event, by `keyOf`. */
  readonly #failingSince = new Map<string, number>();

  constructor(applicationId: string, services: DeliveryServices, hooks: DeliveryHooks) {
    this.#applicationId = applicationId;
    this.#services = services;
    this.#hooks = hooks;
  }

  /** Sends rows to their streams, as many as the limits of one round allow. */
  send(rows: LogRows, log: string, audience: Audience): Promise<Sent> {
    // Outside the call that opened a stream, because the objects are presented for other callers as well.
    return runInCall({ work: "streams" }, () => this.#send(rows, log, audience));
  }

  async #send(rows: LogRows, log: string, audience: Audience): Promise<Sent> {
    const { shown, last } = await this.#choose(rows, audience);
    const presented = shown.flatMap(({ row, renderings }) =>
      renderings.map((showing) => this.#present(row, log, showing)),
    );
    await Promise.all(presented);
    await this.#hooks.confirm(); // after the reads, so that no revoked stream receives their results
    const cut = new Map<EventStream, number>();
    for (const { row, renderings } of shown) {
      let delivered = 0;
      for (const { frame, seen, isLost, streams } of renderings) {
        if (frame === undefined) continue;
        for (const stream of streams) {
          if (stream.isEnded || cut.has(stream) || (seen !== undefined && !wantsObject(stream, seen))) continue;
          if (stream.send(frame)) delivered += isLost === true ? 0 : 1;
          else cut.set(stream, row.position - 1);
          const pause = this.#hooks.yieldIfDue();
          if (pause !== undefined) await pause; // without a microtask per stream
        }
      }
      if (delivered > 0) this.#hooks.delivered(row, delivered);
    }
    return { last, cut, shown: shown.length };
  }

  /** Chooses the recipients of each event, before its object is read. */
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
      const renderings = audience.find(row).map((recipients) => this.#prepare(recipients, readers));
      if (renderings.length > 0) shown.push({ row, renderings });
      deliveries += renderings.reduce((sum, { streams }) => sum + streams.length, 0);
      last = row;
      const pause = this.#hooks.yieldIfDue();
      if (pause !== undefined) await pause;
    }
    return { shown, last };
  }

  /** @param readers by caller, because the owner of one event is another user for the next */
  #prepare(recipients: Recipients, readers: Map<Caller, ReadEvent>): Rendering {
    const [{ caller }] = recipients.streams;
    const reader = { ...caller, policy: this.#hooks.policy() ?? caller.policy };
    const read = readers.getOrInsertComputed(caller, () => createEventReader(reader, ownCall, this.#services));
    return { ...recipients, read };
  }

  async #present(row: PlacedEvent, log: string, showing: Rendering): Promise<void> {
    const { position, id } = row;
    const cursor = this.#services.eventLog.seal(this.#applicationId, { log, position, id });
    try {
      showing.seen = await showing.read(row, showing.view);
      if (showing.seen !== undefined) showing.frame = eventFrame(cursor, presentEvent(showing.seen));
      this.#failingSince.delete(keyOf(row, showing));
    } catch (err) {
      if (!this.#isLost(err, row, showing)) throw err; // retries the round
      // A reset reports the gap to the recipients, and the other streams need not wait.
      showing.isLost = true;
      showing.frame = resetFrame(cursor, "expired");
    }
  }

  /** Whether to give up on an event that could not be presented. */
  #isLost(err: unknown, row: PlacedEvent, showing: Rendering): boolean {
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
