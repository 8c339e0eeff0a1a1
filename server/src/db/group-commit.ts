import type { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import type { Kysely } from "kysely";
import { isSqliteBusy, translateDatabaseError } from "./dialect.ts";
import type { EngineTransaction, EngineWrite } from "./joint-work.ts";
import { type CommitStatistics, createCommitStatistics } from "./statistics.ts";
import type { Tables } from "./tables.ts";

/** Writes that arrive in the same tick share one transaction and one fsync. */
export interface GroupCommit {
  readonly write: EngineWrite;
  readonly commits: CommitStatistics;
  readonly waitingCount: number;
  readonly isRunning: boolean;
  /** Resolves when no transaction is waiting. */
  drain(): Promise<void>;
}

interface Unit {
  /** Runs the work inside the group's transaction, and keeps its outcome until the group is on disk. */
  run(): Promise<void>;
  /** Called when the group is on disk. */
  settle(): void;
  /** Called when the group was rolled back. */
  fail(error: unknown): void;
}

/** Bounds how long one group blocks the event loop, to some ten milliseconds. */
const groupItemsMax = 512;
/** How often to poll whether another process's transaction has ended. */
const pollMs = 2;

/**
 * ```
 * tick                              begin immediate
 *   request A: write ┐                savepoint · A · release
 *   request B: write ├─ one group ──▶ savepoint · B · rollback to, release    (B failed)
 *   request C: write ┘                savepoint · C · release
 *                                   commit ── one fsync ──▶ A and C are answered, B gets its own error
 * ```
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
  const begin = database.prepare("begin immediate");
  const commit = database.prepare("commit");
  const rollback = database.prepare("rollback");
  const savepoint = database.prepare("savepoint unit");
  const rollbackToSavepoint = database.prepare("rollback to unit");
  const release = database.prepare("release unit");
  const savepointOfPart = database.prepare("savepoint part");
  const rollbackToPart = database.prepare("rollback to part");
  const releasePart = database.prepare("release part");

  const commits = createCommitStatistics();

  let waiting: Unit[] = [];
  let running: Promise<void> | undefined;

  function createUnit<T>(
    work: (transaction: EngineTransaction) => Promise<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Unit {
    const effects: (() => void)[] = [];
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
    return {
      async run() {
        savepoint.run();
        try {
          const value = await work(transaction);
          settle = () => {
            try {
              for (const effect of effects) effect();
              resolve(value);
            } catch (error) {
              reject(error); // fails alone; the others of the group are still committed
            }
          };
        } catch (error) {
          // Some failures (a full disk) make SQLite roll back the whole transaction: then the whole group is lost.
          if (!database.isTransaction) throw error;
          rollbackToSavepoint.run();
          settle = () => reject(error);
        }
        release.run();
      },
      settle: () => settle(),
      fail: reject,
    };
  }

  /** Polls, because SQLite would wait inside the call and block reads while another process writes. */
  async function beginWhenUnlocked(): Promise<void> {
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
  }

  async function commitGroup(group: readonly Unit[]): Promise<void> {
    try {
      await beginWhenUnlocked();
      for (const unit of group) await unit.run();
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
      // Requests that have arrived meanwhile join the next group.
      if (waiting.length > 0) await new Promise(setImmediate);
    }
    running = undefined;
  }

  return {
    commits,
    get waitingCount() {
      return waiting.length;
    },
    get isRunning() {
      return running !== undefined;
    },
    write(work) {
      return new Promise((resolve, reject) => {
        waiting.push(createUnit(work, resolve, reject));
        running ??= new Promise(setImmediate).then(commitWaiting);
      });
    },
    async drain() {
      while (running !== undefined) await running;
    },
  };
}
