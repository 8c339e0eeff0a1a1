import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "../../lib/errors.ts";
import type { GuessLimiter } from "./guess-limiter.ts";

/** A password attempt of an unrecognized caller. */
export interface Guess {
  /** Of the name; empty for names of operators. */
  readonly applicationId: string;
  /** Attempts with the same key (a digest of the name) share a rate. */
  readonly key: string;
  /**
   * The caller's networks, from coarse to fine: the thousand networks of an attacker rarely cover the address space
   * evenly.
   */
  readonly networks: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

interface Settings {
  /** The maximum of waiting attempts per network. */
  readonly waitingPerNetworkMax: number;
  /** Creates the rate limiter for the key of this attempt. */
  createLimiter(guess: Guess): GuessLimiter;
}

/**
 * Throttles password guesses: attempts with one key are admitted at a bounded rate, fairly by network, so that an
 * attacker with many addresses delays other callers but never locks them out.
 */
export interface GuessQueue {
  /**
   * Resolves when the attempt is admitted.
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

/** The attempts with one key. Dropped when no attempt waits and its rate limiter is idle. */
interface KeyQueue {
  readonly limiter: GuessLimiter;
  waiting: Waiting[];
  /** Whether `serve` is running for the waiting attempts. */
  isServed: boolean;
  /** Whether they wait for a permit, not only for the database. */
  isDelayed: boolean;
  /** How many attempts of each network, coarse ones included, were admitted during the lifetime of the queue. */
  readonly served: Map<string, number>;
  takesNewest: boolean;
}

const waitingMax = 1_000;
/** Networks whose permits a queue remembers: an hour's worth at the default rate. */
const servedMax = 36_000;
/** Queues that are checked for idleness when a new one is created. */
const sweptPerQueue = 4;

export function createGuessQueue({ waitingPerNetworkMax, createLimiter }: Settings): GuessQueue {
  const queues = new Map<string, KeyQueue>();

  function find(guess: Guess): KeyQueue {
    let queue = queues.get(guess.key);
    if (queue === undefined) {
      sweep();
      const limiter = createLimiter(guess);
      queue = { limiter, waiting: [], isServed: false, isDelayed: false, served: new Map(), takesNewest: false };
      queues.set(guess.key, queue);
    }
    return queue;
  }

  function sweep(): void {
    let swept = 0;
    for (const [key, queue] of queues) {
      if (swept === sweptPerQueue) return;
      swept += 1;
      queues.delete(key);
      if (queue.isServed || !queue.limiter.isIdle) queues.set(key, queue); // moved to the end of the sweep
    }
  }

  /** Reserves permits while attempts wait, and chooses who gets them only when they become valid. */
  async function serve(queue: KeyQueue): Promise<void> {
    queue.isServed = true;
    while (queue.waiting.length > 0) {
      const { count, waitMs } = await queue.limiter.reserve(queue.waiting.length);
      queue.isDelayed = waitMs > 0;
      if (queue.isDelayed) {
        dropExcess(queue);
        await sleep(waitMs);
      }
      for (let n = 0; n < count; n += 1) beginNext(queue);
    }
    queue.isServed = false;
    queue.isDelayed = false;
  }

  /** Refuses the excess attempts of a network as soon as they would have to wait. */
  function dropExcess(queue: KeyQueue): void {
    const counts = new Map<string | undefined, number>();
    for (const each of [...queue.waiting]) {
      const network = each.guess.networks.at(-1);
      const count = (counts.get(network) ?? 0) + 1;
      counts.set(network, count);
      if (count <= waitingPerNetworkMax) continue;
      remove(queue, each);
      each.drop(tooMany());
    }
  }

  return {
    take(guess) {
      const queue = find(guess);
      if (queue.waiting.length === 0 && queue.limiter.tryAcquire()) {
        countServed(queue, guess);
        return Promise.resolve();
      }
      const ofNetwork = queue.waiting.filter((each) => each.guess.networks.at(-1) === guess.networks.at(-1)).length;
      if ((queue.isDelayed && ofNetwork >= waitingPerNetworkMax) || !makeRoom(queue, guess)) {
        return Promise.reject(tooMany());
      }
      return new Promise((resolve, reject) => {
        const leave = () => {
          remove(queue, waiting);
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
        queue.waiting.push(waiting);
        if (!queue.isServed) void serve(queue);
      });
    },
  };
}

function beginNext(queue: KeyQueue): void {
  const next = pickNext(queue);
  if (next === undefined) return;
  remove(queue, next);
  countServed(queue, next.guess);
  next.begin();
}

function countServed({ served }: KeyQueue, { networks }: Guess): void {
  if (served.size >= servedMax) served.clear();
  for (const network of networks) served.set(network, (served.get(network) ?? 0) + 1);
}

/** Negative when the networks of `one` have had fewer permits than those of `other`, compared from the coarsest. */
function compareServed({ served }: KeyQueue, one: Guess, other: Guess): number {
  for (let level = 0; level < Math.max(one.networks.length, other.networks.length); level++) {
    const [ofOne, ofOther] = [one, other].map(({ networks }) => served.get(networks[level] ?? "") ?? 0);
    if (ofOne !== ofOther) return (ofOne ?? 0) - (ofOther ?? 0);
  }
  return 0;
}

/**
 * Picks the attempt whose networks have had the fewest permits. Ties alternate between the oldest and the newest
 * attempt: a newcomer does not wait for a thousand networks that came just before, and no attempt starves.
 */
function pickNext(queue: KeyQueue): Waiting | undefined {
  queue.takesNewest = !queue.takesNewest;
  let picked: Waiting | undefined;
  for (const each of queue.waiting) {
    const order = picked === undefined ? -1 : compareServed(queue, each.guess, picked.guess);
    if (order < 0 || (order === 0 && queue.takesNewest)) picked = each;
  }
  return picked;
}

/**
 * Evicts from a full queue the attempt whose network has had the most permits; in a tie, the one that has waited
 * longest.
 */
function makeRoom(queue: KeyQueue, newcomer: Guess): boolean {
  if (queue.waiting.length < waitingMax) return true;
  let victim: Waiting | undefined;
  for (const each of queue.waiting) {
    const order = compareServed(queue, each.guess, victim?.guess ?? newcomer);
    if (order > 0 || (order === 0 && victim === undefined)) victim = each;
  }
  if (victim === undefined) return false;
  remove(queue, victim);
  victim.drop(tooMany());
  return true;
}

function remove(queue: KeyQueue, waiting: Waiting): void {
  const at = queue.waiting.indexOf(waiting);
  if (at >= 0) queue.waiting.splice(at, 1);
}

function tooMany(): ApiError {
  return new ApiError("RateLimitExceeded", "Too many sign-ins under this name. Try again.", { retryAfterSeconds: 1 });
}
