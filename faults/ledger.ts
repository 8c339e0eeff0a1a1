import { type Answer, type Api, Unanswered, WrongAnswer } from "./api.ts";
import type { Tally } from "./tally.ts";

const patienceMs = 15_000;
const verificationsAtOnce = 12;
/** After this many failed reads, the check gives up. */
const wrongMax = 20;

/** A guarantee that the server gave to a client with its response. */
export interface Fact {
  /**
   * Compares the stored state with the promised one, and records the differences in the tally.
   *
   * @returns "later" if the outcome is not known yet
   */
  check(api: Api, tally: Tally): Promise<"later" | undefined>;
}

/** The stored state is neither the former one nor the one that was sent. */
export class HalfWritten extends Error {}

/** Every promise of a run, and the promises that changed since they were last verified. */
export class Ledger {
  readonly #tally: Tally;
  readonly #all: Fact[] = [];
  readonly #unchecked = new Set<Fact>();

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  add(fact: Fact): void {
    this.#all.push(fact);
  }

  /** Marks the fact as changed since its last verification. */
  touch(fact: Fact): void {
    this.#unchecked.add(fact);
  }

  /** Verifies all writes since the last call. */
  async check(api: Api): Promise<void> {
    const facts = [...this.#unchecked];
    this.#unchecked.clear();
    await this.#verify(facts, api);
  }

  /** Verifies all facts, and retries those whose outcome is not known yet. */
  async checkAll(api: Api): Promise<void> {
    this.#unchecked.clear();
    await this.#verify(this.#all, api);
    const deadline = performance.now() + patienceMs;
    while (this.#unchecked.size > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await this.check(api);
    }
    if (this.#unchecked.size > 0) this.#tally.wrong.push(`${this.#unchecked.size} promises cannot be verified`);
  }

  async #verify(facts: readonly Fact[], api: Api): Promise<void> {
    const waiting = facts.values();
    const wrongBefore = this.#tally.wrong.length;
    const verify = async () => {
      for (const fact of waiting) {
        if ((await fact.check(api, this.#tally)) === "later") this.touch(fact);
        if (this.#tally.wrong.length - wrongBefore > wrongMax) return; // each of them may have waited for its full timeout
      }
    };
    await Promise.all(Array.from({ length: verificationsAtOnce }, verify));
  }
}

/** The state of a thing as text; equal states have equal texts. */
type State = string;

/**
 * One thing of one writer: the state after its last answered write, and the state that an unanswered write may have
 * caused. After an unanswered write the writer leaves the thing alone until it is verified, because that write may
 * still be running.
 */
export class Register implements Fact {
  readonly #what: string;
  readonly #read: (api: Api) => Promise<State>;
  readonly #ledger: Ledger;
  readonly #earlier = new Set<State>();
  #answered: State;
  #unanswered: State | undefined;

  /** @param read returns the stored state; throws HalfWritten */
  constructor(ledger: Ledger, what: string, initially: State, read: (api: Api) => Promise<State>) {
    this.#ledger = ledger;
    this.#what = what;
    this.#answered = initially;
    this.#read = read;
    ledger.add(this);
  }

  get isSettled(): boolean {
    return this.#unanswered === undefined;
  }

  /** Makes a call that leads to this state. @throws the errors of the call */
  async write(next: State, call: () => Promise<Answer>): Promise<Answer> {
    this.#unanswered = next;
    this.#ledger.touch(this);
    const answer = await call();
    this.#promise(next);
    return answer;
  }

  async check(api: Api, tally: Tally): Promise<undefined> {
    const found = await verify(this.#what, () => this.#read(api), tally);
    if (found === undefined) return;
    if (found === this.#answered || found === this.#unanswered) {
      this.#promise(found);
      return;
    }
    const due = [this.#answered, this.#unanswered]
      .filter((state) => state !== undefined)
      .map(short)
      .join(" or ");
    const list = this.#earlier.has(found) ? tally.lost : tally.halfWritten;
    list.push(`${this.#what}: is ${short(found)}, not ${due}`);
  }

  #promise(state: State): void {
    if (state !== this.#answered) this.#earlier.add(this.#answered);
    this.#answered = state;
    this.#unanswered = undefined;
  }
}

/**
 * A number that only increases: the stored value lies between the sum of the answered calls and that of the sent ones.
 */
export class Counter implements Fact {
  readonly #what: string;
  readonly #step: number;
  readonly #read: (api: Api) => Promise<number>;
  readonly #ledger: Ledger;
  #answered = 0;
  #unanswered = 0;

  /** @param step the amount that one call adds, all of it or nothing */
  constructor(ledger: Ledger, what: string, step: number, read: (api: Api) => Promise<number>) {
    this.#ledger = ledger;
    this.#what = what;
    this.#step = step;
    this.#read = read;
    ledger.add(this);
  }

  async add(call: () => Promise<Answer>): Promise<Answer> {
    this.#unanswered += this.#step;
    this.#ledger.touch(this);
    const answer = await call();
    this.#unanswered -= this.#step;
    this.#answered += this.#step;
    return answer;
  }

  async check(api: Api, tally: Tally): Promise<undefined> {
    const found = await verify(this.#what, () => this.#read(api), tally);
    if (found === undefined) return;
    const [least, most] = [this.#answered, this.#answered + this.#unanswered];
    const sum = `${this.#what}: ${found}, with ${least} answered and ${most} sent`;
    if (found < least) tally.lost.push(sum);
    else if (found > most || found % this.#step !== 0) tally.halfWritten.push(sum);
    else [this.#answered, this.#unanswered] = [found, 0];
  }
}

/** Reads the stored state, and counts it as one check. @returns undefined after a fault, which goes into the tally */
export async function verify<T>(what: string, read: () => Promise<T>, tally: Tally): Promise<T | undefined> {
  tally.checks += 1;
  try {
    return await readPatiently(read);
  } catch (error) {
    if (error instanceof HalfWritten) tally.halfWritten.push(`${what}: ${error.message}`);
    else tally.wrong.push(`${what}: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

/** Retries, because the lease of a killed process or a recovering database may block a read temporarily. */
async function readPatiently<T>(read: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (performance.now() > deadline) throw new WrongAnswer(`cannot be read: ${error.message}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function short(state: State): State {
  return state.length > 80 ? `${state.slice(0, 60)}… (${state.length} characters)` : state;
}
