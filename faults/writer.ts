import type { Api } from "./api.ts";
import type { Ledger } from "./ledger.ts";

/** Who writes: a device, and a user who has signed up on it. */
export interface Person {
  readonly deviceToken: string;
  readonly token: string;
}

/** What writers have in common. */
export interface Work {
  readonly application: { readonly appid: string; readonly appkey: string };
  /** Opens what operators read. */
  readonly operatorToken: string;
  readonly ledger: Ledger;
  /** A text that nothing else of the run is called by. */
  newName(): string;
}

/**
 * One client of a kind: makes some calls, one after the other, each of them a promise of the ledger's when it is answered.
 * What throws ends the sequence; the next one begins with something new.
 */
export type Sequence = (api: Api) => Promise<void>;

export type Writer = (work: Work, person: Person) => Sequence;

/** So that a row is larger than a sector, and what is half of it shows. */
export const filler = "x".repeat(600);
