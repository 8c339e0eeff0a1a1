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
  /** Runs after every caller was checked. */
  allChecked(): void;
}

/**
 * Ends the streams of an application whose tokens have been revoked, or that it no longer allows. While its revision stays
 * the same, only new streams are checked; after a revocation, those that it concerns.
 */
export class Confirmation {
  readonly #applicationId: string;
  readonly #services: ConfirmationServices;
  readonly #hooks: ConfirmationHooks;
  readonly #unconfirmed = new Set<EventStream>();
  /** The revision at which all callers were confirmed. */
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

  /** Adds a stream, whose token may have ended since it was checked. */
  add(stream: EventStream): void {
    this.#unconfirmed.add(stream);
  }

  delete(stream: EventStream): void {
    this.#unconfirmed.delete(stream);
  }

  /** Checks every caller the next time. */
  distrust(): void {
    this.#revision = undefined;
  }

  /** Follows another log, of which rows of revocations may be missing. */
  beginAgain(position: number): void {
    this.#revocations = new SeenRevocations(position);
    this.distrust();
  }

  /** @param position of the head of the log, before this call */
  async run(position: number): Promise<void> {
    const { clock, database, policies, refresh } = this.#services;
    const applicationId = this.#applicationId;
    refresh();
    const [application] = await findRevision(database.reads, { applicationId });
    const isUnchanged = application !== undefined && application.revision === this.#revision;
    if (isUnchanged) {
      this.#revocations.pass(position); // the reads find all revocations up to it
      if (this.#unconfirmed.size === 0) return;
    }
    const isConcerned = isUnchanged ? isNobody : await this.#findConcerned(application?.revision);
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
    this.#revision = application?.revision; // of before the check, so that a later revocation is noticed
  }

  #listConcerned(isConcerned: ((caller: Caller) => boolean) | undefined): EventStream[] {
    const streams = [...this.#hooks.streams()];
    if (isConcerned === undefined) return streams;
    return streams.filter((stream) => this.#unconfirmed.has(stream) || isConcerned(stream.caller));
  }

  /**
   * Reads which callers the revocations concern that led to a revision.
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

const isNobody = () => false;
