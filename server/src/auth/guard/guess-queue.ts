import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "../../lib/errors.ts";
import type { GuessTurns } from "./guess-turns.ts";

/** A password attempt of an unrecognized caller. */
export interface Guess {
  /** Of the name; empty for names of operators. */
  readonly applicationId: string;
  /** The name that is guessed: attempts of one key share a rate. */
  readonly key: string;
  /**
   * The caller's networks, from coarse to fine: an attacker's thousand networks are rarely spread over the whole
   * address space.
   */
  readonly networks: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

interface Settings {
  /** Waiting attempts of one network. */
  readonly waitingPerNetworkMax: number;
  /** The turns of the attempts with the key of this one. */
  createTurns(guess: Guess): GuessTurns;
}

/**
 * Throttles password guesses: attempts of one key are admitted at a bounded rate and networks take turns, so that an
 * attacker with many addresses delays other callers but never shuts them out.
 */
export interface GuessQueue {
  /**
   * Resolves when it is this attempt's turn.
   *
   * @throws ApiError RateLimitExceeded when the queue is full, ServiceUnavailable when the client disconnects
   */
  take(guess: Guess): Promise<void>;
}

interface Waiting {
  readonly guess: Guess;
  begin(): void;
  drop(error: ApiError): void;
}

/** The attempts of one key. Dropped when no attempt waits and its turns are unused. */
interface Line {
  readonly turns: GuessTurns;
  waiting: Waiting[];
  /** Whether turns are taken for the waiting attempts. */
  isServed: boolean;
  /** Whether they wait for a turn to begin, not only for the database. */
  isDelayed: boolean;
  /** How many attempts of each network, coarse ones too, were admitted during the lifetime of the line. */
  readonly served: Map<string, number>;
  takesNewest: boolean;
}

const waitingMax = 1_000;
/** Networks whose turns a line remembers: an hour's worth at the default rate. */
const servedMax = 36_000;
/** Lines that are checked for idleness when a new one is created. */
const sweptPerLine = 4;

export function createGuessQueue({ waitingPerNetworkMax, createTurns }: Settings): GuessQueue {
  const lines = new Map<string, Line>();

  function find(guess: Guess): Line {
    let line = lines.get(guess.key);
    if (line === undefined) {
      sweep();
      const turns = createTurns(guess);
      line = { turns, waiting: [], isServed: false, isDelayed: false, served: new Map(), takesNewest: false };
      lines.set(guess.key, line);
    }
    return line;
  }

  function sweep(): void {
    let swept = 0;
    for (const [key, line] of lines) {
      if (swept === sweptPerLine) return;
      swept += 1;
      lines.delete(key);
      if (line.isServed || !line.turns.isUnused) lines.set(key, line); // moved to the end of the sweep
    }
  }

  /** Takes turns as long as attempts wait, and gives each to one of those that wait when it begins. */
  async function serve(line: Line): Promise<void> {
    line.isServed = true;
    while (line.waiting.length > 0) {
      const { count, waitMs } = await line.turns.take(line.waiting.length);
      line.isDelayed = waitMs > 0;
      if (line.isDelayed) {
        dropExcess(line);
        await sleep(waitMs);
      }
      for (let n = 0; n < count; n += 1) beginNext(line);
    }
    line.isServed = false;
    line.isDelayed = false;
  }

  /** Refuses the attempts of networks that have too many, as soon as it is known that they have to wait. */
  function dropExcess(line: Line): void {
    const counts = new Map<string | undefined, number>();
    for (const each of [...line.waiting]) {
      const network = each.guess.networks.at(-1);
      const count = (counts.get(network) ?? 0) + 1;
      counts.set(network, count);
      if (count <= waitingPerNetworkMax) continue;
      remove(line, each);
      each.drop(tooMany());
    }
  }

  return {
    take(guess) {
      const line = find(guess);
      if (line.waiting.length === 0 && line.turns.takeNow()) {
        countServed(line, guess);
        return Promise.resolve();
      }
      const ofNetwork = line.waiting.filter((each) => each.guess.networks.at(-1) === guess.networks.at(-1)).length;
      if ((line.isDelayed && ofNetwork >= waitingPerNetworkMax) || !freePlace(line, guess)) {
        return Promise.reject(tooMany());
      }
      return new Promise((resolve, reject) => {
        const leave = () => {
          remove(line, waiting);
          waiting.drop(new ApiError("ServiceUnavailable", "The client no longer waits for the response."));
        };
        const settled = () => guess.signal?.removeEventListener("abort", leave);
        const waiting: Waiting = {
          guess,
          begin() {
            settled();
            resolve();
          },
          drop(error) {
            settled();
            reject(error);
          },
        };
        if (guess.signal?.aborted) return leave();
        guess.signal?.addEventListener("abort", leave);
        line.waiting.push(waiting);
        if (!line.isServed) void serve(line);
      });
    },
  };
}

function beginNext(line: Line): void {
  const next = pickNext(line);
  if (next === undefined) return;
  remove(line, next);
  countServed(line, next.guess);
  next.begin();
}

function countServed({ served }: Line, { networks }: Guess): void {
  if (served.size >= servedMax) served.clear();
  for (const network of networks) served.set(network, (served.get(network) ?? 0) + 1);
}

/** Negative when the networks of `one` have had fewer turns than those of `other`, compared from the coarsest. */
function compareServed({ served }: Line, one: Guess, other: Guess): number {
  for (let level = 0; level < Math.max(one.networks.length, other.networks.length); level++) {
    const [ofOne, ofOther] = [one, other].map(({ networks }) => served.get(networks[level] ?? "") ?? 0);
    if (ofOne !== ofOther) return (ofOne ?? 0) - (ofOther ?? 0);
  }
  return 0;
}

/**
 * Picks the attempt whose networks have had the fewest turns. Ties alternate between the oldest and the newest attempt:
 * a newcomer does not wait for a thousand networks that came just before, and no attempt starves.
 */
function pickNext(line: Line): Waiting | undefined {
  line.takesNewest = !line.takesNewest;
  let picked: Waiting | undefined;
  for (const each of line.waiting) {
    const order = picked === undefined ? -1 : compareServed(line, each.guess, picked.guess);
    if (order < 0 || (order === 0 && line.takesNewest)) picked = each;
  }
  return picked;
}

/** Evicts from a full line the attempt whose network has had the most turns, the longest waiting one in a tie. */
function freePlace(line: Line, newcomer: Guess): boolean {
  if (line.waiting.length < waitingMax) return true;
  let victim: Waiting | undefined;
  for (const each of line.waiting) {
    const order = compareServed(line, each.guess, victim?.guess ?? newcomer);
    if (order > 0 || (order === 0 && victim === undefined)) victim = each;
  }
  if (victim === undefined) return false;
  remove(line, victim);
  victim.drop(tooMany());
  return true;
}

function remove(line: Line, waiting: Waiting): void {
  const at = line.waiting.indexOf(waiting);
  if (at >= 0) line.waiting.splice(at, 1);
}

function tooMany(): ApiError {
  return new ApiError("RateLimitExceeded", "Too many sign-ins under this name. Try again.", { retryAfterSeconds: 1 });
}
