import type { Caller } from "../contract/route.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import type { EventFilter } from "./events.reading.ts";
import type { EventStream } from "./events.stream.ts";
import { type EventView, mayConcernOthers, viewOf } from "./events.views.ts";

/** Streams with equal filters. */
interface Group {
  readonly filters: readonly EventFilter[];
  /** The users or objects that the filters name; {@link anySubject} for filters that name none. */
  readonly subjects: readonly string[];
  readonly streams: Set<EventStream>;
}

/** Streams with the same view of an event, for which its object is read once. */
export interface Recipients {
  /** Unique among the recipients of the event. */
  readonly key: string;
  readonly view: EventView;
  readonly streams: readonly [EventStream, ...EventStream[]];
}

/** The subject of filters that accept events about any user or object. */
const anySubject = "";

/**
 * Streams that read the log together. An event is matched against the streams of its owner and device, and, if others
 * may receive it, against groups of equal filters, so its cost depends on its recipients and not on all open streams.
 */
export class Audience implements Iterable<EventStream> {
  readonly #streams = new Set<EventStream>();
  /** By user id and by device id. */
  readonly #near = new Map<string, Set<EventStream>>();
  /** By `interest` of their streams. */
  readonly #groups = new Map<string, Group>();
  readonly #bySubject = new Map<string, Set<Group>>();

  get size(): number {
    return this.#streams.size;
  }

  has(stream: EventStream): boolean {
    return this.#streams.has(stream);
  }

  [Symbol.iterator](): Iterator<EventStream> {
    return this.#streams.values();
  }

  add(stream: EventStream): void {
    const { caller, interest } = stream;
    this.#streams.add(stream);
    for (const id of nearIds(caller)) setOf(this.#near, id).add(stream);
    let group = this.#groups.get(interest);
    if (group === undefined) {
      group = { filters: stream.filters, subjects: subjectsOf(stream.filters), streams: new Set() };
      this.#groups.set(interest, group);
      for (const subject of group.subjects) setOf(this.#bySubject, subject).add(group);
    }
    group.streams.add(stream);
  }

  delete(stream: EventStream): void {
    const { caller, interest } = stream;
    if (!this.#streams.delete(stream)) return;
    for (const id of nearIds(caller)) deleteFrom(this.#near, id, stream);
    const group = this.#groups.get(interest);
    group?.streams.delete(stream);
    if (group === undefined || group.streams.size > 0) return;
    this.#groups.delete(interest);
    for (const subject of group.subjects) deleteFrom(this.#bySubject, subject, group);
  }

  /** Returns the streams that may receive an event, before its object is read. */
  find(row: PlacedEvent): Recipients[] {
    const found = new Map<string, Recipients & { readonly streams: EventStream[] }>();
    const addTo = (key: string, view: EventView, stream: EventStream) => {
      const existing = found.get(key);
      if (existing === undefined) found.set(key, { key, view, streams: [stream] });
      else existing.streams.push(stream);
    };
    for (const stream of this.#listNear(row)) {
      const key = viewKeyOf(row, stream.caller);
      const view = isBefore(stream, row) ? viewOf(row, stream.caller) : undefined;
      if (key !== undefined && view !== undefined && wants(stream.filters, row, view)) addTo(key, view, stream);
    }
    const views = farViewsOf(row);
    if (views.length === 0) return [...found.values()];
    for (const { filters, streams } of this.#listAbout(row)) {
      for (const { key, view } of views) {
        if (!wants(filters, row, view)) continue;
        for (const stream of streams) {
          if (viewKeyOf(row, stream.caller) === key && isBefore(stream, row)) addTo(key, view, stream);
        }
      }
    }
    return [...found.values()];
  }

  /** The streams of the owner and of the device, which see more of an event than other streams. */
  #listNear({ object_id, user_id, slot }: PlacedEvent): Iterable<EventStream> {
    const own = this.#near.get(isPrivate(slot) ? slot : (user_id ?? object_id));
    const ofDevice = isPrivate(slot) ? undefined : this.#near.get(object_id);
    return ofDevice === undefined || ofDevice === own ? (own ?? []) : new Set([...(own ?? []), ...ofDevice]);
  }

  #listAbout({ user_id, object_id }: PlacedEvent): Iterable<Group> {
    const subjects = [anySubject, object_id, ...(user_id === null ? [] : [user_id])];
    return new Set(subjects.flatMap((subject) => [...(this.#bySubject.get(subject) ?? [])]));
  }
}

/** Whether a stream has not reached an event. */
function isBefore({ isEnded, position }: EventStream, row: PlacedEvent): boolean {
  return !isEnded && position < row.position;
}

/** Whether the slot holds the private values of one user. */
function isPrivate(slot: string | null): slot is string {
  return slot !== null && slot !== "";
}

/**
 * The key of the callers that see the same data of an event: its owner, all other users, or all devices without a user.
 * Data of one device is read once per token.
 *
 * @returns undefined for a private value of another user
 */
function viewKeyOf({ object_id, user_id, slot }: PlacedEvent, caller: Caller): string | undefined {
  if (isPrivate(slot)) return slot === caller.userId ? "slot" : undefined;
  if (object_id === caller.deviceId) return `token ${caller.tokenId}`;
  if (caller.userId === undefined) return "device";
  return user_id === caller.userId ? "owner" : "other";
}

function nearIds({ userId, deviceId }: Caller): readonly string[] {
  return userId === undefined ? [deviceId] : [deviceId, userId];
}

/** The views of an event for all other users, and for all devices without a user. */
function farViewsOf(row: PlacedEvent): readonly { readonly key: string; readonly view: EventView }[] {
  if (isPrivate(row.slot) || !mayConcernOthers(row)) return [];
  const reader = { applicationId: row.application_id, deviceId: "" };
  return [
    { key: "other", view: viewOf(row, { ...reader, userId: "" }) },
    { key: "device", view: viewOf(row, { ...reader, userId: undefined }) },
  ].flatMap(({ key, view }) => (view === undefined ? [] : { key, view }));
}

function wants(filters: readonly EventFilter[], row: PlacedEvent, { type }: EventView): boolean {
  return filters.some((filter) => filter.matchesRow(row) && filter.matchesType(type));
}

function subjectsOf(filters: readonly EventFilter[]): readonly string[] {
  const subjects = filters.map(({ subject }) => subject ?? anySubject);
  return subjects.includes(anySubject) ? [anySubject] : [...new Set(subjects)];
}

function setOf<Item>(sets: Map<string, Set<Item>>, key: string): Set<Item> {
  return sets.getOrInsertComputed(key, () => new Set());
}

function deleteFrom<Item>(sets: Map<string, Set<Item>>, key: string, item: Item): void {
  const items = sets.get(key);
  if (items?.delete(item) === true && items.size === 0) sets.delete(key);
}
