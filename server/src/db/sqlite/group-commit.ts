import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import type { Kysely } from "kysely";
import { isSqliteBusy, translateDatabaseError } from "../dialect.ts";
import type { EngineTransaction, EngineWrite, GroupedWrite } from "../outer-transaction.ts";
import { type CommitStatistics, createCommitStatistics } from "../statistics.ts";
import type { Tables } from "../tables.ts";

/** Writes that arrive in the same tick share one transaction and one fsync. */
export interface GroupCommit {
  readonly write: EngineWrite;
  /** Runs work without a savepoint until one in the group fails; then the work runs again. */
  readonly writeRepeatable: GroupedWrite;
  readonly commits: CommitStatistics;
  readonly waitingCount: number;
  readonly isRunning: boolean;
  /** Resolves when no transaction is waiting. */
  drain(): Promise<void>;
}

/** Bounds how long one group blocks the event loop, to some ten milliseconds. */
const groupItemsMax = 512;
/**
 * After a group was run again, this many writes use savepoints, so that failing requests of one caller cannot double the
 * cost of the others'.
 */
const writesInSavepoints = 10_000;
/** How often to poll while another process's transaction is running. */
const pollMs = 2;

/**
 * ```
 * tick                              begin immediate
 *   request A: write ┐                A
 *   request B: write ├─ one group ──▶ B        (fails: the group is rolled back)
 *   request C: write ┘              begin immediate
 *                                     savepoint · A · release
 *                                     savepoint · B · rollback to, release
 *                                     savepoint · C · release
 *                                   commit ── one fsync ──▶ A and C are answered, B gets its own error
 * ```
 *
 * Savepoints make SQLite copy each page that a work changes, which costs a sixth of a small write; so repeatable work
 * runs without them first.
 *
 * @param database the writing connection, used by nothing else
 * @param afterEach runs after each commit, before callers are notified
 */
export function createGroupCommit(
  database: DatabaseSync,
  queries: Kysely<Tables>,
  {
    timeoutMs,
    afterEach,
    onCommit,
  }: { readonly timeoutMs: number; afterEach(): void; onCommit(startedAt: number, size: number): void },
): GroupCommit {
  const begin = createBegin(database, timeoutMs);
  const commit = database.prepare("commit");
  const rollback = database.prepare("rollback");
  const createUnit = createUnits(database, queries);

  const commits = createCommitStatistics();

  let savepointsLeft = 0;
  let waiting: Unit[] = [];
  let running: Promise<void> | undefined;

  /** Begins a transaction and runs all units in it. */
  async function runGroup(group: readonly Unit[]): Promise<void> {
    await begin();
    if (savepointsLeft === 0) {
      const [repeatable = [], others = []] = [true, false].map((is) =>
        group.filter((unit) => unit.isRepeatable === is),
      );
      // The others come last, because they must not run again.
      if (await runRepeatable(repeatable, database, rollback)) {
        for (const unit of others) await unit.runInSavepoint();
        return;
      }
      savepointsLeft = writesInSavepoints;
      await begin();
    }
    savepointsLeft = Math.max(0, savepointsLeft - group.length);
    for (const unit of group) await unit.runInSavepoint();
  }

  async function commitGroup(group: readonly Unit[]): Promise<void> {
    try {
      await runGroup(group);
      const startedAt = performance.now();
      commit.run();
      commits.sizes.observe(group.length);
      commits.seconds.observe((performance.now() - startedAt) / 1_000);
      onCommit(startedAt, group.length);
    } catch (error) {
      if (database.isOpen && database.isTransaction) rollback.run();
      const translated = translateDatabaseError(error);
      for (const unit of group) unit.fail(translated);
      return;
    }
    afterEach();
    for (const unit of group) unit.settle();
  }

  async function commitWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.slice(0, groupItemsMax);
      waiting = waiting.slice(groupItemsMax);
      await commitGroup(group);
      // Requests that arrived during the commit join the next group.
      if (waiting.length > 0) await new Promise(setImmediate);
    }
    running = undefined;
  }

  function write<T>(work: (transaction: EngineTransaction) => Promise<T>, isRepeatable: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      waiting.push(createUnit(work, isRepeatable, resolve, reject));
      running ??= new Promise(setImmediate).then(commitWaiting);
    });
  }

  return {
    write: (work) => write(work, false),
    writeRepeatable: (work) => write(work, true),
    commits,
    get waitingCount() {
      return waiting.length;
    },
    get isRunning() {
      return running !== undefined;
    },
    async drain() {
      while (running !== undefined) await running;
    },
  };
}

