/**
 * A stored event: its key, its time, then alternating names and values. A flat list instead of an object, because
 * clients choose the names, and `__proto__` is a valid one.
 */
export type StoredEvent = readonly [key: string, occurredAt: number, ...namesAndValues: (string | number | boolean)[]];

/** The payload of one request in the inbox. Users and devices are salted hashes (`salted-hashes.ts`). */
export interface InboxPayload {
  readonly device: string;
  readonly user: string | null;
  readonly events: readonly StoredEvent[];
  /** Only the values are added: the events themselves were counted before, and there are no raw events. */
  readonly isEnd?: true;
}

/** The name of the value that contains the duration of a timed event. */
export const elapsedName = "elapsedTimeInMs";

export function writePayload(payload: InboxPayload): string {
  return JSON.stringify(payload);
}

export function readPayload(text: string): InboxPayload {
  return JSON.parse(text); // written by `writePayload`
}

/** An event in a chunk, which already has the key: its index in its request, then the rest of {@link StoredEvent}. */
export type ChunkEvent = readonly [index: number, occurredAt: number, ...namesAndValues: (string | number | boolean)[]];

/** The events of a chunk that arrived in one request. */
export interface ChunkPart {
  /** The id of the inbox row. */
  readonly id: string;
  readonly receivedAt: number;
  readonly device: string;
  readonly user: string | null;
  readonly events: ChunkEvent[];
}
