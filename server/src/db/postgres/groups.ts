import { AsyncLocalStorage } from "node:async_hooks";
import { runInCall } from "../../lib/current-call.ts";
import { ApiError } from "../../lib/errors.ts";
import type { Queries, Transaction } from "../database.ts";
import { isConflict } from "../dialect.ts";
import type { GroupedWrite } from "../outer-transaction.ts";
import { createAdditions } from "./additions.ts";
import { createLookups, readRows } from "./lookups.ts";
import type { PostgresPool, RunStatement } from "./pool.ts";
import { createPostgresQueries, executeBy, type PostgresTransaction, transact } from "./transaction.ts";

type Work<T> = (transaction: Transaction) => Promise<T>;

/** Runs work in a separate transaction. */
type WriteUngrouped = <T>(work: Work<T>) => Promise<T>;

/** Concurrent groups of one application: one writes while the other waits for the disk. */
const concurrentGroupsMax = 2;
/** Bounds the duration of one transaction, for which its writes wait. */
const membersMax = 64;
/** A group waits up to 20 ms for a lock: all of its writes wait. */
const waitForLocks = "set local lock_timeout = 20";
/** After a group was rolled back, the writes of its application run in separate transactions for this time. */
const ungroupedMs = 1_000;
/** Statements that exclude other transactions do not exclude other writes of the same group. */
const excludesOthers = /\bfor (no key )?update\b|pg_advisory/;

interface Writes {
  waiting: Member[];
  running: number;
  isScheduled: boolean;
  ungroupedUntil: number;
}

/**
 * Commits independent writes of one application together, as SQLite does for all writes: one `begin`, one commit, and
 * the statements of all writes pipelined over one connection.
 *
 * ```
 * begin │ A1 B1 C1 │ A2 B2 C2 │ commit      statements of one column are sent together
 * ```
 *
 * A write that fails before it has written anything leaves the group. After any other failure the group is rolled back,
 * and its writes run again, each in a transaction of its own.
 */
export function createWriteGroups(pool: PostgresPool, ungrouped: WriteUngrouped): GroupedWrite {
  const applications = new Map<string, Writes>();

  function schedule(applicationId: string, writes: Writes): void {
    if (writes.isScheduled || writes.running >= concurrentGroupsMax) return;
    writes.isScheduled = true;
    setImmediate(() => {
      writes.isScheduled = false;
      if (writes.waiting.length > 0) start(applicationId, writes);
    });
  }

  async function start(applicationId: string, writes: Writes): Promise<void> {
    const group = writes.waiting.splice(0, membersMax);
    if (performance.now() < writes.ungroupedUntil) {
      for (const member of group) member.runUngrouped();
    } else {
      writes.running += 1;
      if (writes.waiting.length > 0) schedule(applicationId, writes);
      if (await runGroup(group, pool)) writes.ungroupedUntil = performance.now() + ungroupedMs;
      writes.running -= 1;
    }
    if (writes.waiting.length > 0) schedule(applicationId, writes);
    else if (writes.running === 0 && performance.now() >= writes.ungroupedUntil) applications.delete(applicationId);
  }

  return (work, applicationId) =>
    new Promise((resolve, reject) => {
      const writes = applications.get(applicationId) ?? {
        waiting: [],
        running: 0,
        isScheduled: false,
        ungroupedUntil: 0,
      };
      applications.set(applicationId, writes);
      writes.waiting.push(createMember(work, ungrouped, resolve, reject));
      schedule(applicationId, writes);
    });
}

/** @returns whether the group was rolled back because of one of its writes */
async function runGroup(members: readonly Member[], pool: PostgresPool): Promise<boolean> {
  try {
    const commit = () => transact(pool, (transaction) => runMembers(members, transaction), waitForLocks);
    await runInCall(undefined, commit); // it belongs to no single call
  } catch (error) {
    const isOfOne = !(error instanceof ApiError) || isConflict(error); // else the database cannot be used now
    for (const member of members) {
      if (isOfOne) member.runUngrouped();
      else member.reject(error);
    }
    return isOfOne;
  }
  for (const member of members) member.settle();
  return false;
}

/** A write of the group has failed after some of its statements, which must be undone. */
class Spoiled extends Error {}

/** @throws Error if the group must be rolled back */
async function runMembers(members: readonly Member[], transaction: PostgresTransaction): Promise<void> {
  /** The first failure of a statement, after which PostgreSQL accepts no others. */
  let failure: { readonly error: unknown } | undefined;
  const run: RunStatement = async (sql, values, options) => {
    if (excludesOthers.test(sql)) throw new NeedsOwnTransaction(sql);
    if (failure !== undefined) throw failure.error;
    try {
      return await transaction.run(sql, values, options);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  };
  const runOfMember: RunStatement = (sql, values, options) => {
    if (!sql.startsWith("select")) noteWrite();
    return run(sql, values, options);
  };
  const add = createAdditions(run);
  const queries = createPostgresQueries(executeBy(runOfMember), {
    run: (statement, values) => readRows(runOfMember, statement, values),
    lookUp: createLookups(run),
    add(addition, values) {
      noteWrite();
      return add(addition, values);
    },
  });
  await Promise.all(members.map((member) => currentMember.run(member, () => member.run(queries))));
  if (failure !== undefined) throw failure.error;
  if (members.some((member) => member.hasFailed && member.hasWritten)) throw new Spoiled();
  transaction.writeCount = members.filter((member) => member.hasWritten).length;
}

/** A write, from its request to its outcome. */
interface Member {
  /** Whether one of its statements may have changed anything. */
  hasWritten: boolean;
  readonly hasFailed: boolean;
  run(queries: Queries): Promise<void>;
  runUngrouped(): void;
  /** Called after the group has committed. */
  settle(): void;
  reject(error: unknown): void;
}

function createMember<T>(
  work: Work<T>,
  ungrouped: WriteUngrouped,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): Member {
  const effects: (() => void)[] = [];
  let hasFailed = false;
  let finish = () => {};
  const runUngrouped = () => void ungrouped(work).then(resolve, reject);
  return {
    hasWritten: false,
    get hasFailed() {
      return hasFailed;
    },
    async run(queries) {
      try {
        const value = await work({ queries, afterCommit: (effect) => void effects.push(effect) });
        finish = () => {
          for (const effect of effects) effect();
          resolve(value);
        };
      } catch (error) {
        hasFailed = true;
        finish = error instanceof NeedsOwnTransaction ? runUngrouped : () => reject(error);
      }
    },
    runUngrouped,
    settle() {
      try {
        finish();
      } catch (error) {
        reject(error);
      }
    },
    reject,
  };
}

/** Thrown by a statement that cannot be part of a group, before it is sent. */
class NeedsOwnTransaction extends Error {}

/** The write that the running code belongs to. */
const currentMember = new AsyncLocalStorage<Member>();

function noteWrite(): void {
  const member = currentMember.getStore();
  if (member !== undefined) member.hasWritten = true;
}
