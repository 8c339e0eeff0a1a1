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
