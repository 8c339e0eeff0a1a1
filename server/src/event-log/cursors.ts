import { createSeriesSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import type { LogPosition } from "./log-rows.store.ts";

/** The position of a client in the log of an application. */
export interface Cursor extends LogPosition {
  /** The name of the log. */
  readonly log: string;
}

/** Cursors as clients hold them: sealed, and bound to their application (spec/events#cursors). */
export interface Cursors {
  seal(applicationId: string, cursor: Cursor): string;
  /** @returns undefined unless the string is a cursor of the application */
  open(applicationId: string, text: string): Cursor | undefined;
}

/** Enough of an event's id to distinguish it from another one at its position. */
const idCharacters = 10;

export function createCursors({ secrets }: { readonly secrets: Secrets }): Cursors {
  const sealer = createSeriesSealer(secrets, "event cursor");
  return {
    seal: (applicationId, { log, position, id }) =>
      sealer.seal(JSON.stringify([log, position, id.slice(-idCharacters)]), applicationId),
    open(applicationId, text) {
      const opened = sealer.open(text, applicationId);
      if (opened === undefined) return undefined;
      const [log, position, id]: [string, number, string] = JSON.parse(opened); // the seal guarantees its shape
      return { log, position, id };
    },
  };
}
