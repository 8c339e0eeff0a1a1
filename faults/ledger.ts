import { type Answer, type Api, Unanswered, WrongAnswer } from "./api.ts";
import type { Tally } from "./tally.ts";

const patienceMs = 15_000;
const looksAtOnce = 12;
/** When so much cannot be read, the rest is not looked at any more. */
const wrongMax = 20;

/** Something that clients were promised. */
export interface Fact {
  /**
   * Compares what is stored to what was promised, and writes down in the tally what differs.
   *
   * @returns "later" when it cannot be told yet
   */
  check(api: Api, tally: Tally): Promise<"later" | undefined>;
}

/** What is stored is neither what was before nor what was sent. */
export class HalfWritten extends Error {}

/** Knows every promise of a run, and which of them have not been looked at since they were made. */
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

  /** Something was written since it was last looked at. */
  touch(fact: Fact): void {
    this.#unchecked.add(fact);
  }

  /** Looks at everything that was written since the last time. */
  async check(api: Api): Promise<void> {
    const facts = [...this.#unchecked];
    this.#unchecked.clear();
    await this.#look(facts, api);
  }

  /** Looks at everything there is, and waits for what cannot be told at once. */
  async checkAll(api: Api): Promise<void> {
    this.#unchecked.clear();
    await this.#look(this.#all, api);
    const deadline = performance.now() + patienceMs;
    while (this.#unchecked.size > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await this.check(api);
    }
    if (this.#unchecked.size > 0) this.#tally.wrong.push(`${this.#unchecked.size} promises cannot be looked at`);
  }

  async #look(facts: readonly Fact[], api: Api): Promise<void> {
    const waiting = facts.values();
    const wrongBefore = this.#tally.wrong.length;
    const look = async () => {
      for (const fact of waiting) {
        if ((await fact.check(api, this.#tally)) === "later") this.touch(fact);
        if (this.#tally.wrong.length - wrongBefore > wrongMax) return; // each may have taken all of its patience
      }
    };
    await Promise.all(Array.from({ length: looksAtOnce }, look));
  }
}

/** The state of something as text; the same text for the same state. */
type State = string;

/**
 * One thing of one writer: what its last answered write has made of it, and what one that got no answer may have. After
 * such a one it is left alone until it has been looked at, for nobody knows when that write comes to its end.
 */
export class Register implements Fact {
  readonly #what: string;
  readonly #read: (api: Api) => Promise<State>;
  readonly #ledger: Ledger;
  readonly #earlier = new Set<State>();
  #answered: State;
  #unanswered: State | undefined;

  /** @param read looks at what is stored; throws HalfWritten */
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

  /** Makes a call that is to lead to this state. @throws what the call throws */
  async write(next: State, call: () => Promise<Answer>): Promise<Answer> {
    this.#unanswered = next;
    this.#ledger.touch(this);
    const answer = await call();
    this.#promise(next);
    return answer;
  }

  async check(api: Api, tally: Tally): Promise<undefined> {
    const found = await look(this.#what, () => this.#read(api), tally);
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

/** Something that is only added to: what is stored lies between what was answered and what was sent. */
export class Counter implements Fact {
  readonly #what: string;
  readonly #step: number;
  readonly #read: (api: Api) => Promise<number>;
  readonly #ledger: Ledger;
  #answered = 0;
  #unanswered = 0;

  /** @param step what is added at once, all of it or nothing */
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
    const found = await look(this.#what, () => this.#read(api), tally);
    if (found === undefined) return;
    const [least, most] = [this.#answered, this.#answered + this.#unanswered];
    const sum = `${this.#what}: ${found}, with ${least} answered and ${most} sent`;
    if (found < least) tally.lost.push(sum);
    else if (found > most || found % this.#step !== 0) tally.halfWritten.push(sum);
    else [this.#answered, this.#unanswered] = [found, 0];
  }
}

/** Reads what there is, and counts it as one check. @returns undefined when that shows a fault, which is written down */
export async function look<T>(what: string, read: () => Promise<T>, tally: Tally): Promise<T | undefined> {
  tally.checks += 1;
  try {
    return await readPatiently(read);
  } catch (error) {
    if (error instanceof HalfWritten) tally.halfWritten.push(`${what}: ${error.message}`);
    else tally.wrong.push(`${what}: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

/** A lease of who was killed, or a database on its way back, may be in the way for a while. */
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
