import type { EventRow } from "../db/tables.ts";

/**
 * The subject of revoked tokens or changed permissions, whose callers must be identified again. A change of an
 * application's settings has the application as its subject.
 */
export interface RevokedSubject {
  readonly kind: "token" | "user" | "device" | "key" | "application";
  readonly id: string;
  /** The user token that stays valid when all others of a user are revoked. */
  readonly exceptTokenId?: string;
  /** The revision that the application got with it, unless it concerns the complete application. */
  readonly revision?: string;
}

/**
 * A revocation in the log, which no client, operator or webhook receives: readers of the log close streams when they
 * read it.
 */
export interface Revocation extends RevokedSubject {
  /** A stable identifier of the revocation. */
  readonly eventId: string;
  /** Null until the log has assigned one. */
  readonly position: number | null;
}

const prefix = "revocation.";

/** The stored type of a revocation; no pattern matches it. */
export function revocationType(kind: RevokedSubject["kind"]): string {
  return `${prefix}${kind}`;
}

/** Whether a row of the log is a revocation instead of an event. */
export function isRevocation({ type }: Pick<EventRow, "type">): boolean {
  return type.startsWith(prefix);
}

/** Reads a row that {@link isRevocation} accepts. */
export function toRevocation({ type, id, object_id, key, slot, position }: EventRow): Revocation {
  const kind = type.slice(prefix.length) as RevokedSubject["kind"]; // as `revocationType` writes it
  const except = key !== null && { exceptTokenId: key };
  return { kind, id: object_id, ...except, ...(slot !== null && { revision: slot }), eventId: id, position };
}
