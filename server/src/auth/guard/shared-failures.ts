import { sql } from "kysely";
import type { Queries } from "../../db/database.ts";
import type { Clock } from "../../lib/clock.ts";
import type { SharedCounters } from "../../limits/counters.ts";
import { type FailureStore, type Failures, rememberedMs } from "./failure-counts.ts";

/** A change of the failures under a key. */
interface FailureChange {
  /** A keyed digest: names of users and addresses of clients are not stored. */
  readonly key: string;
  /** Runs again when the transaction is retried. */
  apply(failures: Failures): void;
}

/** An attempt counts as a failure if its process does not report an outcome within this time. */
const settledMs = 60_000;

/**
 * Applies changes in order; all changes of one key go to the same row.
 *
 * @param applicationId empty for names of operators
 */
async function applyChanges(
  applicationId: string,
  changes: readonly FailureChange[],
  now: number,
  queries: Queries,
): Promise<true> {
  const keys = [...new Set(changes.map(({ key }) => key))].toSorted(); // one order of locks prevents deadlocks between processes
  const counts = await lockFailures(applicationId, keys, now, queries);
  for (const { key, apply } of changes) {
    const failures = counts.get(key);
    if (failures !== undefined) apply(failures);
  }
  await storeFailures(applicationId, counts, now + settledMs, queries);
  return true;
}

function tableOf(applicationId: string) {
  return applicationId === "" ? "deployment_guess_counts" : "guess_counts";
}

/** Locks the rows for the rest of the transaction, and creates them if necessary. */
async function lockFailures(
  application_id: string,
  keys: readonly string[],
  now: number,
  queries: Queries,
): Promise<Map<string, Failures>> {
  const empty = { failures: 0, under_way: 0, settled_by: 0, waits_until: 0, ends_at: now };
  const rows = await queries
    .insertInto(tableOf(application_id))
    .values(keys.map((key) => ({ application_id, key, ...empty })))
    .onConflict((conflict) => conflict.columns(["application_id", "key"]).doUpdateSet({ key: sql.ref("excluded.key") }))
    .returningAll()
    .execute();
  return new Map(
    rows.map(({ key, failures, under_way, settled_by, waits_until, ends_at }) => {
      const isLost = under_way > 0 && settled_by <= now;
      const known = {
        failures: isLost ? failures + under_way : failures,
        underWay: isLost ? 0 : under_way,
        waitsUntil: waits_until,
        forgottenAt: ends_at,
      };
      return [key, known];
    }),
  );
}

async function storeFailures(
  application_id: string,
  counts: ReadonlyMap<string, Failures>,
  settled_by: number,
  queries: Queries,
): Promise<void> {
  const table = tableOf(application_id);
  const isEmpty = ({ failures, underWay }: Failures) => failures + underWay === 0;
  const stored = [...counts].filter(([, count]) => !isEmpty(count));
  const removed = [...counts].filter(([, count]) => isEmpty(count)).map(([key]) => key);
  if (removed.length > 0) {
    await queries.deleteFrom(table).where("application_id", "=", application_id).where("key", "in", removed).execute();
  }
  if (stored.length === 0) return;
  await queries
    .insertInto(table)
    .values(
      stored.map(([key, { failures, underWay: under_way, waitsUntil: waits_until, forgottenAt }]) => {
        const ends_at = under_way > 0 ? Math.max(forgottenAt, settled_by + rememberedMs) : forgottenAt;
        return { application_id, key, failures, under_way, settled_by, waits_until, ends_at };
      }),
    )
    .onConflict((conflict) =>
      conflict.columns(["application_id", "key"]).doUpdateSet({
        failures: sql.ref("excluded.failures"),
        under_way: sql.ref("excluded.under_way"),
        settled_by: sql.ref("excluded.settled_by"),
        waits_until: sql.ref("excluded.waits_until"),
        ends_at: sql.ref("excluded.ends_at"),
      }),
    )
    .execute();
}

interface Waiting extends FailureChange {
  settle(isDone: boolean): void;
}

/** Bounds the length of statements, and how long rows stay locked. */
const changesPerTransaction = 100;

/** Stores failures in the database, with one transaction for the concurrent changes of an application. */
export function createSharedFailures({
  clock,
  shared,
}: {
  readonly clock: Clock;
  readonly shared: SharedCounters;
}): FailureStore {
  const queues = new Map<string, Waiting[]>();

  function queueOf(applicationId: string): Waiting[] {
    let queue = queues.get(applicationId);
    if (queue === undefined) {
      queue = [];
      queues.set(applicationId, queue);
      setImmediate(send, applicationId, queue); // changes of one tick share a transaction
    }
    return queue;
  }

  /** Sends one transaction after the other, so that a change sees those before it. */
  async function send(applicationId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const changes = queue.splice(0, changesPerTransaction);
      const isDone = await shared.runPatiently(({ queries }) =>
        applyChanges(applicationId, changes, clock.now(), queries),
      );
      for (const each of changes) each.settle(isDone === true);
      // The next transaction would take as long to fail.
      if (isDone === undefined) for (const each of queue.splice(0)) each.settle(false);
    }
    queues.delete(applicationId);
  }

  return {
    processes: 1,
    change(applicationId, key, apply) {
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof apply> | undefined>();
      let result: ReturnType<typeof apply> | undefined;
      queueOf(applicationId).push({
        key: shared.keyOf(key),
        apply(failures) {
          result = apply(failures);
        },
        settle: (isDone) => resolve(isDone ? result : undefined),
      });
      return promise;
    },
  };
}
