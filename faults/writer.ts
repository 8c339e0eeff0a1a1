import type { Person } from "../testkit/people.ts";
import type { Api } from "./api.ts";
import type { Ledger } from "./ledger.ts";

/** The context that all writers share. */
export interface Work {
  readonly application: { readonly appid: string; readonly appkey: string };
  /** The session token of an operator. */
  readonly operatorToken: string;
  readonly ledger: Ledger;
  /** Returns a name that is unique in the run. */
  newName(): string;
}

/**
 * One client of a kind: makes some calls, one after the other; each response becomes a promise of the ledger. An error
 * ends the sequence, and the next one starts with new objects.
 */
export type Sequence = (api: Api) => Promise<void>;

export type Writer = (work: Work, person: Person) => Sequence;

/** Makes a row larger than a disk sector, so that a half-written row is detected. */
export const filler = "x".repeat(600);
