import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import type { Config } from "../config/config.ts";
import type { Database } from "../db/database.ts";
import { durationBounds, Histogram } from "../lib/histogram.ts";
import { lowerThreadPoolPriority } from "../lib/thread-priority.ts";
import type { LaneStatistics } from "../limits/fair-queue.ts";
import { createHashQueue, type HashLane, type HashTicket } from "./guard/hash-queue.ts";

/** Hashes and verifies passwords with argon2id on the thread pool, a bounded number at a time, in fair order. */
export interface Passwords {
  /** @throws ApiError ServiceUnavailable when the queue is full, or when the client disconnects before its turn */
  hash(password: string, ticket: HashTicket): Promise<string>;
  /**
   * True when the password matches the hash. Without a hash (an unknown user) it does the same work before it returns
   * false, so that timing reveals nothing.
   *
   * @throws ApiError ServiceUnavailable like `hash`
   */
  verify(storedHash: string | undefined, password: string, ticket: HashTicket): Promise<boolean>;
  /** True when the hash was made with costs other than the current ones. */
  isOutdated(storedHash: string): boolean;
  statistics(): HashStatistics;
}

export interface HashStatistics {
  readonly lanes: Readonly<Record<HashLane, LaneStatistics>>;
  /** The duration of each hash, without the time in the queue. */
  readonly seconds: Histogram;
}

/** Native code, which is not loaded at start-up. */
let loaded: typeof import("@node-rs/argon2") | undefined;
function argon2(): typeof import("@node-rs/argon2") {
  loaded ??= createRequire(import.meta.url)("@node-rs/argon2") as typeof import("@node-rs/argon2"); // as installed
  return loaded;
}

export function createPasswords(
  settings: Pick<
    Config,
    "passwordHashMemoryKib" | "passwordHashPasses" | "passwordHashThreads" | "passwordHashQueueMax"
  >,
  { outsideTransaction }: Pick<Database, "outsideTransaction">,
): Passwords {
  const { passwordHashMemoryKib: memoryKib, passwordHashPasses: passes } = settings;
  const turns = createHashQueue(settings);
  const seconds = new Histogram(durationBounds);
  let isPoolLowered = false;
  // The algorithm defaults to argon2id.
  const options = { memoryCost: memoryKib, timeCost: passes, parallelism: 1 };
  // A dummy hash: a random salt and a random digest cost the same to verify and never match.
  const dummyHash = `$argon2id$v=19$m=${memoryKib},t=${passes},p=1$${phc(16)}$${phc(32)}`;

  async function measure<T>(job: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      const done = job();
      if (!isPoolLowered) {
        isPoolLowered = true; // this first job has started the threads of the pool
        lowerThreadPoolPriority();
      }
      return await done;
    } finally {
      seconds.observe((performance.now() - startedAt) / 1_000);
    }
  }

  return {
    statistics: () => ({ lanes: turns.statistics(), seconds }),

    // A transaction must not stay open for as long as a hash takes.
    hash: (password, ticket) =>
      outsideTransaction(`hash ${password}`, () =>
        turns.run(ticket, () => measure(() => argon2().hash(normalize(password), options))),
      ),

    verify: (storedHash, password, ticket) =>
      outsideTransaction(`verify ${storedHash} ${password}`, () =>
        turns.run(ticket, () =>
          measure(async () => {
            const isRight = await argon2().verify(storedHash ?? dummyHash, normalize(password));
            return isRight && storedHash !== undefined;
          }),
        ),
      ),

    isOutdated(storedHash) {
      const { memoryCost, timeCost } = argon2().parseOptions(storedHash);
      return memoryCost !== memoryKib || timeCost !== passes;
    },
  };
}

/** Maps every Unicode composition of the same password to one form. */
function normalize(password: string): string {
  return password.normalize("NFC");
}

function phc(bytes: number): string {
  return randomBytes(bytes).toString("base64").replaceAll("=", "");
}
