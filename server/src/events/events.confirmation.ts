import { findRevision } from "../auth/caller.ts";
import { findEndedTokens } from "../auth/ended-tokens.ts";
import type { ApplicationPolicy } from "../contract/policy.ts";
import type { Caller } from "../contract/route.ts";
import type { Database } from "../db/database.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { Revocation } from "../event-log/revocations.ts";
import type { Clock } from "../lib/clock.ts";
import type { Policies } from "../tenancy/policies.ts";
import type { ByeReason } from "./events.frames.ts";
import type { EventStream } from "./events.stream.ts";

/** The maximum number of remembered revisions whose revocations have been read. */
const revisionsMax = 1_000;

/** Deduplicates the revocations of an application for one reader of its log. */
export class SeenRevocations {
  #after: number;
  /** Event ids that were read before they had a position, and that a later read returns again. */
  readonly #unplaced = new Set<string>();
  readonly #revisions = new Set<string>();

  constructor(after: number) {
    this.#after = after;
  }

  /** The position after which there may be unseen revocations. */
  get after(): number {
    return this.#after;
  }

  /** Marks all revocations up to a position as seen. */
  pass(position: number): void {
    this.#after = Math.max(this.#after, position);
  }

  /**
   * @param found all revocations after `after`
   * @returns the new ones
   */
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

  /** Whether the revocation that caused a revision has been seen. */
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

/** @returns whether one of the revocations may concern a caller; undefined if they may concern every caller */
export function concernedBy(revocations: readonly Revocation[]): ((caller: Caller) => boolean) | undefined {
  if (revocations.some(({ kind }) => kind === "application")) return undefined;
  const names = new Set(revocations.map(({ kind, id }) => `${kind} ${id}`));
  return ({ tokenId, userId, deviceId, applicationKeyId }) =>
    names.has(`token ${tokenId}`) ||
    (userId !== undefined && names.has(`user ${userId}`)) ||
    names.has(`device ${deviceId}`) ||
    names.has(`key ${applicationKeyId}`);
}

export interface ConfirmationServices {
  readonly clock: Clock;
  readonly database: Database;
  readonly eventLog: EventLog;
  readonly policies: Policies;
  /** Makes commits of other processes visible to reads. */
  refresh(): void;
}

export interface ConfirmationHooks {
  streams(): Iterable<EventStream>;
  end(stream: EventStream, reason: ByeReason): void;
  /** Whether the application still allows streams, or the reason why not. */
  refusalOf(policy: ApplicationPolicy, caller: Caller): ByeReason | undefined;
  /** Called after every caller has been checked. */
  allChecked(): void;
}

/**
 * Closes the streams of an application whose tokens are revoked, or that the application no longer allows. While its
 * revision is unchanged, only new streams are checked; after a revocation, the streams that it concerns.
 */
export class Confirmation {
  readonly #applicationId: string;
  readonly #services: ConfirmationServices;
  readonly #hooks: ConfirmationHooks;
  readonly #unconfirmed = new Set<EventStream>();
  /** The revision for which all callers were confirmed. */
  #revision: string | undefined;
  #policy: ApplicationPolicy | undefined;
  #revocations: SeenRevocations;

  /** @param position the end of the log */
  constructor(applicationId: string, position: number, services: ConfirmationServices, hooks: ConfirmationHooks) {
    this.#applicationId = applicationId;
    this.#services = services;
    this.#hooks = hooks;
    this.#revocations = new SeenRevocations(position);
  }

  /** The settings of the application when its callers were confirmed. */
  get policy(): ApplicationPolicy | undefined {
    return this.#policy;
  }

  /** Adds a stream whose token may have been revoked since its last check. */
  add(stream: EventStream): void {
    this.#unconfirmed.add(stream);
  }

  delete(stream: EventStream): void {
    this.#unconfirmed.delete(stream);
  }

  /** Makes the next run check every caller. */
  invalidate(): void {
    this.#revision = undefined;
  }

  /** Follows another log, which may lack revocations. */
  restart(position: number): void {
    this.#revocations = new SeenRevocations(position);
    this.invalidate();
  }

  /** @param position of the head of the log, before this call */
  async run(position: number): Promise<void> {
    const { clock, database, policies, refresh } = this.#services;
    const applicationId = this.#applicationId;
    refresh();
    const [application] = await findRevision(database.reads, { applicationId });
    const isUnchanged = application !== undefined && application.revision === this.#revision;
    if (isUnchanged) {
      this.#revocations.pass(position); // the revision was read later, so it includes all revocations up to here
      if (this.#unconfirmed.size === 0) return;
    }
    const isConcerned = isUnchanged ? concernsNone : await this.#findConcerned(application?.revision);
    const policy = isConcerned === undefined ? await policies.load(applicationId) : this.#policy;
    const streams = isUnchanged ? [...this.#unconfirmed] : this.#listConcerned(isConcerned);
    const now = clock.now();
    const ended = await findEndedTokens(
      applicationId,
      streams.map(({ caller }) => caller),
      now,
      database.reads,
    );
    for (const stream of streams) {
      this.#unconfirmed.delete(stream);
      const isEnded = policy === undefined || ended.has(stream.caller);
      const ending = stream.expiresAt <= now ? "tokenExpired" : "tokenEnded";
      const reason = isEnded ? ending : this.#hooks.refusalOf(policy, stream.caller);
      if (reason !== undefined) this.#hooks.end(stream, reason);
    }
    if (isConcerned === undefined) this.#hooks.allChecked();
    this.#policy = policy;
    this.#revision = application?.revision; // read before the check, so that a later revocation is noticed
  }

  #listConcerned(isConcerned: ((caller: Caller) => boolean) | undefined): EventStream[] {
    const streams = [...this.#hooks.streams()];
    if (isConcerned === undefined) return streams;
    return streams.filter((stream) => this.#unconfirmed.has(stream) || isConcerned(stream.caller));
  }

  /**
   * Reads which callers the revocations up to a revision concern.
   *
   * @returns undefined if every caller has to be confirmed
   */
  async #findConcerned(revision: string | undefined): Promise<((caller: Caller) => boolean) | undefined> {
    const found = await this.#services.eventLog.listRevocations(this.#applicationId, this.#revocations.after);
    const isAfterConfirmation = this.#revision !== undefined;
    const fresh = this.#revocations.take(found);
    const isExplained = revision !== undefined && this.#revocations.includes(revision);
    return isAfterConfirmation && isExplained ? concernedBy(fresh) : undefined;
  }
}

const concernsNone = () => false;
