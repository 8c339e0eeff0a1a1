import type { Answer } from "./connection.ts";

/** A defect of a response. */
export interface Fault {
  /** A short name, the same for all defects of a kind. */
  readonly kind: string;
  readonly details: string;
}

export interface Envelope {
  /** The result of an item of a batch. */
  readonly key?: string;
  readonly status: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly errorNumber?: number;
  readonly message?: string;
  readonly request_id?: string;
}

export function isEnvelope({ text, headers }: Answer): boolean {
  return headers.get("content-type") === "application/json" && typeof parse(text).status === "number";
}

export function rowOf({ error, errorNumber }: Envelope): string {
  return `${error} ${errorNumber}`;
}

export function parse(text: string): Envelope {
  try {
    return Object(JSON.parse(text));
  } catch {
    return { status: Number.NaN };
  }
}
