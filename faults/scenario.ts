import type { Tally } from "./tally.ts";

/** The size of a run. */
export interface Effort {
  /** Kills of the server on SQLite and on PostgreSQL. */
  readonly kills: { readonly sqlite: number; readonly postgres: number };
  /** Whether the scenarios of the client have ten times as many kills and more clients, and that of streams ten thousand. */
  readonly isLong: boolean;
  /** Of the random choices in the scenarios of the client. */
  readonly seed: number;
}

/** A fault of a deployment, and the guarantee that holds in spite of it. */
export interface Scenario {
  readonly name: string;
  /** The guarantee, in a sentence. */
  readonly promise: string;
  /** Whether it measures time, and must have the machine to itself. */
  readonly isTimed?: boolean;
  /** @returns the reason why it cannot run on this machine, if any */
  findObstacle?(): string | undefined;
  run(tally: Tally, effort: Effort): Promise<void>;
}
