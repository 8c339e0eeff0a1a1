import { hash } from "node:crypto";
import type { AuditRow } from "../db/tables.ts";
import { DistinctCounter } from "../lib/distinct-counter.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { addressGroup } from "../lib/ip-addresses.ts";
import { type AuditEvent, newAuditRow } from "./audit.events.ts";

/** Folds refusals into rows of the audit log, which bounds the rows that clients can cause. */
export interface RefusalFolds {
  /**
   * Counts a refusal.
   *
   * @returns the row that it is part of; changed if the row existed before
   */
  add(event: AuditEvent, now: number): { readonly row: AuditRow; readonly isNew: boolean };
}

interface FoldOptions {
  readonly ids: IdGenerator;
  /** The time window in which refusals share rows. */
  readonly windowMs?: number;
  /** The rows of one scope per window; further refusals share one more row. */
  readonly rowsMax?: number;
  /** The rows in memory, over all scopes. */
  readonly rowsInMemoryMax?: number;
}

/** Scopes with separate limits: a client must not use up the rows of another application or of operators. */
interface Scope {
  readonly startedAt: number;
  rowCount: number;
  others: { readonly row: AuditRow; readonly different: DistinctCounter } | undefined;
}

const hourMs = 3_600_000;
/** Exact up to 64, within about 3 % beyond. */
const differentPrecision = 10;

/** Commands and the server itself are not clients: their events are few, and each has its own row. */
export function isFoldable({ actor }: AuditEvent): boolean {
  return actor.kind !== "system" && actor.kind !== "cli";
}

export function createRefusalFolds({
  ids,
  windowMs = hourMs,
  rowsMax = 1_000,
  rowsInMemoryMax = 5_000,
}: FoldOptions): RefusalFolds {
  const scopes = new Map<string, Scope>();
  /** Least recently counted first. An evicted entry costs one further row, which counts against its scope. */
  const rows = new Map<string, { readonly row: AuditRow; readonly scope: Scope }>();

  function findScope(key: string, now: number): Scope {
    const found = scopes.get(key);
    if (found !== undefined && now - found.startedAt < windowMs) return found;
    for (const [each, { startedAt }] of scopes) if (now - startedAt >= windowMs) scopes.delete(each);
    const scope: Scope = { startedAt: now, rowCount: 0, others: undefined };
    scopes.set(key, scope);
    return scope;
  }

  function keep(key: string, row: AuditRow, scope: Scope): void {
    const oldest = rows.keys().next();
    if (rows.size >= rowsInMemoryMax && !oldest.done) rows.delete(oldest.value);
    rows.set(key, { row, scope });
  }

  function addToOthers(key: string, event: AuditEvent, scope: Scope, now: number): ReturnType<RefusalFolds["add"]> {
    const isNew = scope.others === undefined;
    scope.others ??= {
      row: newAuditRow(othersOf(event), now, ids),
      different: new DistinctCounter(differentPrecision),
    };
    const { row, different } = scope.others;
    different.add(Number.parseInt(hash("sha256", key).slice(0, 13), 16));
    row.details = JSON.stringify({ different: different.count() });
    if (!isNew) grow(row, now);
    return { row, isNew };
  }

  return {
    add(event, now) {
      const scopeKey = scopeOf(event);
      const scope = findScope(scopeKey, now);
      const key = JSON.stringify([scopeKey, ...likenessOf(event)]);
      const found = rows.get(key);
      rows.delete(key);
      if (found?.scope === scope) {
        grow(found.row, now);
        rows.set(key, found);
        return { row: found.row, isNew: false };
      }
      if (scope.rowCount >= rowsMax) return addToOthers(key, event, scope, now);
      const row = newAuditRow(event, now, ids);
      scope.rowCount += 1;
      keep(key, row, scope);
      return { row, isNew: true };
    },
  };
}

function grow(row: AuditRow, now: number): void {
  row.count += 1;
  row.last_at = now;
}

/** Marks, in `details`, an action that its actor repeats too often for separate rows. */
export const repeated = { repeated: true } as const;

/** Operators have individual limits, clients one per application; warnings and repeats are separate from refusals. */
function scopeOf({ actor, applicationId = "", details = {} }: AuditEvent): string {
  const kind = details["error"] !== undefined ? "refusals" : details["repeated"] === true ? "repeats" : "warnings";
  return `${kind} ${actor.kind === "operator" ? actor.id : applicationId}`;
}

/** Refusals that agree in all these fields are equal. */
function likenessOf({ actor, action, applicationId, target, call, details }: AuditEvent): unknown[] {
  return [actor.kind, actor.id, action, applicationId, target, addressGroup(call?.address ?? ""), details];
}

function othersOf({ actor, applicationId }: AuditEvent): AuditEvent {
  const target = actor.kind === "operator" ? actor.id : undefined;
  return { actor: { kind: "system" }, action: "foldRefusals", applicationId, target };
}
