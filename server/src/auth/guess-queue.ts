import { ApiError } from "../errors.ts";

/** A password attempt of an unrecognized caller. */
export interface Guess {
  /** The name that is guessed: attempts of one key share a rate. */
  readonly key: string;
  /**
   * The caller's networks, from coarse to fine: an attacker's thousand networks are rarely spread over the whole
   * address space.
   */
  readonly networks: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

export interface GuessLimits {
  readonly perSecond: number;
  /** Attempts that are admitted at once before the rate applies. */
  readonly burst: number;
  /** Waiting attempts of one network. */
  readonly waitingPerNetworkMax: number;
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

/** The attempts of one key. Dropped when no attempt waits and the whole burst is available again. */
interface Line {
  /** When all admitted attempts are paid for at the rate of `perSecond`. */
  paidAt: number;
  waiting: Waiting[];
  timer: NodeJS.Timeout | undefined;
  /** How many attempts of each network, coarse ones too, were admitted during the lifetime of the line. */
  readonly served: Map<string, number>;
  takesNewest: boolean;
}

const waitingMax = 1_000;
/** Networks whose turns a line remembers: an hour's worth at the default rate. */
const servedMax = 36_000;
/** Lines that are checked for idleness when a new one is created. */
const sweptPerLine = 4;

export function createGuessQueue({ perSecond, burst, waitingPerNetworkMax }: GuessLimits): GuessQueue {
  const costMs = 1_000 / perSecond;
  const lines = new Map<string, Line>();

  function find(key: string, now: number): Line {
    let line = lines.get(key);
    if (line === undefined) {
      sweep(now);
      line = { paidAt: now, waiting: [], timer: undefined, served: new Map(), takesNewest: false };
      lines.set(key, line);
    }
    return line;
  }

  function sweep(now: number): void {
    let swept = 0;
    for (const [key, line] of lines) {
      if (swept === sweptPerLine) return;
      swept += 1;
      lines.delete(key);
      if (line.waiting.length > 0 || line.paidAt > now) lines.set(key, line); // moved to the end of the sweep
    }
  }

  function pay(line: Line, { networks }: Guess, now: number): void {
    line.paidAt = Math.max(line.paidAt, now) + costMs;
    if (line.served.size >= servedMax) line.served.clear();
    for (const network of networks) line.served.set(network, (line.served.get(network) ?? 0) + 1);
  }

  /** Milliseconds until the next attempt may be admitted. */
  function waitMs(line: Line, now: number): number {
    return Math.max(0, line.paidAt - now - (burst - 1) * costMs);
  }

  function schedule(line: Line): void {
    if (line.timer !== undefined || line.waiting.length === 0) return;
    line.timer = setTimeout(
      () => {
        line.timer = undefined;
        const now = performance.now();
        while (line.waiting.length > 0 && waitMs(line, now) === 0) {
          const next = pickNext(line);
          if (next === undefined) break;
          remove(line, next);
          pay(line, next.guess, now);
          next.begin();
        }
        schedule(line);
      },
      Math.ceil(waitMs(line, performance.now())),
    );
  }

  return {
    take(guess) {
      const now = performance.now();
      const line = find(guess.key, now);
      if (line.waiting.length === 0 && waitMs(line, now) === 0) {
        pay(line, guess, now);
        return Promise.resolve();
      }
      const ofNetwork = line.waiting.filter((each) => each.guess.networks.at(-1) === guess.networks.at(-1)).length;
      if (ofNetwork >= waitingPerNetworkMax || !makeRoom(line, guess)) return Promise.reject(tooMany());
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
        schedule(line);
      });
    },
  };
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
function makeRoom(line: Line, newcomer: Guess): boolean {
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
