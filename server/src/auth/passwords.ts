import { randomBytes } from "node:crypto";
import { hash, parseOptions, verify } from "@node-rs/argon2";
import type { Config } from "../config.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import { runAsPart } from "../lib/current-call.ts";
import { durationBounds, Histogram } from "../lib/histogram.ts";
import { lowerThreadPoolPriority } from "../lib/thread-priority.ts";

/** Hashes and checks passwords with argon2id on the thread pool, a bounded number at a time. */
export interface Passwords {
  /** @throws ApiError ServiceUnavailable at once when too many already wait */
  hash(password: string): Promise<string>;
  /**
   * True when the password is the one behind the hash. Without a hash (an unknown user) the same work is done and the
   * answer is false, so that the time tells nothing. @throws ApiError ServiceUnavailable like `hash`
   */
  verify(storedHash: string | undefined, password: string): Promise<boolean>;
  /** True when the hash was made with other costs than today's. */
  isOutdated(storedHash: string): boolean;
  statistics(): HashStatistics;
}

export interface HashStatistics {
  readonly running: number;
  readonly waiting: number;
  /** How often too many waited. */
  readonly refused: number;
  /** Of each hash, not the waiting for its turn. */
  readonly seconds: Histogram;
}

export function createPasswords(
  settings: Pick<
    Config,
    "passwordHashMemoryKib" | "passwordHashPasses" | "passwordHashThreads" | "passwordHashQueueMax"
  >,
  { apart }: Pick<Database, "apart">,
): Passwords {
  const { passwordHashMemoryKib: memoryKib, passwordHashPasses: passes } = settings;
  const { enqueue, statistics } = createQueue(settings.passwordHashThreads, settings.passwordHashQueueMax);
  // The algorithm is argon2id unless one is named.
  const options = { memoryCost: memoryKib, timeCost: passes, parallelism: 1 };
  // Nobody's hash: a random salt and a random digest cost the same to check and never match.
  const nobody = `$argon2id$v=19$m=${memoryKib},t=${passes},p=1$${phc(16)}$${phc(32)}`;

  return {
    statistics,

    // No transaction is kept open for as long as a hash takes.
    hash: (password) => apart(`hash ${password}`, () => enqueue(() => hash(normalize(password), options))),

    verify: (storedHash, password) =>
      apart(`verify ${storedHash} ${password}`, () =>
        enqueue(async () => {
          const isRight = await verify(storedHash ?? nobody, normalize(password));
          return isRight && storedHash !== undefined;
        }),
      ),

    isOutdated(storedHash) {
      const { memoryCost, timeCost } = parseOptions(storedHash);
      return memoryCost !== memoryKib || timeCost !== passes;
    },
  };
}

/** One password, however the keyboard composes its letters. */
function normalize(password: string): string {
  return password.normalize("NFC");
}

function phc(bytes: number): string {
  return randomBytes(bytes).toString("base64").replaceAll("=", "");
}

interface Queue {
  enqueue<T>(job: () => Promise<T>): Promise<T>;
  statistics(): HashStatistics;
}

function createQueue(atOnceMax: number, waitingMax: number): Queue {
  const waiting: (() => void)[] = [];
  const seconds = new Histogram(durationBounds);
  let running = 0;
  let refused = 0;
  let isPoolLowered = false;

  async function runInTurn<T>(job: () => Promise<T>): Promise<T> {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax) {
        refused += 1;
        throw new ApiError("ServiceUnavailable", "Too many sign-ins are waiting. Try again.");
      }
      await new Promise<void>((resolve) => waiting.push(resolve)); // the one that ends hands its place over
    } else {
      running += 1;
    }
    const startedAt = performance.now();
    try {
      const done = job();
      if (!isPoolLowered) {
        isPoolLowered = true; // this first job has started the pool's threads
        lowerThreadPoolPriority();
      }
      return await done;
    } finally {
      seconds.observe((performance.now() - startedAt) / 1_000);
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  }

  return {
    enqueue: (job) => runAsPart("hash password", () => runInTurn(job)),
    statistics: () => ({ running, waiting: waiting.length, refused, seconds }),
  };
}
