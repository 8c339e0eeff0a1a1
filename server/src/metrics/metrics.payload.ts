/**
 * An event as it is stored: its key, when it happened, then the name and the value of each of its values. A flat list,
 * because names are the client's: `__proto__` is one like any other.
 */
export type StoredEvent = readonly [key: string, occurredAt: number, ...namesAndValues: (string | number | boolean)[]];

/** What one request brought, as it lies in the inbox. Users and devices are pseudonyms (`metrics.pseudonyms.ts`). */
export interface InboxPayload {
  readonly device: string;
  readonly user: string | null;
  readonly events: readonly StoredEvent[];
  /** The events have been counted before: what they bring are values alone, and nothing for the raw events. */
  readonly isEnd?: true;
}

/** The name of the value that holds how long an ended event took. */
export const elapsedName = "elapsedTimeInMs";

export function writePayload(payload: InboxPayload): string {
  return JSON.stringify(payload);
}

export function readPayload(text: string): InboxPayload {
  return JSON.parse(text); // written by `writePayload`
}

/** An event in a chunk, which knows its key: its place in the request that brought it, then as in {@link StoredEvent}. */
export type ChunkEvent = readonly [index: number, occurredAt: number, ...namesAndValues: (string | number | boolean)[]];

/** The events of a chunk that one request brought. */
export interface ChunkPart {
  /** Of the row of the inbox. */
  readonly id: string;
  readonly receivedAt: number;
  readonly device: string;
  readonly user: string | null;
  readonly events: ChunkEvent[];
}

export interface ChunkRow {
  readonly id: string;
  readonly event_count: number;
  /** JSON: an array of {@link ChunkPart}. */
  readonly payload: string;
}

export interface RollupRow {
  readonly id: string;
  readonly dimension: string;
  readonly data: Uint8Array;
}

/** What some events add to what is known of its key. */
export interface KeyChange {
  readonly key: string;
  readonly eventCount: number;
  readonly earliestAt: number;
  readonly lastReceivedAt: number;
}