/** Polls, because SQLite would wait inside the call and block reads while another process writes. */
function createBegin(database: DatabaseSync, timeoutMs: number): () => Promise<void> {
  const begin = database.prepare("begin immediate");
  return async () => {
    const until = performance.now() + timeoutMs;
    for (;;) {
      database.exec("pragma busy_timeout = 0");
      try {
        begin.run();
        return;
      } catch (error) {
        if (!isSqliteBusy(error) || performance.now() >= until) throw error;
      } finally {
        database.exec(`pragma busy_timeout = ${timeoutMs}`);
      }
      await setTimeout(pollMs);
    }
  };
}

/** @returns false if one of the units failed and was rolled back with the others */
async function runRepeatable(
  units: readonly Unit[],
  database: DatabaseSync,
  rollback: StatementSync,
): Promise<boolean> {
  try {
    for (const unit of units) await unit.run();
    return true;
  } catch (error) {
    if (!database.isTransaction) throw error;
    rollback.run();
    return false;
  }
}

/** The work of one write within a group that is committed together. */
interface Unit {
  readonly isRepeatable: boolean;
  /** Runs the work inside the group's transaction, and holds its result until the group is on disk. */
  run(): Promise<void>;
  /** The same in a savepoint: work that fails is undone, and the others of the group continue. */
  runInSavepoint(): Promise<void>;
  /** Called when the group is on disk. */
  settle(): void;
  /** Called when the group was rolled back. */
  fail(error: unknown): void;
}

type CreateUnit = <T>(
  work: (transaction: EngineTransaction) => Promise<T>,
  isRepeatable: boolean,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
) => Unit;

/** @param database the connection on which the groups are written */
function createUnits(database: DatabaseSync, queries: Kysely<Tables>): CreateUnit {
  const savepoint = database.prepare("savepoint unit");
  const rollbackToSavepoint = database.prepare("rollback to unit");
  const release = database.prepare("release unit");
  const savepointOfPart = database.prepare("savepoint part");
  const rollbackToPart = database.prepare("rollback to part");
  const releasePart = database.prepare("release part");

  return (work, isRepeatable, resolve, reject) => {
    let effects: (() => void)[] = [];
    const transaction: EngineTransaction = {
      queries,
      afterCommit: (effect) => void effects.push(effect),
      savepoint: () => void savepointOfPart.run(),
      release: () => void releasePart.run(),
      rollback() {
        rollbackToPart.run();
        releasePart.run();
      },
      waitAtMost() {}, // one transaction writes at a time
    };
    let settle = () => {};

    async function run(): Promise<void> {
      effects = [];
      const value = await work(transaction);
      settle = () => {
        try {
          for (const effect of effects) effect();
          resolve(value);
        } catch (error) {
          reject(error); // only this write fails; the others of the group are still committed
        }
      };
    }

    async function runInSavepoint(): Promise<void> {
      savepoint.run();
      try {
        await run();
      } catch (error) {
        // Some failures (a full disk) make SQLite roll back the transaction: then all writes of the group are lost.
        if (!database.isTransaction) throw error;
        rollbackToSavepoint.run();
        settle = () => reject(error);
      }
      release.run();
    }

    return { isRepeatable, run, runInSavepoint, settle: () => settle(), fail: reject };
  };
}
