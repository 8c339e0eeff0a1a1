import type { DatabaseSync } from "node:sqlite";
import type { Kysely } from "kysely";
import type { EngineTransaction } from "../joint-work.ts";
import type { Tables } from "../tables.ts";

/** The work of one write within a group that is committed together. */
export interface Unit {
  readonly isRepeatable: boolean;
  /** Runs the work inside the group's transaction, and keeps its result until the group is on disk. */
  run(): Promise<void>;
  /** The same in a savepoint: a work that fails leaves nothing, and the others of the group continue. */
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
export function createUnits(database: DatabaseSync, queries: Kysely<Tables>): CreateUnit {
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
          reject(error); // fails alone; the others of the group are still committed
        }
      };
    }

    async function runInSavepoint(): Promise<void> {
      savepoint.run();
      try {
        await run();
      } catch (error) {
        // Some failures (a full disk) make SQLite roll back the whole transaction: then the whole group is lost.
        if (!database.isTransaction) throw error;
        rollbackToSavepoint.run();
        settle = () => reject(error);
      }
      release.run();
    }

    return { isRepeatable, run, runInSavepoint, settle: () => settle(), fail: reject };
  };
}
