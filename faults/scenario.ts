import type { Tally } from "./tally.ts";

/** How much is tried. */
export interface Effort {
  /** Kills of the server on SQLite and on PostgreSQL. */
  readonly kills: { readonly sqlite: number; readonly postgres: number };
}

/** Something that goes wrong with a deployment, and what is to come of it. */
export interface Scenario {
  readonly name: string;
  /** What is promised, in a sentence. */
  readonly promise: string;
  /** It measures time, and has the machine to itself. */
  readonly isTimed?: boolean;
  /** Why it cannot be tried here. */
  findObstacle?(): string | undefined;
  run(tally: Tally, effort: Effort): Promise<void>;
}
