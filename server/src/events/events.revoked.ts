import type { Caller } from "../contract/route.ts";
import type { Revocation } from "../event-log/revocations.ts";

/** Revisions of an application whose revocations are known to have been read. */
const revisionsMax = 1_000;

/** The revocations of an application that one reader of its log has seen, each once. */
export class SeenRevocations {
  #after: number;
  /** Read when they had no position, so that they will be found again. */
  readonly #unplaced = new Set<string>();
  readonly #revisions = new Set<string>();

  constructor(after: number) {
    this.#after = after;
  }

  /** The position behind which there may be some that have not been seen. */
  get after(): number {
    return this.#after;
  }

  /** Notes that all revocations up to a position have been seen. */
  pass(position: number): void {
    this.#after = Math.max(this.#after, position);
  }

  /** @returns those that are new among all that were found behind `after` */
  take(found: readonly Revocation[]): readonly Revocation[] {
    const fresh = found.filter(({ eventId }) => !this.#unplaced.has(eventId));
    for (const { eventId, position, revision } of found) {
      if (position === null) this.#unplaced.add(eventId);
      else {
        this.#unplaced.delete(eventId);
        this.pass(position);
      }
      if (revision !== undefined) this.#note(revision);
    }
    return fresh;
  }

  /** Whether the revocation that led to a revision is among those that were seen. */
  includes(revision: string): boolean {
    return this.#revisions.has(revision);
  }

  #note(revision: string): void {
    this.#revisions.add(revision);
    for (const oldest of this.#revisions) {
      if (this.#revisions.size <= revisionsMax) return;
      this.#revisions.delete(oldest);
    }
  }
}

/** @returns whether a caller may have lost its token by one of these; undefined if every caller may have */
export function concernedBy(revocations: readonly Revocation[]): ((caller: Caller) => boolean) | undefined {
  if (revocations.some(({ kind }) => kind === "application")) return undefined;
  const names = new Set(revocations.map(({ kind, id }) => `${kind} ${id}`));
  return ({ tokenId, userId, deviceId, applicationKeyId }) =>
    names.has(`token ${tokenId}`) ||
    (userId !== undefined && names.has(`user ${userId}`)) ||
    names.has(`device ${deviceId}`) ||
    names.has(`key ${applicationKeyId}`);
}
